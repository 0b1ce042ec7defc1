"""Which verdicts are reviewed is decided by the seed and the trial, and by nothing that happens."""

from datetime import UTC, datetime
from hashlib import sha256

import pytest

from recall_bench.core.event import (
    Answered,
    Declared,
    Event,
    Judged,
    NotAnswered,
    NotJudged,
    OtherVerdict,
)
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Checkpoint, Plan, ReviewMode, Trial, digest_questions
from recall_bench.core.scenario import Item, Truth
from recall_bench.core.trial_states import TrialStates, find_due_reviews
from recall_bench.core.verdict import JudgeCard, Verdict

NOW = datetime(2024, 1, 1, tzinfo=UTC)
RIGHT, WRONG = Verdict.of(3, 2, 1), Verdict.of(0, 0, 1)

ITEMS = tuple(
    Item(id=f"q{n}", text="?", known_from=1, truth=Truth(reference="r", category="synthesis"))
    for n in range(10)
)
TRIALS = [Trial(scenario="ada", item=item.id, checkpoint="1d") for item in ITEMS]


@pytest.fixture
def plan(plan: Plan) -> Plan:
    (card,) = plan.scenarios
    return plan.replace(
        scenarios=(card.replace(questions_digest=digest_questions(ITEMS)),),
        checkpoints=(Checkpoint(label="1d", days=1),),
        seed=7,
    )


def judged(number: int, verdict: Verdict, **review: object) -> Judged:
    return Judged(at=NOW, trial=TRIALS[number], verdict=verdict).replace(**review)


def fold(plan: Plan, *events: Event) -> TrialStates:
    """All answers, and then these events."""
    states = TrialStates(plan)
    answers = (
        Answered(at=NOW, trial=trial, answer=Answer(text="a"), seconds=1.0) for trial in TRIALS
    )
    for event in (Declared(at=NOW, scenario="ada", items=ITEMS), *answers, *events):
        states.apply_event(event)
    return states


def due(plan: Plan, *events: Event) -> set[str]:
    ada = fold(plan, *events).scenarios["ada"]
    slots = find_due_reviews("ada", ada, plan)
    return {trial.item for trial in TRIALS if ada.find_slot(trial) in slots}


def three_failures() -> list[Judged]:
    return [judged(n, WRONG if n < 3 else RIGHT) for n in range(10)]


def drawn() -> set[str]:
    """The three passes with the lowest sha-256 of seed and trial, by hand."""
    lots = sorted(TRIALS[3:], key=lambda trial: sha256(f"7\0{trial}".encode()).hexdigest())
    return {trial.item for trial in lots[:3]}


def test_failures_are_due_and_the_lowest_lots_among_the_passes(plan: Plan) -> None:
    assert due(plan, *three_failures()) == {"q0", "q1", "q2"} | drawn()


def test_the_order_of_verdicts_does_not_matter(plan: Plan) -> None:
    assert due(plan, *reversed(three_failures())) == {"q0", "q1", "q2"} | drawn()


def test_a_review_that_changes_a_verdict_changes_no_draw(plan: Plan) -> None:
    """A failure that was raised was a failure; a pass that was lowered was a pass."""
    lowered = min(drawn())
    reviewed = [
        judged(0, RIGHT, primary=WRONG),
        judged(int(lowered[1:]), WRONG, primary=RIGHT),
    ]

    assert due(plan, *three_failures(), *reviewed) == {"q1", "q2"} | (drawn() - {lowered})


def test_a_failed_review_is_not_due_again_and_still_counts(plan: Plan) -> None:
    fault = judged(0, WRONG, review_fault="JudgeTimeout: late")

    assert due(plan, *three_failures(), fault) == {"q1", "q2"} | drawn()


@pytest.mark.parametrize("is_judged", [False, True])
def test_no_pass_is_drawn_while_a_trial_has_no_outcome(plan: Plan, is_judged: bool) -> None:
    events: list[Event] = list(three_failures()[:9])
    if is_judged:
        events.append(NotJudged(at=NOW, trial=TRIALS[9], fault="JudgeTimeout", message="late"))

    assert due(plan, *events) == {"q0", "q1", "q2"}


def test_a_question_that_failed_has_its_outcome(plan: Plan) -> None:
    failed = NotAnswered(at=NOW, trial=TRIALS[9], fault="SystemFault", message="?", seconds=1.0)

    assert len(due(plan, *three_failures()[:9], failed)) == 6


def test_passes_are_not_drawn_where_failures_alone_are_reviewed(plan: Plan) -> None:
    assert due(plan.replace(review=ReviewMode.FAILURES), *three_failures()) == {"q0", "q1", "q2"}


def test_a_run_is_done_once_nothing_is_due(plan: Plan) -> None:
    verdicts = three_failures()
    reviewed = plan.replace(
        appellate=JudgeCard(name="second", version="1"), review=ReviewMode.FAILURES
    )
    reviews = [judged(n, WRONG, primary=WRONG) for n in range(3)]
    several = plan.replace(other_judges=(JudgeCard(name="other", version="1"),))
    others = [OtherVerdict(at=NOW, trial=trial, judge=0, verdict=RIGHT) for trial in TRIALS]

    assert not TrialStates(plan).is_done
    assert not fold(plan, *verdicts[:-1]).is_done
    assert fold(plan, *verdicts).is_done
    assert not fold(reviewed, *verdicts, *reviews[:-1]).is_done
    assert fold(reviewed, *verdicts, *reviews).is_done
    assert not fold(several, *verdicts, *others[:-1]).is_done
    assert fold(several, *verdicts, *others).is_done
