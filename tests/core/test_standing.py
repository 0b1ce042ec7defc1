"""Where a trial stands is the last word on it, and nothing is counted twice."""

from datetime import UTC, datetime

import pytest

from recall_bench.core.event import (
    Answered,
    Declared,
    Judged,
    NotAnswered,
    NotJudged,
    Paid,
    RunEnded,
)
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.question import Scenario
from recall_bench.core.standing import Reviewed, Standings, State
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict

NOW = datetime(2024, 1, 1, tzinfo=UTC)
TRIAL = Trial(scenario="ada", item="old-name", checkpoint="2d")
ANSWERED = Answered(at=NOW, trial=TRIAL, answer=Answer(text="Fig"), seconds=1.0)
FAILED = NotAnswered(at=NOW, trial=TRIAL, fault="SystemTimeout", message="late", seconds=2.0)
UNREADABLE = NotJudged(at=NOW, trial=TRIAL, fault="UnreadableVerdict", message="?")


def judged(correctness: int, completeness: int, grounded: int) -> Judged:
    return Judged(at=NOW, trial=TRIAL, verdict=Verdict.of(correctness, completeness, grounded))


@pytest.fixture
def standings(plan: Plan, scenario: Scenario) -> Standings:
    standings = Standings(plan)
    standings.note(Declared(at=NOW, scenario="ada", items=scenario.items))
    return standings


def test_a_trial_goes_from_open_to_answered_to_judged(standings: Standings) -> None:
    ada = standings.scenarios["ada"]
    assert ada.standing(0, 0, 0).state is State.OPEN

    standings.note(ANSWERED)
    assert ada.standing(0, 0, 0).state is State.ANSWERED

    standings.note(judged(2, 1, 0))
    standing = ada.standing(0, 0, 0)
    assert (standing.state, standing.correctness, standing.completeness, standing.grounded) == (
        State.JUDGED,
        2,
        1,
        0,
    )


@pytest.mark.parametrize("marks", [(c, m, g) for c in range(4) for m in range(3) for g in (0, 1)])
def test_every_verdict_fits_its_byte(standings: Standings, marks: tuple[int, int, int]) -> None:
    standings.note(judged(*marks))

    standing = standings.scenarios["ada"].standing(0, 0, 0)
    assert (standing.correctness, standing.completeness, standing.grounded) == marks
    assert standing.composite == sum(marks)


def test_a_later_verdict_supersedes_an_earlier_failure(standings: Standings) -> None:
    for event in (ANSWERED, UNREADABLE, judged(3, 2, 1)):
        standings.note(event)

    ada = standings.scenarios["ada"]
    assert ada.count(State.JUDGED) == 1
    assert ada.count(State.NOT_JUDGED) == 0


def test_a_failed_question_is_finished_and_an_unjudged_answer_is_not(
    standings: Standings,
) -> None:
    ada = standings.scenarios["ada"]

    standings.note(UNREADABLE)
    assert not ada.is_complete(0)

    standings.note(FAILED)
    assert ada.is_complete(0)
    assert not ada.is_complete(1)


def test_a_reopened_failure_is_owed_again_and_the_run_is_not_over(standings: Standings) -> None:
    standings.note(FAILED)
    standings.note(RunEnded(at=NOW))

    standings.reopen(State.NOT_ANSWERED)

    assert standings.scenarios["ada"].unasked(0, 0) == [0]
    assert not standings.ended


def test_seconds_are_kept_by_checkpoint(standings: Standings) -> None:
    standings.note(ANSWERED)

    first, second = standings.scenarios["ada"].clocks
    assert (first.query_s, second.query_s) == (1.0, 0.0)


CALL = Usage(calls=1, cost_usd=0.5)


def test_what_was_paid_adds_up_whatever_came_of_it(standings: Standings) -> None:
    reviewed = judged(3, 2, 1).but(usage=CALL + CALL, review_usage=CALL)
    for event in (
        ANSWERED,
        Paid(at=NOW, trial=TRIAL, usage=CALL),
        UNREADABLE.but(usage=CALL),
        reviewed,
    ):
        standings.note(event)

    assert standings.usage == Usage(calls=4, cost_usd=2.0)
    assert standings.review_usage == CALL
    assert standings.scenarios["ada"].count(State.JUDGED) == 1


@pytest.mark.parametrize("marks", [(c, m, g) for c in range(4) for m in range(3) for g in (0, 1)])
def test_a_first_verdict_fails_in_its_byte_as_it_does_in_words(
    standings: Standings, marks: tuple[int, int, int]
) -> None:
    event = judged(*marks)
    standings.note(event)

    assert standings.scenarios["ada"].failed_at_first(0) is event.verdict.is_failure


def test_a_trial_without_a_verdict_failed_at_nothing(standings: Standings) -> None:
    ada = standings.scenarios["ada"]
    for event in (ANSWERED, UNREADABLE, FAILED):
        standings.note(event)
        assert ada.failed_at_first(0) is None


def test_a_review_is_kept_with_what_the_first_judge_had_said(standings: Standings) -> None:
    ada = standings.scenarios["ada"]
    raised = judged(3, 2, 1).but(primary=Verdict.of(0, 0, 1))
    stands = judged(3, 2, 1).but(review_fault="JudgeTimeout: late")

    standings.note(raised)
    assert (ada.reviewed, ada.failed_at_first(0)) == ({0: Reviewed(True, 5)}, True)

    standings.note(stands)
    assert (ada.reviewed, ada.failed_at_first(0)) == ({0: Reviewed(False, None)}, False)

    standings.note(ANSWERED)
    assert ada.reviewed == {}


def test_an_imported_scenario_owes_what_was_asked(plan: Plan, scenario: Scenario) -> None:
    standings = Standings(plan)
    asked: dict[str, tuple[str, ...]] = {"3d": ("new-name", "old-name")}

    standings.note(Declared(at=NOW, scenario="ada", items=scenario.items, asked=asked))

    ada = standings.scenarios["ada"]
    assert [list(ada.owed(row)) for row in (0, 1)] == [[], [(0, 1), (0, 0)]]
