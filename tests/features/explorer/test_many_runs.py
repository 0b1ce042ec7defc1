"""Long runs side by side: little is read at first, and little is drawn.

How long that takes at 50,000 trials is measured by `benchmarks/explorer.py`.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.plan import Checkpoint
from recall_bench.core.scenario import Item
from recall_bench.features.explorer.explorer_page import render_explorer
from recall_bench.features.explorer.explorer_views import ExplorerViews
from recall_bench.features.explorer.run_catalogue import RunCatalogue
from recall_bench.reporting.pages.markup import PageBlock, encode_block
from tests.reporting.browser.visits import Tab, wait_until_ready
from tests.thoroughness import choose_number
from tests.written_runs import INVENTED, PERFECT, POOR, Story, plan_of, question, trial

pytestmark = pytest.mark.slow

QUESTIONS, CHECKPOINTS = choose_number(50, 200), 20
TRIALS = QUESTIONS * CHECKPOINTS
MOST_ROWS = 60


def write_long_run(folder: Path, shift: int) -> None:
    """Every fifth answer is poor, others in each run."""
    names = [f"q{n:04}" for n in range(QUESTIONS)]
    scenarios: dict[str, Sequence[Item]] = {"ada": [question(name) for name in names]}
    labels = [f"{n}d" for n in range(1, CHECKPOINTS + 1)]
    checkpoints = tuple(Checkpoint(label=label, days=n) for n, label in enumerate(labels, start=1))
    story = Story(folder, scenarios, plan_of(scenarios, checkpoints=checkpoints))
    for place, label in enumerate(labels):
        for n, name in enumerate(names):
            verdict = INVENTED if (place + n) % 100 == 0 else PERFECT
            poor = (n + place + shift) % 5 == 0
            story.both(trial(name, label), POOR if poor else verdict, f"{n * 7919 % 10007} {shift}")
    story.end()
    story.save()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("many")
    for number in range(2):
        write_long_run(folder / str(number), number)
    views = ExplorerViews(RunCatalogue(folder))
    runs = [run.id for run in views.catalogue.scan()]
    name = f"pairs/{'.'.join(runs)}"
    blocks = [
        encode_block("runs", views.catalogue.list_rows()),
        *(block for run in runs for block in views.list_blocks(run)),
        PageBlock(name, views.build(name)),
        encode_block(f"compare/{'.'.join(runs)}", {"problem": "not compared here"}),
    ]
    pieces = render_explorer("many", is_served=False, blocks=[block.render() for block in blocks])
    (folder / "index.html").write_text("".join(pieces), encoding="utf-8")
    return folder / "index.html", runs


def test_the_first_read_of_a_run_reads_no_answers(written: tuple[Path, list[str]]) -> None:
    path, (run, _) = written
    views = ExplorerViews(RunCatalogue(path.parent))
    for name in ("index", "questions", "trials"):
        views.build(f"{run}/{name}")

    assert "text_blocks" not in vars(views.open_run(run))


def test_a_section_draws_the_rows_in_view(written: tuple[Path, list[str]], tab: Tab) -> None:
    path, runs = written
    for section in ("compare?runs={0},{1}", "travel?run={0}&day=20", "label?run={0}"):
        seen = tab.open(f"{path.as_uri()}#{section.format(*runs)}")
        wait_until_ready(seen)

        assert seen.page.evaluate("performance.getEntriesByName('interactive').length") == 1
        assert seen.page.locator(".pair-row").count() < MOST_ROWS, section
        if section.startswith("compare"):
            seen.shows(".count", f"{TRIALS:,} trials")
            seen.page.locator("#pair-show").select_option("better")
            seen.shows(".count", f"{TRIALS // 5} trials")
