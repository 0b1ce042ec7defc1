"""Whatever a system says is shown as what it said, and does nothing."""

from pathlib import Path

import pytest

from tests.reporting.browser.visits import Visiting
from tests.reporting.pages.sample_pages import HOSTILE, hostile_run, page_of

# Beside the other modules here, so that one browser is started for all of them.
pytestmark = pytest.mark.slow

SHOWN = HOSTILE.replace("\u2028", " ")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    days = {f"persona {HOSTILE}": {1: f"day {HOSTILE}"}}
    return page_of(hostile_run(folder / "run").open(), folder / "report.html", days)


def test_no_word_of_it_is_in_the_file_as_markup(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert "<img" not in text
    assert "<script>window" not in text
    assert "<!--" not in text
    assert text.count("</script>") == text.count("<script")


def test_nothing_runs_and_every_text_is_text(page: Path, visit: Visiting) -> None:
    seen = visit(page)
    seen.draw_charts()
    for details in seen.page.locator("details").all():
        details.evaluate("node => { node.open = true; }")
    seen.page.locator('[role="gridcell"].cell').first.hover()
    seen.page.locator(".trial").first.click()
    seen.open_trial()

    told = " ".join(str(seen.value("document.querySelector('#detail').innerText")).split())
    for name in "persona q text asker reference alias answer reason passage source session".split():
        assert " ".join(f"{name} {SHOWN}".split()) in told, name
    assert " ".join(f"day {SHOWN}".split()) in told
    assert " ".join(f"system {SHOWN} 1".split()) == " ".join(seen.text("h1").split())
    assert seen.value("window.hacked") is None
    assert seen.value("document.querySelectorAll('img').length") == 0
    assert seen.heard == []


def test_a_script_that_got_in_all_the_same_would_not_run(page: Path, visit: Visiting) -> None:
    """The policy of the page is the second wall: it lets in no script and no address."""
    seen = visit(page)

    seen.value(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = 5";
            document.body.append(script);
            const picture = document.createElement("img");
            picture.setAttribute("onerror", "window.hacked = 6");
            picture.src = "https://example.invalid/x.png";
            document.body.append(picture);
        }"""
    )
    seen.page.wait_for_timeout(100)

    assert seen.value("window.hacked") is None
    assert [each for each in seen.heard if each.startswith(("request", "refused"))] == [
        "request: https://example.invalid/x.png",
        "refused: csp",
    ]
