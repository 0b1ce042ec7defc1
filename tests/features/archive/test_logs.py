"""Public logs name no checkpoint and only grow: what holds is told by time, or refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.event import Answered, Judged
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import summarise
from recall_bench.features.archive.import_run import import_run
from tests.engine.runs.importing.public_files import (
    Row,
    header,
    logged,
    part,
    reached,
    reconstructed,
    result,
    reviewed,
    row,
    save,
    summary,
)
from tests.fixtures.runs_importing import Import, faults

Opened = Callable[[], RunFolder]
FIRST = {"correctness": 0, "completeness": 0, "hallucination": 0, "reasoning": "Wrong."}
SIX = [row("q1", (3, 2, 1)), row("q2", (0, 0, 0))]
TWELVE = [row("q2", (3, 2, 1)), row("q1", (3, 2, 1))]


def progress(**more: object) -> list[Row]:
    """Six days by minute 10, twelve by minute 20."""
    return [
        header(0, (6, 12)),
        reached(10, 6, SIX, "ada", **more),
        reached(20, 12, TWELVE, "ada", **more),
        summary(21),
    ]


def log() -> list[Row]:
    return [
        logged(SIX[0], 4),
        logged(SIX[1], 10),
        logged(TWELVE[0], 12),
        logged(TWELVE[1], 19),
    ]


def test_rows_without_a_checkpoint_are_placed_by_time(imported: Import, opened: Opened) -> None:
    found = imported(questions=log(), progress=progress())

    parts = summarise(opened()).checkpoints
    assert [(each.checkpoint.label, each.overall.mean) for each in parts] == [
        ("6d", 3.0),
        ("12d", 6.0),
    ]
    assert found.stored_mean == found.mean == 4.5
    assert faults(found) == {"unlabeled": 4}
    assert (found.disagreeing, found.card.complete) == ((), True)


def test_a_row_written_in_the_moment_a_checkpoint_ended_belongs_to_it(
    imported: Import, opened: Opened
) -> None:
    imported(questions=log(), progress=progress())

    owed = [each.trial for each in opened().results("ada") if each.trial.checkpoint == "6d"]
    assert [trial.item for trial in owed] == ["q1", "q2"]


def test_each_persona_has_its_own_course(imported: Import, opened: Opened) -> None:
    lines = [header(0, (6,)), reached(10, 6, SIX), reached(20, 6, TWELVE, "bo"), summary(21)]
    rows = [logged(each, 5) for each in SIX] + [logged(each, 5, "bo") for each in TWELVE]

    imported(questions=rows, progress=lines)

    assert [each.overall.mean for each in summarise(opened()).personas] == [3.0, 6.0]


def test_what_a_killed_process_asked_in_vain_is_left_out(imported: Import) -> None:
    """It was killed at minute 13, in the middle of 12d, and continued at minute 30."""
    lines = [header(0, (6, 12)), reached(10, 6, SIX), header(30, (6, 12))]
    lines += [reached(40, 12, TWELVE), summary(41)]
    rows = [logged(each, 5) for each in SIX]
    rows += [logged(row("q2", (0, 0, 0)), 12)]
    rows += [logged(each, 35) for each in TWELVE]

    found = imported(questions=rows, progress=lines)

    assert found.mean == 4.5
    assert faults(found) == {"unlabeled": 4, "unfinished": 1, "repeated-headers": 1}


def test_of_a_checkpoint_that_was_put_again_the_last_attempt_holds(imported: Import) -> None:
    lines = [header(0, (6,)), reached(10, 6, SIX), header(30, (6,)), reached(40, 6, TWELVE)]
    rows = [logged(each, 5) for each in SIX] + [logged(each, 35) for each in TWELVE]

    found = imported(questions=rows, progress=[*lines, summary(41)])

    assert found.mean == 6.0
    assert faults(found) == {
        "unlabeled": 2,
        "superseded": 2,
        "repeated-checkpoints": 1,
        "repeated-headers": 1,
    }


def test_rows_after_the_last_finished_checkpoint_have_none(imported: Import) -> None:
    found = imported(questions=[*log(), logged(row("q3"), 25)], progress=[*progress()[:-1]])

    assert faults(found) == {"unlabeled": 4, "unfinished": 1}
    assert not found.card.complete


def test_of_a_question_logged_twice_the_later_row_holds(imported: Import) -> None:
    rows = [logged(row("q1", (0, 0, 0)), 3), *log()]

    found = imported(questions=rows, progress=progress())

    assert found.mean == 4.5
    assert faults(found) == {"unlabeled": 5, "superseded": 1}


def test_more_rows_than_were_asked_are_refused_and_never_chosen_from(imported: Import) -> None:
    rows = [*log(), logged(row("q3", (0, 0, 0)), 15)]

    with pytest.raises(
        DataError, match="2 questions were asked according to the record and 3 are on file"
    ):
        imported(questions=rows, progress=progress())


def test_fewer_rows_than_were_asked_are_counted(imported: Import) -> None:
    found = imported(questions=log()[:-1], progress=progress())

    assert faults(found) == {"unlabeled": 3, "short": 1, "means": 2}
    assert not found.card.complete


def test_a_checkpoint_asked_after_the_memory_had_lived_past_it_is_marked(
    imported: Import,
) -> None:
    lines = [header(0, (12,)), reached(10, 12, TWELVE), header(30, (6, 12)), reached(40, 6, SIX)]
    rows = [logged(each, 5) for each in TWELVE] + [logged(each, 35) for each in SIX]

    found = imported(questions=rows, progress=[*lines, summary(41)])

    assert faults(found)["too-full"] == 1


def test_a_clock_that_was_set_back_within_a_checkpoint_is_marked(
    imported: Import,
) -> None:
    late = [log()[1], log()[0], *log()[2:]]

    assert faults(imported(questions=late, progress=progress())) == {"unlabeled": 4, "clocks": 1}


def test_progress_that_goes_back_in_time_places_nothing(imported: Import) -> None:
    lines = [header(0, (6, 12)), reached(20, 6, SIX), reached(10, 12, TWELVE)]

    with pytest.raises(DataError, match="goes back from"):
        imported(questions=log(), progress=lines)


def test_feeding_times_are_those_of_the_checkpoint(imported: Import, opened: Opened) -> None:
    found = imported(questions=log(), progress=progress(ingestMs=3000, newDaysIngested=6))

    clocks = opened().states.scenarios["ada"].times
    assert [(clock.days_fed, clock.ingest_s) for clock in clocks] == [(6, 3.0), (6, 3.0)]
    assert faults(found) == {"unlabeled": 4, "shared-times": 12}


def test_feeding_is_reported_by_days_whatever_the_order_of_the_result(
    imported: Import, opened: Opened
) -> None:
    imported(
        result=result([part(12, TWELVE), part(6, SIX)]),
        progress=progress(ingestMs=3000, newDaysIngested=6),
    )

    clocks = opened().states.scenarios["ada"].times
    assert [clock.days_fed for clock in clocks] == [6, 6]


def test_a_torn_last_line_is_what_a_killed_harness_leaves(
    imported: Import, files: Callable[..., Path]
) -> None:
    path = files(questions=log()) / "questions.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + '{"timestamp": "2026-', encoding="utf-8")

    assert imported(progress=progress()).evaluations == 4


def test_a_broken_line_is_named(files: Callable[..., Path], imported: Import) -> None:
    bad = log()
    bad[1]["score"]["correctness"] = 7

    try:
        with pytest.raises(DataError, match=r"questions\.jsonl, line 2: Expected `int` <= 3"):
            imported(questions=bad, progress=progress())
    finally:
        bad[1]["score"]["correctness"] = 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param({"progress": progress()}, "recall-bench report heatmap", id="means alone"),
        pytest.param({"questions": log()}, "does not name the checkpoint", id="no times"),
        pytest.param(
            {"failures": [reviewed(row("q1", primaryScore=FIRST), 5)]},
            "only answers that were reviewed",
            id="reviews alone",
        ),
    ],
)
def test_what_is_not_enough_says_what_is_missing(
    imported: Import, content: dict[str, list[Row]], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        imported(**content)


def test_the_log_fills_in_what_a_continued_run_left_out_of_its_result(
    imported: Import, opened: Opened
) -> None:
    bare = part(6, SIX) | {"questionResults": []}

    found = imported(result=result([bare, part(12, TWELVE)]), questions=log(), progress=progress())

    assert [each.overall.mean for each in summarise(opened()).checkpoints] == [3.0, 6.0]
    assert faults(found) == {"unlabeled": 4}
    assert found.card.complete


def test_first_verdicts_that_a_reconstructed_result_lacks_come_from_the_failure_log(
    imported: Import, opened: Opened
) -> None:
    restored, confirmed = (
        row("q1", (3, 2, 1), primaryScore=FIRST),
        row("q2", (0, 0, 0), primaryScore=FIRST),
    )
    lines = [reviewed(restored, 5), reviewed(confirmed, 6)]
    pieced = reconstructed(result([part(6, [restored, confirmed])], appellateJudgeModel="a"))

    found = imported(result=pieced, failures=lines)

    outcomes = [each.outcome for each in opened().results("ada")]
    assert [isinstance(o, Judged) and o.primary is not None for o in outcomes] == [True, True]
    assert faults(found) == {
        "restored-reviews": 2,
        "reviews-not-failures": 1,
        "reconstructed": 1,
    }
    assert summarise(opened()).overall.mean == 3.0


def test_a_review_that_fits_several_evaluations_is_given_to_none(imported: Import) -> None:
    """The same answer, marks and time at two checkpoints, and one review."""
    again = row("q1", (1, 0, 1))
    line = reviewed(again | {"primaryScore": FIRST}, 5)

    found = imported(result=result([part(6, [again]), part(12, [again])]), failures=[line])

    assert faults(found) == {"ambiguous": 1}


def test_a_log_of_another_run_adds_nothing(imported: Import) -> None:
    strange = logged(row("q1", (0, 0, 0), answer="Plum."), 5)

    found = imported(result=result([part(6, [row("q1")])]), questions=[strange])

    assert (found.mean, faults(found)) == (6.0, {"disagreeing": 1})


def retrieved(path: str) -> list[Row]:
    return [{"path": path, "score": 0.7, "snippet": "The cat.", "citation": {"line": 3}}]


def test_passages_come_from_the_log_with_the_day_their_path_names(
    imported: Import, opened: Opened
) -> None:
    lines = [
        logged(SIX[0], 4, retrieval=retrieved("ada/2026-01-15:day-0004.md")),
        logged(SIX[1], 5, retrieval=retrieved("MEMORY.md"), toolCalls=[{"name": "search"}]),
    ]

    found = imported(result=result([part(6, SIX)]), questions=lines)

    answers = [each.answered for each in opened().results("ada")]
    passages = [each.answer.passages[0] for each in answers if isinstance(each, Answered)]
    assert [(each.day, each.text) for each in passages] == [(4, "The cat."), (None, "The cat.")]
    assert answers[1] is not None
    assert answers[1].answer.tool_calls == ({"name": "search"},)
    assert faults(found) == {}


def test_passages_that_only_some_answers_have_are_left_out(
    imported: Import, opened: Opened
) -> None:
    """Otherwise the others would look as if their system had found nothing."""
    lines = [logged(SIX[0], 4, retrieval=retrieved("day-0004.md")), logged(SIX[1], 5)]

    found = imported(result=result([part(6, SIX)]), questions=lines)

    answers = [each.answered for each in opened().results("ada")]
    assert [each is not None and each.answer.passages for each in answers] == [(), ()]
    assert faults(found) == {"passages": 1}


def test_files_are_known_by_what_they_hold(tmp_path: Path) -> None:
    named = [
        save(tmp_path / "bench-17.jsonl", log()),
        save(tmp_path / "bench-17.progress.jsonl", progress()),
    ]

    assert import_run(named, tmp_path / "run").evaluations == 4


def test_two_files_of_a_kind_are_two_runs(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        save(tmp_path / name, log())

    with pytest.raises(UsageError, match="one run at a time"):
        import_run([tmp_path], tmp_path / "run")
