"""In a real browser the page shows what the run holds, by mouse and by keyboard, and stays silent.

Silent: nothing on the console, no error, and no request but the one for the file itself.
"""

import json
from pathlib import Path

import pytest

import recall_bench.reporting.pages
from recall_bench.reporting.formats import format_number
from tests.features.archive.test_same_questions import harder_story
from tests.reporting.browser.visits import Visiting
from tests.reporting.charts.sample_report import sampled_report
from tests.reporting.pages.sample_pages import SENTENCE, ada_run, page_of
from tests.reporting.pages.test_round_trip import three

STATIC = Path(recall_bench.reporting.pages.__file__).parent / "static"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    return page_of(ada_run(folder / "run", error_budget=0.5).open(), folder / "report.html")


@pytest.fixture(scope="module")
def charted_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every chart of a run over six personas."""
    folder = tmp_path_factory.mktemp("charts")
    run = ada_run(folder / "run").open()
    return page_of(run, folder / "report.html", {}, report=sampled_report(3))


@pytest.fixture(scope="module")
def page_without_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare")
    return page_of(ada_run(folder / "run").open(), folder / "report.html", {})


def test_it_renders_every_section_and_chart_and_says_nothing(page: Path, visit: Visiting) -> None:
    """A chart is also a table."""
    seen = visit(page)

    assert seen.text("h1") == "scripted 1"
    assert seen.text(".headline .figure") == "60 of 100"
    assert seen.page.locator("main > section").count() == 7
    # None is scrolled to: a printed page has all of them.
    for chart in seen.page.locator("[data-chart]").all():
        chart.locator("svg").wait_for(state="attached")
    assert seen.page.locator("[data-chart]").count() > 3

    details = seen.page.locator("details[data-table]").first
    details.locator("summary").click()
    details.locator("table tbody tr").first.wait_for()
    assert seen.heard == []


def test_the_row_of_the_same_questions_leads_to_their_curve(
    tmp_path: Path, visit: Visiting
) -> None:
    """Its cells are no selection that the table of questions could list."""
    page = page_of(harder_story(tmp_path).open(), tmp_path / "report.html")
    seen = visit(page, width=390, height=700)
    cells = seen.page.locator(".grid .row").filter(has_text="same questions").locator(".cell")

    cells.first.hover()
    seen.shows("#tooltip", "Not all of these questions were asked.")
    cells.nth(1).hover()
    seen.shows("#tooltip", "Same questions: one set; those of the other rows change.")
    cells.nth(1).click()

    seen.wait_until(
        "() => Math.abs(document.getElementById('degradation').getBoundingClientRect().top) < 200"
    )
    seen.wait_for_focus("degradation")
    assert seen.value("location.hash") == "#degradation"
    assert seen.heard == []


def test_the_heatmap_tells_what_a_cell_stands_on_and_lists_it(page: Path, visit: Visiting) -> None:
    """The fox was asked at four days and not judged; no question asks for a decision."""
    seen = visit(page)
    row = seen.page.locator(".grid .row")

    fox = row.filter(has_text="negative recall").locator(".cell")

    assert "unmeasured" in (fox.nth(1).get_attribute("class") or "")
    assert row.filter(has_text="decision tracking").count() == 0
    assert row.filter(has_text="leaked").count() == 0

    seen.page.locator('[role="gridcell"].cell').first.hover()

    seen.shows("#tooltip", "factual recall at 2d")
    seen.shows("#tooltip", "100.0 of 100")
    seen.shows("#tooltip", "A single question says nothing about others.")

    seen.page.locator('.cell[tabindex="0"]').focus()
    seen.press("ArrowRight", "ArrowDown", "Enter")

    seen.shows(".count", "1 of 6 trials · 1 question")
    seen.has_value("#filter-category", "temporal-reasoning")
    seen.has_value("#filter-at", "4d")
    seen.wait_for_focus("trials-grid")


def test_a_question_is_found_and_opened_without_a_mouse(page: Path, visit: Visiting) -> None:
    seen = visit(page)

    seen.press("/")
    seen.page.keyboard.type("PLUM")
    seen.press("Escape")
    # The search is kept, also for a reader who leaves the page now.
    assert seen.page.input_value("#filter-q") == "PLUM"
    assert "q=PLUM" in str(seen.value("location.hash"))
    seen.shows(".count", "1 of 6 trials")
    seen.press("Enter")
    seen.open_trial()

    seen.shows("#detail-title", "What is told of the cat?")
    seen.shows(".answer", "The cat is Plum.")
    seen.shows(".verdict", "gives Plum, not Fig")
    seen.shows(".verdict", "contradicts")
    seen.press("Escape")
    seen.wait_until_closed()
    seen.wait_for_focus("trials-grid")
    seen.has_value("#filter-q", "PLUM")
    assert seen.heard == []


@pytest.mark.slow
def test_one_of_several_personas_is_shown_and_listed_alone(tmp_path: Path, visit: Visiting) -> None:
    page = page_of(three(tmp_path / "run"), tmp_path / "a.html", {})
    seen = visit(page)
    seen.shows(".count", "18 trials · 9 questions")
    first = '[role="gridcell"].cell'
    together = seen.page.locator(first).first.get_attribute("aria-label")

    seen.page.select_option("#heatmap-scope", "bee")
    seen.wait_until(
        "cell => document.querySelector(cell).ariaLabel.includes('different questions 1')", first
    )
    seen.page.locator(first).first.click()

    assert "different questions 3" in str(together)
    seen.shows(".count", "1 of 18 trials")
    seen.has_value("#filter-persona", "bee")
    seen.wait_for_address("scope=bee")
    seen.wait_for_address("persona=bee")

    seen.page.reload()
    seen.has_value("#heatmap-scope", "bee")
    seen.shows(".count", "1 of 18 trials")


def test_every_search_and_filter_counts_what_it_should(page: Path, visit: Visiting) -> None:
    """A search reaches questions, references and ids."""
    seen = visit(page)
    found = {"second day": "2 of 6", "told fox": "2 of 6", "ada": "6 trials", "xyzzy": "0 of 6"}
    counts = {
        ("category", "factual-recall"): 2,
        ("at", "2d"): 3,
        ("result", "full"): 2,
        ("result", "unanswered"): 1,
        ("result", "unjudged"): 1,
        ("invented", "yes"): 1,
        ("leaf", "infrastructure"): 1,
        ("leaf", "any"): 3,
    }

    for words, count_text in found.items():
        seen.page.fill("#filter-q", words)
        seen.shows(".count", count_text)
    seen.page.locator(".clear").click()

    for (choice, value), count in counts.items():
        seen.page.select_option(f"#filter-{choice}", value)
        seen.shows(".count", f"{count} of 6 trials")
        seen.page.wait_for_function(
            "count => document.querySelectorAll('.trial').length === count", arg=count
        )
        seen.page.locator(".clear").click()
        seen.shows(".count", "6 trials · 3 questions")


def test_sorting_goes_up_then_down_then_back(page: Path, visit: Visiting) -> None:
    seen = visit(page)
    chips = ".trial .chip"
    button = seen.page.locator('[data-sort="points"] button')
    as_asked = seen.page.locator(chips).all_inner_texts()

    def shows(wanted: list[str]) -> None:
        seen.page.wait_for_function(
            "wanted => JSON.stringify([...document.querySelectorAll('.trial .chip')]"
            ".map(chip => chip.innerText)) === JSON.stringify(wanted)",
            arg=wanted,
        )

    button.click()
    seen.page.wait_for_selector('[data-sort="points"][aria-sort="ascending"]')
    shows(["–", "×", "1", "5", "6", "6"])
    button.click()
    shows(["6", "6", "5", "1", "×", "–"])
    button.click()
    shows(as_asked)


def test_an_address_leads_back_to_a_trial_and_its_filters(page: Path, visit: Visiting) -> None:
    first = visit(page)
    first.page.select_option("#filter-at", "4d")
    first.page.wait_for_function("document.querySelectorAll('.trial').length === 3")
    first.page.locator(".trial").filter(has_text="told of the cat").click()
    first.open_trial()
    first.wait_for_address("open=")
    address = str(first.value("location.hash"))

    again = visit(page, address)
    again.open_trial()

    again.shows(".answer", "The cat is Plum.")
    again.shows(".count", "3 of 6 trials")


def test_an_address_that_leads_nowhere_shows_the_page(page: Path, visit: Visiting) -> None:
    seen = visit(page, "#nowhere?open=nobody&persona=none&sort=odd&scope=strange&leaf=<b>")

    seen.shows(".count", "0 of 6 trials")
    assert seen.heard == []


def test_an_open_trial_shows_its_day_and_its_passages(page: Path, visit: Visiting) -> None:
    """An owl in front of the sentence, which a browser counts as two letters, moves nothing."""
    seen = visit(page, "#questions?open=ada/cat@2d%230")
    seen.open_trial()
    seen.shows(".answer", "The cat is Fig.")

    assert seen.text(".day mark") == SENTENCE
    assert "An owl came by" in seen.text(".day")
    # The day is long, and scrolled to what it tells.
    box = seen.page.locator(".day").first.bounding_box()
    mark = seen.page.locator(".day mark").first.bounding_box()
    assert box is not None
    assert mark is not None
    assert box["y"] < mark["y"] < box["y"] + box["height"] - mark["height"]

    assert seen.page.locator(".passage .meta").all_inner_texts() == [
        "day 1 · score 0.912 · notes/1\nevidence day",
        "day 2 · score 0.4",
    ]
    seen.shows("#detail", "1 of 1 evidence day among them")

    # The same question at the next checkpoint.
    seen.press("ArrowRight")

    seen.shows(".answer", "The cat is Plum.")
    seen.shows(".step.is-here small", "4d")


def test_without_the_days_it_says_how_to_give_them(
    page_without_days: Path, visit: Visiting
) -> None:
    seen = visit(page_without_days, "#questions?open=ada/cat@2d%230")
    seen.open_trial()

    seen.shows("#detail", "Name the folder of the personas with --data")
    assert seen.page.locator(".day").count() == 0


def test_failures_and_reviews_are_reported(page: Path, visit: Visiting) -> None:
    """One after the other by the address alone, as by a link in a document."""
    seen = visit(page, "#questions?open=ada/dog@2d%230")
    seen.open_trial()
    seen.shows("#detail", "Not answered: SystemTimeout. no reply within 30 s")
    seen.shows("#detail", "Infrastructure")

    seen.value("location.hash = '#questions?open=ada/fox@2d%230'")
    seen.shows("#detail", "the first verdict was 2 of 6")

    seen.value("location.hash = '#questions?open=ada/fox@4d%230'")
    seen.shows("#detail", "Not judged: UnreadableVerdict. no JSON in it")


def test_a_leaf_lists_its_misses_and_an_example_opens_until_back(
    page: Path, visit: Visiting
) -> None:
    seen = visit(page)

    seen.page.locator('[data-leaf="infrastructure"]').click()
    seen.shows(".count", "1 of 6 trials")
    seen.page.locator("#failures .opener").filter(has_text="dog at 2d").click()
    seen.open_trial()

    seen.shows("#detail-title", "What is told of the dog?")

    seen.page.go_back()

    seen.wait_until_closed()


@pytest.mark.slow
def test_theme_and_colours_are_chosen_and_charts_follow(page: Path, visit: Visiting) -> None:
    seen = visit(page, color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    colour = "getComputedStyle(document.querySelector('.cell.s60')).backgroundColor"
    dark, green = seen.value(ground), seen.value(colour)
    chart = seen.page.locator("[data-chart]").first
    chart.scroll_into_view_if_needed()
    chart.locator("svg").wait_for()
    before = chart.inner_html()

    seen.page.select_option("#set-theme", "light")
    seen.page.select_option("#set-colours", "colour-blind")

    seen.wait_until(f"dark => {ground} !== dark", dark)
    seen.wait_until(f"green => {colour} !== green", green)
    seen.wait_until("before => document.querySelector('[data-chart]').innerHTML !== before", before)
    assert seen.heard == []


def test_the_page_rounds_as_the_terminal_does(tmp_path: Path, visit: Visiting) -> None:
    (tmp_path / "empty.html").write_text("<!doctype html>")
    script = (STATIC / "dom.js").read_text(encoding="utf-8")
    halves = [(n / 8, digits) for n in range(-800, 800) for digits in (0, 1, 2)]
    means = [(100 * marks / (6 * n), 1) for n in range(1, 40) for marks in range(6 * n)]

    # As JSON: thousands of values that are handed over one by one take a second.
    shown = visit(tmp_path / "empty.html", is_ready=False).page.evaluate(
        f"(all) => {{ {script}; const said = JSON.parse(all).map((each) => fixed(...each));"
        " return JSON.stringify(said); }",
        json.dumps([*halves, *means]),
    )

    assert json.loads(shown) == [format_number(*each) for each in (*halves, *means)]
    assert format_number(12.5, 0) in shown


_CLIPPED = """() => [...document.querySelectorAll("[data-chart] svg")].flatMap((drawing) => {
  const frame = drawing.closest("[data-chart]").getBoundingClientRect();
  const outside = (box) => box.left < frame.left - 1 || box.right > frame.right + 1;
  return [...drawing.querySelectorAll("text")]
    .filter((text) => text.textContent.trim() && outside(text.getBoundingClientRect()))
    .map((text) => text.textContent);
})"""
_COVERED = """() => [...document.querySelectorAll("[data-chart] svg")].flatMap((drawing) => {
  const seen = (text) => text.textContent.trim() && getComputedStyle(text).opacity !== "0";
  const texts = [...drawing.querySelectorAll("text")].filter(seen);
  const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
    .filter(([, b]) => a.left < b.right - 2 && b.left < a.right - 2)
    .filter(([, b]) => a.top < b.bottom - 3 && b.top < a.bottom - 3)
    .map(([other]) => `${one} / ${other}`));
})"""


@pytest.mark.parametrize("width", [1440, 390])
def test_charts_are_drawn_whole_at_any_width(
    charted_page: Path, visit: Visiting, width: int
) -> None:
    """On a phone panels and labels were cut at the edge, or lay on each other."""
    seen = visit(charted_page, width=width, height=900)
    seen.draw_charts()

    assert seen.page.locator("[data-chart]").count() >= 8
    assert seen.value(_CLIPPED) == []
    assert seen.value(_COVERED) == []
    assert seen.value("document.documentElement.scrollWidth") == width
    scrolling = "(each) => each.scrollWidth > each.clientWidth + 1"
    assert not seen.value(f"[...document.querySelectorAll('[data-chart]')].some({scrolling})")


def test_without_scripts_the_figures_are_there_in_words(page: Path, visit: Visiting) -> None:
    seen = visit(page, is_ready=False, has_scripts=False)

    assert "need JavaScript" in seen.text("noscript")
    assert "2d" in seen.text("noscript table")
    assert seen.text(".headline .figure") == "60 of 100"


def test_a_browser_that_cannot_unpack_gets_a_message(page: Path, visit: Visiting) -> None:
    seen = visit(page, is_ready=False, first_script="delete window.DecompressionStream")

    seen.shows("#script-error", "too old to unpack the page")
