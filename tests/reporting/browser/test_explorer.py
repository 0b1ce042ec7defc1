"""In a real browser the explorer shows what the runs hold, by mouse, by keyboard and by address."""

import json
from urllib.parse import quote

import pytest

from tests.reporting.browser.visits import Explorer, Tab, list_foreign, wait_until_ready
from tests.reporting.pages.sample_pages import HOSTILE

# Beside the other modules here, so that one browser is started for all of them.
pytestmark = pytest.mark.slow


def test_runs_are_listed_chosen_and_compared_by_keyboard(explorer: Explorer, tab: Tab) -> None:
    seen = explorer.open(tab, "runs")
    seen.shows('tr[data-run="' + explorer.ids["nested/b"] + '"] .score', "86")
    seen.shows('tr[data-run="' + explorer.ids["a"] + '"] .state', "invalid")

    seen.press("j", "x", "j", "j", "j", "x", "c")
    seen.page.wait_for_selector("#view .notice.loud")

    seen.wait_for_address("#compare?runs=")
    seen.wait_for_address(explorer.ids["a"])
    seen.wait_for_address(explorer.ids["nested/b"])
    assert list_foreign(seen, explorer) == []


def test_every_section_is_a_key_and_a_tab_stop_away(explorer: Explorer, tab: Tab) -> None:
    seen = explorer.open(tab, "runs")
    for key, section in (("t", "travel"), ("l", "label"), ("c", "compare"), ("r", "runs")):
        seen.press(key)
        seen.page.wait_for_function(f"() => location.hash.startsWith('#{section}')")
        wait_until_ready(seen)

    seen.page.reload()
    wait_until_ready(seen)
    reached = []
    for _ in range(8):
        seen.press("Tab")
        reached.append(seen.value("document.activeElement.dataset.section ?? ''"))

    assert [each for each in reached if each] == ["runs", "compare", "travel", "label"]
    assert list_foreign(seen, explorer) == []


def test_runs_that_cannot_be_compared_say_why(explorer: Explorer, tab: Tab) -> None:
    seen = explorer.open(tab, f"compare?runs={explorer.name('a', 'nested/b')}")

    seen.shows("#view .notice.loud", "the run is invalid")
    assert str(explorer.root) not in seen.text("main")
    seen.page.get_by_role("button", name="Compare what they have in common").click()

    seen.shows(".contrast", "B (second 2)")
    seen.shows(".differences", "Overall")
    seen.shows(".contrast", "by checkpoint")
    seen.wait_for_address("scope=common")


def test_questions_are_filtered_and_one_is_shown_side_by_side(explorer: Explorer, tab: Tab) -> None:
    seen = explorer.open(
        tab, f"compare?runs={explorer.name('a', 'nested/b')}&scope=common&show=better"
    )
    rows = seen.page.locator(".pair-row")
    seen.shows(".count", "2 trials")
    seen.page.wait_for_function("() => document.querySelectorAll('.pair-row').length === 2")

    for filtered, count in (("worse", 0), ("both-wrong", 0), ("only-second", 1), ("different", 2)):
        seen.page.locator("#pair-show").select_option(filtered)
        seen.shows(".count", f"{count} trial")
        seen.wait_for_address(f"show={filtered}")

    seen.page.locator("#pair-show").select_option("better")
    seen.shows(".count", "2 trials")
    seen.page.locator("#view").focus()
    seen.press("j", "j")
    seen.wait_for_focus("pairs")
    seen.page.wait_for_selector("#pairs-1.is-active[aria-selected=true]")
    seen.press("Enter")
    seen.open_trial()
    sides = seen.page.locator(".side")
    assert "The cat is Plum." in sides.nth(0).inner_text()
    assert "gives Plum, not Fig" in sides.nth(0).inner_text()
    assert "Fig again." in sides.nth(1).inner_text()
    assert "The cat is called Fig." in sides.nth(1).inner_text()
    seen.wait_for_address("open=ada")

    seen.press("p")
    seen.shows("#detail-title", "dog")
    seen.press("Escape")
    seen.wait_until_closed()
    seen.wait_for_address("open=", is_there=False)
    seen.wait_for_focus("pairs")
    rows.nth(1).click()
    seen.open_trial()
    assert list_foreign(seen, explorer) == []


def test_an_address_leads_back_to_what_was_seen(explorer: Explorer, tab: Tab) -> None:
    both = explorer.name("a", "nested/b")
    first = explorer.open(
        tab, f"compare?runs={both}&scope=common&show=better&open=ada%2Fcat%404d%230"
    )
    first.open_trial()
    first.page.reload()
    wait_until_ready(first)
    first.open_trial()
    first.shows("#detail-title", "cat")


