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
def states(plan: Plan, scenario: Scenario) -> TrialStates:
    states = TrialStates(plan)
    states.apply_event(Declared(at=NOW, scenario="ada", items=scenario.items))
    return states


def test_a_trial_goes_from_open_to_answered_to_judged(states: TrialStates) -> None:
    ada = states.scenarios["ada"]
    assert ada.get_status(0, 0, 0).state is TrialState.OPEN

    states.apply_event(ANSWERED)
    assert ada.get_status(0, 0, 0).state is TrialState.ANSWERED

    states.apply_event(judged(2, 1, 0))
    status = ada.get_status(0, 0, 0)
    assert (status.state, status.correctness, status.completeness, status.grounded) == (
        TrialState.JUDGED,
        2,
        1,
        0,
    )


@pytest.mark.parametrize("marks", [(c, m, g) for c in range(4) for m in range(3) for g in (0, 1)])
def test_every_verdict_fits_its_byte(states: TrialStates, marks: tuple[int, int, int]) -> None:
    for event in (ANSWERED, judged(*marks)):
        states.apply_event(event)

    status = states.scenarios["ada"].get_status(0, 0, 0)
    assert (status.correctness, status.completeness, status.grounded) == marks
    assert status.composite == sum(marks)


def test_a_later_verdict_supersedes_an_earlier_failure(states: TrialStates) -> None:
    for event in (ANSWERED, UNREADABLE, judged(3, 2, 1)):
        states.apply_event(event)

    ada = states.scenarios["ada"]
    assert ada.count_states(TrialState.JUDGED) == 1
    assert ada.count_states(TrialState.NOT_JUDGED) == 0


def test_a_failed_question_is_finished_and_an_unjudged_answer_is_not(
    states: TrialStates,
) -> None:
    ada = states.scenarios["ada"]

    states.apply_event(ANSWERED)
    states.apply_event(UNREADABLE)
    assert not ada.is_checkpoint_complete(0)

    states.apply_event(FAILED)
    assert ada.is_checkpoint_complete(0)
    assert not ada.is_checkpoint_complete(1)


def test_a_reopened_failure_is_owed_again_and_the_run_is_not_over(states: TrialStates) -> None:
    states.apply_event(FAILED)
    states.apply_event(RunEnded(at=NOW))

    states.reset_state(TrialState.NOT_ANSWERED)

    assert states.scenarios["ada"].list_open_items(0, 0) == [0]
    assert not states.has_ended


def test_seconds_are_kept_by_checkpoint(states: TrialStates) -> None:
    states.apply_event(ANSWERED)

    first, second = states.scenarios["ada"].times
    assert (first.query_s, second.query_s) == (1.0, 0.0)


def test_questions_at_the_same_time_count_once_and_pauses_do_not(states: TrialStates) -> None:
    """What the public files call the time of the queries: that on the wall."""
    clock = states.scenarios["ada"].times[0]
    for end, seconds, in_all in [(4, 4, 4), (5, 4, 5), (5, 1, 5), (9, 1, 6), (8, 0.5, 6)]:
        at = NOW + timedelta(seconds=end)
        states.apply_event(ANSWERED.replace(at=at, seconds=seconds))
        assert clock.query_s == pytest.approx(in_all)

    read = ANSWERED.replace(at=NOW + timedelta(seconds=30), seconds=1.0, reading_s=10.0)
    states.apply_event(read)
    states.apply_event(FAILED.replace(at=NOW + timedelta(seconds=21)))
    assert clock.query_s == pytest.approx(6 + 1 + 1)


CALL = Usage(calls=1, cost_usd=0.5)


def test_costs_add_up_for_every_outcome(states: TrialStates) -> None:
    reviewed = judged(3, 2, 1).replace(usage=CALL + CALL, review_usage=CALL)
    for event in (
        ANSWERED,
        Paid(at=NOW, trial=TRIAL, usage=CALL),
        UNREADABLE.replace(usage=CALL),
        reviewed,
    ):
        states.apply_event(event)

    assert states.usage == Usage(calls=4, cost_usd=2.0)
    assert states.review_usage == CALL
    assert states.scenarios["ada"].count_states(TrialState.JUDGED) == 1


@pytest.mark.parametrize("marks", [(c, m, g) for c in range(4) for m in range(3) for g in (0, 1)])
def test_a_first_verdict_fails_in_its_byte_as_it_does_in_words(
    states: TrialStates, marks: tuple[int, int, int]
) -> None:
    event = judged(*marks)
    states.apply_event(ANSWERED)
    states.apply_event(event)

    assert states.scenarios["ada"].is_first_verdict_failure(0) is event.verdict.is_failure


def test_a_trial_without_a_verdict_failed_at_nothing(states: TrialStates) -> None:
    ada = states.scenarios["ada"]
    for event in (ANSWERED, UNREADABLE, FAILED):
        states.apply_event(event)
        assert ada.is_first_verdict_failure(0) is None


def test_a_review_is_kept_with_what_the_first_judge_had_said(states: TrialStates) -> None:
    ada = states.scenarios["ada"]
    raised = judged(3, 2, 1).replace(primary=Verdict.of(0, 0, 1))
    stands = judged(3, 2, 1).replace(review_fault="JudgeTimeout: late")

    states.apply_event(ANSWERED)
    states.apply_event(raised)
    assert (ada.reviews, ada.is_first_verdict_failure(0)) == ({0: ReviewChange(True, 5)}, True)

    states.apply_event(stands)
    assert (ada.reviews, ada.is_first_verdict_failure(0)) == ({0: ReviewChange(False, None)}, False)

    states.apply_event(ANSWERED)
    assert ada.reviews == {}


@pytest.mark.parametrize("event", [judged(3, 2, 1), UNREADABLE])
def test_a_verdict_needs_an_answer(states: TrialStates, event: Judged | NotJudged) -> None:
    with pytest.raises(ValueError, match="judged before it was answered"):
        states.apply_event(event)
    states.apply_event(FAILED)
    with pytest.raises(ValueError, match="judged before it was answered"):
        states.apply_event(event)


def test_other_questions_than_those_of_the_plan_are_refused(plan: Plan, scenario: Scenario) -> None:
    fewer = Declared(at=NOW, scenario="ada", items=scenario.items[:-1])
    with pytest.raises(ValueError, match="questions of 'ada' are not those"):
        TrialStates(plan).apply_event(fewer)


def test_an_imported_scenario_owes_what_was_asked(plan: Plan, scenario: Scenario) -> None:
    states = TrialStates(plan)
    asked: dict[str, tuple[str, ...]] = {"3d": ("new-name", "old-name")}

    states.apply_event(Declared(at=NOW, scenario="ada", items=scenario.items, asked=asked))

    ada = states.scenarios["ada"]
    assert [list(ada.list_owed_trials(row)) for row in (0, 1)] == [[], [(0, 1), (0, 0)]]
