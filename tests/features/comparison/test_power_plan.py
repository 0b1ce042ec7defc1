"""What a difference takes is known beforehand, from a pilot or from stated numbers."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import Trial
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialTable, read_trials
from recall_bench.features.comparison.power_plan import (
    measure_pilot,
    plan_power,
    render_power,
    state_basis,
)
from recall_bench.metrics.power import find_fewest_questions
from recall_bench.reporting.run_comparison import compare_runs
from tests.reporting.simulated_runs import LABELS, questions, write_run
from tests.written_runs import trial

OF_100 = 100 / 6
STATED = state_basis(20.0, None, None)


def points(rows: Sequence[tuple[int, int]]) -> dict[Trial, int]:
    """As many questions as there are rows, each with its points at both checkpoints."""
    return {
        trial(f"q{number}", label): mark
        for number, marks in enumerate(rows)
        for label, mark in zip(LABELS, marks, strict=True)
    }


def table(folder: Path, *rows: tuple[int, int]) -> TrialTable:
    path = write_run(folder, questions(len(rows)), points(rows))
    return read_trials(RunFolder.open(path))


def test_two_systems_that_vary_by_two_points() -> None:
    """As any table of paired t-tests has it: 34 pairs for half a standard deviation."""
    found = plan_power(STATED, difference=10.0, questions=34)

    assert found.needed is not None
    assert found.needed.questions == 34
    assert found.shown is not None
    assert found.shown.difference == pytest.approx(10.0, abs=0.1)


def test_half_the_difference_takes_four_times_the_questions() -> None:
    needed = {each.difference: each.questions for each in plan_power(STATED).differences}

    assert needed[1.0] == pytest.approx(4 * needed[2.0], rel=0.02)


def test_the_spread_is_that_of_the_differences_between_two_runs(tmp_path: Path) -> None:
    """Marks vary a great deal, differences by 0 and 2: a question is up by 2, or it is not."""
    first = table(tmp_path / "a", (0, 0), (1, 1), (3, 3), (4, 4))
    second = table(tmp_path / "b", (2, 2), (1, 1), (5, 5), (4, 4))

    ground = measure_pilot([first, second], ["a", "b"])

    assert ground.spread.correlation == 1.0
    assert ground.spread.deviation == pytest.approx(OF_100 * math.sqrt(4 / 3))
    assert ground.asks == 2.0
    assert ground.question_deviation == pytest.approx(ground.spread.deviation)
    assert ground.source == "b against a, 8 trials of 4 questions"


def test_one_run_is_taken_for_two_that_have_nothing_in_common(tmp_path: Path) -> None:
    """The variance of a difference of unrelated marks is the sum of both."""
    alone = measure_pilot([table(tmp_path, (0, 0), (2, 2), (4, 4))], ["a"])

    assert alone.spread.deviation == pytest.approx(OF_100 * math.sqrt(2 * 4))


def test_a_pilot_shows_beforehand_what_its_comparison_shows_afterwards(tmp_path: Path) -> None:
    rows = [(0, 1), (1, 4), (3, 3), (4, 2), (6, 6), (2, 2), (5, 1)]
    folders = [
        RunFolder.open(write_run(tmp_path / name, questions(7), points(pairs)))
        for name, pairs in {"a": rows, "b": [*rows[2:], *rows[:2]]}.items()
    ]

    found = compare_runs(folders, resamples=50).contrasts[0].overall.comparison
    ground = measure_pilot([read_trials(folder) for folder in folders], ["a", "b"])

    shown = plan_power(ground, questions=7).shown
    assert shown is not None
    assert found.detectable is not None
    assert shown.difference == pytest.approx(OF_100 * found.detectable)


def test_asks_that_are_not_alike_help_and_those_that_are_do_not() -> None:
    def needed(correlation: float) -> int:
        found = plan_power(state_basis(20.0, correlation, 4.0), difference=5.0)
        assert found.needed is not None
        return found.needed.questions

    alone = plan_power(STATED, difference=5.0).needed
    assert alone is not None
    assert needed(1.0) == alone.questions
    assert needed(0.0) == pytest.approx(alone.questions / 4, abs=2)


def test_below_six_questions_no_difference_can_be_shown() -> None:
    """Five that all go one way do so by chance once in sixteen times."""
    found = plan_power(state_basis(0.01, None, None), difference=5.0, questions=5)

    assert find_fewest_questions() == 6
    assert found.needed is not None
    assert found.needed.questions == 6
    assert found.shown is not None
    assert found.shown.difference is None
    assert "no difference by 5 questions; it takes 6 or more" in render_power(found)


def test_a_difference_beyond_the_marks_is_not_shown() -> None:
    wild = state_basis(100.0, None, None)

    assert plan_power(wild, questions=8).shown is not None
    assert "no difference that is possible by 8 different questions" in render_power(
        plan_power(wild, questions=8)
    )


def test_a_pilot_without_a_difference_says_nothing(tmp_path: Path) -> None:
    same = table(tmp_path, (0, 1), (2, 3))

    with pytest.raises(UsageError, match="nothing varies between questions in b against a"):
        measure_pilot([same, same], ["a", "b"])


@pytest.mark.parametrize("difference", [0.0, -1.0, 100.5])
def test_no_such_difference(difference: float) -> None:
    with pytest.raises(UsageError, match="is not a difference in points of 100"):
        plan_power(STATED, difference=difference)


def test_three_runs_are_no_pilot(tmp_path: Path) -> None:
    same = table(tmp_path, (0, 1), (2, 3))

    with pytest.raises(UsageError, match="one run or two; 3 were named"):
        measure_pilot([same, same, same], ["a", "b", "c"])