def test_hostile_text_is_text_everywhere(explorer: Explorer, tab: Tab) -> None:
    run = explorer.ids["hostile"]
    seen = explorer.open(tab, "runs")
    words = " ".join(HOSTILE.replace("\u2028", " ").split())
    assert f"system {words}" in " ".join(seen.text(f'tr[data-run="{run}"]').split())

    opened = f"&open={quote(f'persona {HOSTILE}/q {HOSTILE}@2d#0', safe='')}"
    for hash_ in (
        f"compare?runs={run}",
        f"compare?runs={run},{explorer.ids['a']}&scope=common",
        f"travel?run={run}{opened}",
        f"label?run={run}&who={quote(HOSTILE[:60])}",
    ):
        seen.page.goto(f"{explorer.address}#{hash_}")
        wait_until_ready(seen)
        if "travel" in hash_:
            seen.open_trial()
            assert f"answer {words}" in " ".join(seen.text("dialog").split())
    seen.page.locator("#label-comment").fill(HOSTILE)
    seen.page.locator("#view").focus()
    seen.press("1")
    seen.shows("#view", f"Labels by {HOSTILE[:30]}")
    seen.page.goto(f"{explorer.address}#label?run={run}&who=ben&show=labelled")
    wait_until_ready(seen)
    seen.page.locator(".label-card summary").click()
    assert words in " ".join(seen.text(".label-card details").split())

    assert seen.value("window.hacked") is None
    assert seen.value("document.querySelectorAll('img').length") == 0
    assert list_foreign(seen, explorer) == []


def test_the_report_of_a_run_is_one_click_away(explorer: Explorer, tab: Tab) -> None:
    seen = explorer.open(tab, "runs")
    seen.page.get_by_role("link", name="second 2").click()
    # The list of runs is ready too: only the heading tells that the report has come.
    seen.shows("h1", "second 2")
    wait_until_ready(seen)

    seen.page.get_by_role("link", name="Compare", exact=True).click()
    wait_until_ready(seen)
    seen.wait_for_address(f"#compare?runs={explorer.ids['nested/b']}")
    assert list_foreign(seen, explorer) == []


def test_it_is_readable_on_a_phone_in_the_dark(explorer: Explorer, tab: Tab) -> None:
    seen = explorer.open(tab, "runs", width=390, color_scheme="dark")
    run = explorer.ids["a"]
    both = f"compare?runs={explorer.name('a', 'nested/b')}&scope=common"
    for hash_ in ("runs", both, f"travel?run={run}", f"label?run={run}"):
        seen.page.goto(f"{explorer.address}#{hash_}")
        wait_until_ready(seen)
        seen.page.wait_for_timeout(200)
        assert seen.value("document.documentElement.scrollWidth") == 390, hash_
    assert seen.value("document.documentElement.dataset.theme") == "dark"


def test_the_life_of_a_question_is_a_strip(explorer: Explorer, tab: Tab) -> None:
    """The cat was known at two days and lost at four."""
    seen = explorer.open(tab, f"travel?run={explorer.ids['a']}&day=1")
    cat = seen.page.locator(".asked-here .pair-row").filter(has_text="cat")
    assert cat.locator(".beat").all_inner_texts() == ["●", "✕"]

    seen.press("ArrowRight", "ArrowRight", "ArrowRight")
    seen.shows(".asked-here h3", "Asked at 4d, after 4 days")
    seen.wait_for_address("day=4")
    seen.page.locator("#life").select_option("lost")
    seen.page.wait_for_function(
        "() => document.querySelectorAll('.asked-here .pair-row').length === 1"
    )
    seen.shows(".asked-here .pair-row", "cat")
    seen.press("j", "Enter")
    seen.open_trial()
    seen.shows("#detail-title", "cat")
    assert list_foreign(seen, explorer) == []


def test_an_answer_is_labelled_by_keyboard_and_taken_back(explorer: Explorer, tab: Tab) -> None:
    run = explorer.ids["nested/b"]
    seen = explorer.open(tab, f"label?run={run}&show=all")
    seen.press("1")
    seen.shows("#label-status", "Say who labels first.")
    seen.page.locator("#labeller").fill("ann")
    seen.press("Tab")
    seen.page.wait_for_function("() => location.hash.includes('who=ann')")
    wait_until_ready(seen)
    seen.page.locator("#view").focus()
    first = seen.page.locator(".label-card").get_attribute("data-trial")

    seen.press("2")
    seen.shows("#view", "Labels by ann: 1")
    seen.wait_until(
        "first => document.querySelector('.label-card')?.dataset.trial !== first", first
    )
    seen.press("p")
    seen.page.wait_for_selector('.labels [aria-pressed="true"]')
    seen.press("2")

    seen.shows("#view", "No answer of this run has a label yet")
    lines = (explorer.root / "nested" / "b" / "labels.jsonl").read_text().splitlines()
    assert [json.loads(line)["label"] for line in lines] == ["wrong", "withdrawn"]
    assert list_foreign(seen, explorer) == []
