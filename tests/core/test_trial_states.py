"""Where a trial stands is the last word on it, and nothing is counted twice."""

from datetime import UTC, datetime, timedelta

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
from recall_bench.core.scenario import Scenario
from recall_bench.core.trial_states import ReviewChange, TrialState, TrialStates
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
def standings(plan: Plan, scenario: Scenario) -> TrialStates:
    standings = TrialStates(plan)
    standings.apply_event(Declared(at=NOW, scenario="ada", items=scenario.items))
    return standings


def test_a_trial_goes_from_open_to_answered_to_judged(standings: TrialStates) -> None:
    ada = standings.scenarios["ada"]
    assert ada.get_status(0, 0, 0).state is TrialState.OPEN

    standings.apply_event(ANSWERED)
    assert ada.get_status(0, 0, 0).state is TrialState.ANSWERED

    standings.apply_event(judged(2, 1, 0))
    standing = ada.get_status(0, 0, 0)
    assert (standing.state, standing.correctness, standing.completeness, standing.grounded) == (
        TrialState.JUDGED,
        2,
        1,
        0,
    )


@pytest.mark.parametrize("marks", [(c, m, g) for c in range(4) for m in range(3) for g in (0, 1)])
def test_every_verdict_fits_its_byte(standings: TrialStates, marks: tuple[int, int, int]) -> None:
    for event in (ANSWERED, judged(*marks)):
        standings.apply_event(event)

    standing = standings.scenarios["ada"].get_status(0, 0, 0)
    assert (standing.correctness, standing.completeness, standing.grounded) == marks
    assert standing.composite == sum(marks)


def test_a_later_verdict_supersedes_an_earlier_failure(standings: TrialStates) -> None:
    for event in (ANSWERED, UNREADABLE, judged(3, 2, 1)):
        standings.apply_event(event)

    ada = standings.scenarios["ada"]
    assert ada.count_states(TrialState.JUDGED) == 1
    assert ada.count_states(TrialState.NOT_JUDGED) == 0


def test_a_failed_question_is_finished_and_an_unjudged_answer_is_not(
    standings: TrialStates,
) -> None:
    ada = standings.scenarios["ada"]

    standings.apply_event(ANSWERED)
    standings.apply_event(UNREADABLE)
    assert not ada.is_checkpoint_complete(0)

    standings.apply_event(FAILED)
    assert ada.is_checkpoint_complete(0)
    assert not ada.is_checkpoint_complete(1)


def test_a_reopened_failure_is_owed_again_and_the_run_is_not_over(standings: TrialStates) -> None:
    standings.apply_event(FAILED)
    standings.apply_event(RunEnded(at=NOW))

    standings.reset_state(TrialState.NOT_ANSWERED)

    assert standings.scenarios["ada"].list_open_items(0, 0) == [0]
    assert not standings.has_ended


def test_seconds_are_kept_by_checkpoint(standings: TrialStates) -> None:
    standings.apply_event(ANSWERED)

    first, second = standings.scenarios["ada"].times
    assert (first.query_s, second.query_s) == (1.0, 0.0)


def test_questions_at_the_same_time_count_once_and_pauses_do_not(standings: TrialStates) -> None:
    """What the public files call the time of the queries: that on the wall."""
    clock = standings.scenarios["ada"].times[0]
    for end, seconds, in_all in [(4, 4, 4), (5, 4, 5), (5, 1, 5), (9, 1, 6), (8, 0.5, 6)]:
        at = NOW + timedelta(seconds=end)
        standings.apply_event(ANSWERED.replace(at=at, seconds=seconds))
        assert clock.query_s == pytest.approx(in_all)

    read = ANSWERED.replace(at=NOW + timedelta(seconds=30), seconds=1.0, reading_s=10.0)
    standings.apply_event(read)
    standings.apply_event(FAILED.replace(at=NOW + timedelta(seconds=21)))
    assert clock.query_s == pytest.approx(6 + 1 + 1)


CALL = Usage(calls=1, cost_usd=0.5)


def test_costs_add_up_for_every_outcome(standings: TrialStates) -> None:
    reviewed = judged(3, 2, 1).replace(usage=CALL + CALL, review_usage=CALL)
    for event in (
        ANSWERED,
        Paid(at=NOW, trial=TRIAL, usage=CALL),
        UNREADABLE.replace(usage=CALL),
        reviewed,
    ):
        standings.apply_event(event)

    assert standings.usage == Usage(calls=4, cost_usd=2.0)
    assert standings.review_usage == CALL
    assert standings.scenarios["ada"].count_states(TrialState.JUDGED) == 1


@pytest.mark.parametrize("marks", [(c, m, g) for c in range(4) for m in range(3) for g in (0, 1)])
def test_a_first_verdict_fails_in_its_byte_as_it_does_in_words(
    standings: TrialStates, marks: tuple[int, int, int]
) -> None:
    event = judged(*marks)
    standings.apply_event(ANSWERED)
    standings.apply_event(event)

    assert standings.scenarios["ada"].is_first_verdict_failure(0) is event.verdict.is_failure


def test_a_trial_without_a_verdict_failed_at_nothing(standings: TrialStates) -> None:
    ada = standings.scenarios["ada"]
    for event in (ANSWERED, UNREADABLE, FAILED):
        standings.apply_event(event)
        assert ada.is_first_verdict_failure(0) is None


def test_a_review_is_kept_with_what_the_first_judge_had_said(standings: TrialStates) -> None:
    ada = standings.scenarios["ada"]
    raised = judged(3, 2, 1).replace(primary=Verdict.of(0, 0, 1))
    stands = judged(3, 2, 1).replace(review_fault="JudgeTimeout: late")

    standings.apply_event(ANSWERED)
    standings.apply_event(raised)
    assert (ada.reviews, ada.is_first_verdict_failure(0)) == ({0: ReviewChange(True, 5)}, True)

    standings.apply_event(stands)
    assert (ada.reviews, ada.is_first_verdict_failure(0)) == ({0: ReviewChange(False, None)}, False)

    standings.apply_event(ANSWERED)
    assert ada.reviews == {}


@pytest.mark.parametrize("event", [judged(3, 2, 1), UNREADABLE])
def test_a_verdict_needs_an_answer(standings: TrialStates, event: Judged | NotJudged) -> None:
    with pytest.raises(ValueError, match="judged before it was answered"):
        standings.apply_event(event)
    standings.apply_event(FAILED)
    with pytest.raises(ValueError, match="judged before it was answered"):
        standings.apply_event(event)


def test_other_questions_than_those_of_the_plan_are_refused(plan: Plan, scenario: Scenario) -> None:
    fewer = Declared(at=NOW, scenario="ada", items=scenario.items[:-1])
    with pytest.raises(ValueError, match="questions of 'ada' are not those"):
        TrialStates(plan).apply_event(fewer)


def test_an_imported_scenario_owes_what_was_asked(plan: Plan, scenario: Scenario) -> None:
    standings = TrialStates(plan)
    asked: dict[str, tuple[str, ...]] = {"3d": ("new-name", "old-name")}

    standings.apply_event(Declared(at=NOW, scenario="ada", items=scenario.items, asked=asked))

    ada = standings.scenarios["ada"]
    assert [list(ada.list_owed_trials(row)) for row in (0, 1)] == [[], [(0, 1), (0, 0)]]
