"""Every report resamples the questions of one template together.

Two runs of 40 questions, of which each template has five with the same marks.
"""

from pathlib import Path

import pytest

from recall_bench.core.plan import Trial
from recall_bench.core.scenario import Item
from recall_bench.engine.runs.estimates import RunEstimates
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.comparison.gate.gate_rules import GateRules
from recall_bench.features.comparison.gate.run_gate import check_run
from recall_bench.features.comparison.power_plan import measure_pilot
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.analyses.degradation import measure_degradation
from recall_bench.reporting.analyses.hallucination import analyse_hallucination
from recall_bench.reporting.run_comparison import compare_runs
from tests.reporting.simulated_runs import LABELS, questions, write_run
from tests.written_runs import trial

COUNT, COPIES = 40, 5
FIRST = (6, 0, 4, 2, 5, 1, 6, 3)
SECOND = (5, 0, 2, 1, 6, 0, 2, 3)
"""The points of each template."""


def points(marks: tuple[int, ...]) -> dict[Trial, int]:
    return {
        trial(f"q{number}", label): max(0, marks[number // COPIES] - (label == LABELS[1]))
        for number in range(COUNT)
        for label in LABELS
    }


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, list[RunFolder]]:
    """Both runs, with questions that are apart and with questions that share templates."""
    apart = questions(COUNT)
    shared = tuple(
        each.replace(template=f"t{number // COPIES}") for number, each in enumerate(apart)
    )
    kinds: dict[str, tuple[Item, ...]] = {"apart": apart, "shared": shared}
    return {
        name: [
            RunFolder.open(write_run(tmp_path / name / str(number), items, points(marks)))
            for number, marks in enumerate((FIRST, SECOND))
        ]
        for name, items in kinds.items()
    }


def width(found: object) -> float:
    low, high = (getattr(found, end) for end in ("low", "high"))
    assert isinstance(low, float)
    assert isinstance(high, float)
    return high - low


def are_wider(apart: object, shared: object) -> bool:
    return width(shared) > 1.5 * width(apart)


def test_the_headline_and_a_cell(runs: dict[str, list[RunFolder]]) -> None:
    apart, shared = (RunEstimates.get(runs[name][0]) for name in runs)

    assert are_wider(apart.estimate_overall(), shared.estimate_overall())
    cells: list[Estimate | None] = [
        each.build_heatmap().rows[0].cells[0] for each in (apart, shared)
    ]
    assert are_wider(*cells)


def test_a_comparison(runs: dict[str, list[RunFolder]]) -> None:
    apart, shared = (compare_runs(runs[name], resamples=500).contrasts[0] for name in runs)
    one, other = apart.overall.comparison, shared.overall.comparison

    assert are_wider(one.difference, other.difference)
    assert one.p_value < 0.05 < other.p_value
    assert are_wider(apart.checkpoints[0].difference, shared.checkpoints[0].difference)
    assert are_wider(
        apart.categories[0].comparison.difference, shared.categories[0].comparison.difference
    )


def test_a_run_that_knows_templates_lends_them_to_one_that_does_not(
    runs: dict[str, list[RunFolder]],
) -> None:
    mixed = compare_runs([runs["apart"][0], runs["shared"][1]], resamples=500).contrasts[0]
    shared = compare_runs(runs["shared"], resamples=500).contrasts[0]

    assert mixed.overall.comparison == shared.overall.comparison


def test_a_gate(runs: dict[str, list[RunFolder]]) -> None:
    """Forty questions show the loss, eight templates do not."""
    apart, shared = (check_run(runs[name][1], runs[name][0], GateRules()) for name in runs)
    one, other = (
        next(check for check in gate.checks if check.rule == "margin") for gate in (apart, shared)
    )

    assert (one.outcome.value, other.outcome.value) == ("failed", "passed")
    assert one.noticed is not None
    assert other.noticed is None or other.noticed > one.noticed
    assert are_wider(one, other)


def test_a_pilot_asks_for_more_questions(runs: dict[str, list[RunFolder]]) -> None:
    for asks in (None, 3.0):
        apart, shared = (
            measure_pilot([read_trials(each) for each in runs[name]], ["A", "B"], asks)
            for name in runs
        )
        assert shared.question_deviation > 1.5 * apart.question_deviation


def test_lines_over_time(runs: dict[str, list[RunFolder]]) -> None:
    apart, shared = (read_trials(runs[name][0]) for name in runs)
    lines = [measure_degradation(each, seed=1, resamples=500) for each in (apart, shared)]
    views = [analyse_hallucination(each, resamples=500, headline=500) for each in (apart, shared)]

    assert lines[0].mixed_trend is not None
    assert lines[1].mixed_trend is not None
    assert are_wider(lines[0].mixed_trend.slope, lines[1].mixed_trend.slope)
    assert are_wider(lines[0].mixed[0].mean, lines[1].mixed[0].mean)
    assert are_wider(views[0].overall.rate, views[1].overall.rate)
    assert are_wider(views[0].overall.moments[0].recall, views[1].overall.moments[0].recall)
