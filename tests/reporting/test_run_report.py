"""One figure has one interval, wherever a report shows it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from recall_bench.core.scenario import Item
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.heatmap_rows import UNGROUNDED
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.run_report import RunReport, build_report
from tests.written_runs import Story, plan_of, question, trial

GOOD, WRONG, MADE_UP = Verdict.of(3, 2, 1), Verdict.of(0, 0, 1), Verdict.of(1, 0, 0)


@pytest.fixture
def report(tmp_path: Path) -> RunReport:
    items = tuple(question(f"q{n}") for n in range(30))
    scenarios: dict[str, Sequence[Item]] = {"ada": items}
    story = Story(tmp_path / "r", scenarios, plan_of(scenarios))
    for n in range(30):
        for days in (2, 4):
            verdict = MADE_UP if n % 7 == 0 else WRONG if n % days == 1 else GOOD
            story.both(trial(f"q{n}", f"{days}d"), verdict)
    story.end()
    folder = RunFolder.open(story.save())
    return build_report(folder, read_trials(folder))


def test_the_heatmap_and_the_mixed_view_agree(report: RunReport) -> None:
    (heatmap,) = report.heatmaps

    same(heatmap.total.cells, [each.mean for each in report.degradation.mixed])


def test_the_row_under_the_heatmap_and_the_course_agree(report: RunReport) -> None:
    (heatmap,) = report.heatmaps
    moments = report.hallucination.overall.moments
    ungrounded = heatmap.get(UNGROUNDED)

    assert ungrounded is not None
    same(ungrounded.cells, [each.hallucination for each in moments])


def test_the_head_is_the_summary_and_the_course(report: RunReport) -> None:
    head = report.header

    assert head.overall is not None
    assert head.overall.trials == 60
    assert head.hallucination is not None
    assert report.hallucination.overall.rate is not None
    assert head.hallucination.value == report.hallucination.overall.rate.value
    assert report.attribution.misses == sum(leaf.trials for leaf in report.attribution.leaves)


def same(one: Iterable[Estimate | None], other: Iterable[Estimate | None]) -> None:
    pairs = list(zip(one, other, strict=True))
    assert len(pairs) == 2
    for first, second in pairs:
        assert first is not None
        assert second is not None
        for name in ("value", "low", "high"):
            assert getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-9), name
        assert (first.questions, first.trials, first.missing) == (
            second.questions,
            second.trials,
            second.missing,
        )
