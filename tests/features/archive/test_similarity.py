"""Imported runs are alike by the questions that were put, since no file tells of the days."""

from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import Plan
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.archive.import_run import import_run
from recall_bench.reporting.run_comparison import compare_runs
from recall_bench.reporting.run_pairs import find_differences
from tests.engine.runs.importing.public_files import Row, part, result, row, save

MANY = [row(f"q{number}", (3, 2, 1)) for number in range(12)]
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def run(name: str, rows: list[Row], **metadata: object) -> Path:
        path = save(tmp_path / f"{name}.json", result([part(6, rows)], **metadata))
        import_run([path], tmp_path / name)
        return tmp_path / name

    return run


def plan(folder: Path) -> Plan:
    return RunFolder.open(folder).plan


def differences(first: Path, second: Path) -> list[str]:
    return [each.what for each in find_differences(plan(first), plan(second))]


def test_two_runs_that_put_the_same_questions_are_alike_in_whatever_order(make: Make) -> None:
    assert differences(make("a", MANY), make("b", MANY[::-1])) == []


def test_a_question_that_one_run_did_not_put_is_a_difference(make: Make) -> None:
    assert differences(make("a", MANY), make("b", MANY[1:])) == [
        "older questions",
        "questions of ada",
    ]


def test_a_reworded_question_is_a_difference(make: Make) -> None:
    reworded = [row("q0", qa={"answer": "Another."}), *MANY[1:]]

    assert differences(make("a", MANY), make("b", reworded)) == ["questions of ada"]


def test_days_that_are_not_on_record_are_not_held_against_a_run_of_ours(make: Make) -> None:
    imported = plan(make("a", MANY))
    (card,) = imported.scenarios
    ours = imported.replace(imported=None, scenarios=(card.replace(history_digest="1" * 64),))

    assert [each.what for each in find_differences(imported, ours)] == ["older questions"]


def test_another_judge_is_a_difference(make: Make) -> None:
    assert differences(make("a", MANY), make("b", MANY, judgeModel="other")) == ["judge"]


def test_two_imported_runs_compare_trial_by_trial(make: Make) -> None:
    worse = [row(f"q{number}", (1, 0, 1)) for number in range(12)]

    report = compare_runs(
        [RunFolder.open(make("a", MANY)), RunFolder.open(make("b", worse))], resamples=50
    )

    (contrast,) = report.contrasts
    assert contrast.overall.comparison.difference.value == pytest.approx(-4.0)


def test_runs_of_other_questions_are_refused_by_name(make: Make) -> None:
    folders = [RunFolder.open(make("a", MANY)), RunFolder.open(make("b", MANY[:4]))]

    with pytest.raises(UsageError, match="differ in"):
        compare_runs(folders, resamples=50)
