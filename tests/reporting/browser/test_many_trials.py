"""Thousands of trials are as easy to walk as fifty: few of them are in the document at a time."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import Item
from recall_bench.engine.runs.trials import read_trials
from tests.reporting.browser.visits import Visiting
from tests.reporting.charts.sample_report import sampled_report
from tests.reporting.pages.sample_pages import page_of
from tests.thoroughness import choose_number
from tests.written_runs import INVENTED, PERFECT, Story, plan_of, question, trial

pytestmark = pytest.mark.slow

QUESTIONS, CHECKPOINTS = choose_number(100, 1000), 50
TRIALS = QUESTIONS * CHECKPOINTS
INVENTED_TRIALS = TRIALS // 100


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every question at every checkpoint; each hundredth trial made something up."""
    folder = tmp_path_factory.mktemp("many")
    scenarios: dict[str, Sequence[Item]] = {
        "ada": [
            question(f"q{n:04}", "synthesis" if n % 2 else "factual-recall")
            for n in range(QUESTIONS)
        ]
    }
    labels = [f"{n}d" for n in range(1, CHECKPOINTS + 1)]
    checkpoints = tuple(Checkpoint(label=label, days=n) for n, label in enumerate(labels, start=1))
    story = Story(folder / "run", scenarios, plan_of(scenarios, checkpoints=checkpoints))
    for place, label in enumerate(labels):
        for n in range(QUESTIONS):
            verdict = INVENTED if (place + n) % 100 == 0 else PERFECT
            story.both(trial(f"q{n:04}", label), verdict, f"At {label} it was {n * 7919 % 10007}.")
    run = story.open()
    assert len(read_trials(run).rows) == TRIALS
    return page_of(run, folder / "report.html", {}, report=sampled_report(143))


def test_the_document_stays_small_and_both_ends_are_reached(page: Path, visit: Visiting) -> None:
    seen = visit(page)
    seen.shows(".count", f"{TRIALS:,} trials · {QUESTIONS:,} questions")
    seen.page.locator("#trials-grid").focus()

    seen.press("End")
    seen.page.wait_for_selector(f"#trial-{TRIALS - 1}.is-active")
    assert int(str(seen.value("document.querySelectorAll('.trial').length"))) < 60
    # Charts are as large as they are for any run.
    elements = seen.value("document.querySelectorAll('*:not([data-chart] *)').length")
    assert int(str(elements)) < 5000

    seen.press("Home")
    seen.page.wait_for_selector("#trial-0.is-active")
    assert seen.heard == []


def test_filters_and_searches_reach_all_of_them(page: Path, visit: Visiting) -> None:
    seen = visit(page, "#questions?invented=yes")
    seen.shows(".count", f"{INVENTED_TRIALS} of {TRIALS:,} trials · {INVENTED_TRIALS} questions")

    seen.page.select_option("#filter-invented", "")
    seen.page.fill("#filter-q", "37d it was")
    seen.shows(".count", f"{QUESTIONS:,} of {TRIALS:,} trials · {QUESTIONS:,} questions")
    seen.page.fill("#filter-q", f"37d q{QUESTIONS - 1:04}")
    seen.shows(".count", f"1 of {TRIALS:,} trials")

    seen.page.locator(".trial").first.click()
    seen.open_trial()
    seen.shows(".answer", f"At 37d it was {(QUESTIONS - 1) * 7919 % 10007}.")
    assert seen.heard == []


def test_a_heatmap_of_many_columns_keeps_its_names_in_sight(page: Path, visit: Visiting) -> None:
    seen = visit(page, width=700, height=900)
    name = seen.page.locator(".grid .name").first
    before = name.bounding_box()

    seen.page.locator("#heatmap-grid").evaluate("node => { node.scrollLeft = 400; }")

    assert name.bounding_box() == before
    assert seen.page.locator(".grid .row").nth(1).locator(".cell").count() == 143
