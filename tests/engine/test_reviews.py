"""Every failure is reviewed, and as many passes drawn by lot; the second verdict is final."""

from collections import Counter

import pytest

from recall_bench.core.errors import SystemFault, UnreadableVerdict
from recall_bench.core.event import Judged, RunEnded
from recall_bench.core.plan import Plan, ReviewMode, Trial
from recall_bench.core.trial_states import TrialState, find_due_reviews
from recall_bench.core.verdict import Exhibit, Verdict
from tests.engine.many import FAIL, PASS, QUESTIONS, Ruled, fails_below, many, parrot
from tests.engine.test_resume import Fuse, PowerCut
from tests.faulty.fakes import ScriptedSystem
from tests.fixtures.running import Rehearsal

pytestmark = pytest.mark.anyio

FAILURES = 3


def judges() -> tuple[Ruled, Ruled]:
    """The first fails three of twelve; the second fails one of these and every even pass."""
    return Ruled(fails_below(FAILURES)), Ruled(lambda n: PASS if n == 1 or n % 2 else FAIL)


def final(rehearsal: Rehearsal) -> dict[Trial, tuple[Verdict, Verdict | None, str | None]]:
    """The last word on each trial."""
    return {
        event.trial: (event.verdict, event.primary, event.review_fault)
        for event in rehearsal.journal
        if isinstance(event, Judged)
    }


def reviewed(rehearsal: Rehearsal) -> set[str]:
    return {trial.item for trial, (_, primary, _) in final(rehearsal).items() if primary}


async def test_as_many_passes_as_failures_are_reviewed(plan: Plan) -> None:
    run = many(plan)
    first, second = judges()

    await run.run(parrot(), first, appellate=second)

    assert len(first.seen) == QUESTIONS
    assert len(second.seen) == len(set(second.seen)) == 2 * FAILURES
    assert {"many/q0", "many/q1", "many/q2"} <= set(second.seen)
    assert len(reviewed(run)) == 2 * FAILURES


async def test_a_pass_is_reviewed_in_a_second_event_with_both_verdicts(plan: Plan) -> None:
    run = many(plan)
    first, second = judges()

    await run.run(parrot(), first, appellate=second)

    events = [event for event in run.journal if isinstance(event, Judged)]
    assert len(events) == QUESTIONS + FAILURES
    for event in events[QUESTIONS:]:
        assert event.primary == PASS
        assert event.verdict == (PASS if int(event.trial.item[1:]) % 2 else FAIL)
    assert isinstance(run.journal[-1], RunEnded)


async def test_a_pass_that_is_lowered_stays_lowered(plan: Plan) -> None:
    run = many(plan)

    states = await run.run(parrot(), Ruled(fails_below(6)), appellate=Ruled(lambda n: FAIL))

    assert states.scenarios["many"].grid.count(TrialState.JUDGED | 1 << 7) == QUESTIONS


async def test_failures_alone_are_reviewed_where_the_plan_says_so(plan: Plan) -> None:
    run = many(plan, review=ReviewMode.FAILURES)
    first, second = judges()

    await run.run(parrot(), first, appellate=second)

    assert sorted(second.seen) == ["many/q0", "many/q1", "many/q2"]
    assert len(run.of(Judged)) == QUESTIONS


async def test_more_failures_than_passes_send_every_pass_to_review(plan: Plan) -> None:
    run = many(plan)

    await run.run(parrot(), Ruled(fails_below(9)), appellate=Ruled(lambda n: PASS))

    assert len(reviewed(run)) == QUESTIONS


async def test_without_an_appellate_judge_nothing_is_reviewed(plan: Plan) -> None:
    run = many(plan)

    states = await run.run(parrot(), judges()[0])

    assert states.has_ended
    assert not reviewed(run)


async def test_the_draw_depends_on_the_seed_and_on_nothing_that_happens(plan: Plan) -> None:
    drawn = []
    for seed, parallelism in ((1, 1), (1, 5), (2, 1)):
        run = many(plan, seed=seed)
        first, second = judges()
        await run.run(parrot(), first, appellate=second, parallelism=parallelism)
        drawn.append(reviewed(run))

    assert drawn[0] == drawn[1] != drawn[2]


async def test_scenarios_draw_apart(plan: Plan) -> None:
    """Seven of each twelve fail: five passes are left to draw from, and all are drawn."""
    run = many(plan, "ada", "bob")
    second = Ruled(lambda n: PASS)

    await run.run(parrot(), Ruled(fails_below(7)), appellate=second)

    assert len(second.seen) == 2 * QUESTIONS


async def test_a_failing_review_leaves_the_first_verdict_and_says_so(plan: Plan) -> None:
    run = many(plan)
    second = Ruled(lambda n: UnreadableVerdict("no JSON"))

    states = await run.run(parrot(), judges()[0], appellate=second)

    faults = [each for each in final(run).values() if each[2] is not None]
    assert len(faults) == 2 * FAILURES
    assert all(each[1] is None for each in faults)
    assert {each[2] for each in faults} == {"UnreadableVerdict: no JSON"}
    assert states.has_ended


async def test_passes_wait_until_every_trial_has_its_outcome(plan: Plan) -> None:
    """Two answers cannot be judged; which passes are drawn must not depend on that."""
    whole, broken = many(plan), many(plan)
    first, second = judges()
    await whole.run(parrot(), first, appellate=second)

    babbler = Ruled(lambda n: UnreadableVerdict("?") if n > 9 else fails_below(FAILURES)(n))
    states = await broken.run(parrot(), babbler, appellate=second)
    assert not states.has_ended
    assert reviewed(broken) == {"q0", "q1", "q2"}

    states = await broken.run(parrot(), first, appellate=second)
    assert states.has_ended
    assert final(broken) == final(whole)


async def test_an_unanswered_question_is_an_outcome_and_no_verdict(plan: Plan) -> None:
    def reply(lived: object, question: object) -> str:
        text = getattr(question, "text", "")
        if int(text) > 8:
            raise SystemFault("down")
        return str(text)

    run = many(plan)
    first, second = judges()

    states = await run.run(ScriptedSystem(reply), first, appellate=second)

    assert states.has_ended
    assert len(reviewed(run)) == 2 * FAILURES


@pytest.mark.parametrize("holds", range(4 + 2 * QUESTIONS + FAILURES + 1))
@pytest.mark.parametrize("parallelism", [1, 4])
async def test_a_power_cut_after_any_event_changes_no_outcome(
    plan: Plan, holds: int, parallelism: int
) -> None:
    whole, cut = many(plan), many(plan)
    first, second = judges()
    await whole.run(parrot(), first, appellate=second)

    cut.record = Fuse(holds)
    for _ in range(2):
        try:
            await cut.run(parrot(), first, appellate=second, parallelism=parallelism)
        except (PowerCut, BaseExceptionGroup):
            cut.record = None

    assert final(cut) == final(whole)
    assert len(cut.of(Judged)) == len(whole.of(Judged))
    assert isinstance(cut.journal[-1], RunEnded)


async def test_every_event_of_a_reviewed_run_was_cut_at(plan: Plan) -> None:
    """The range of the test above reaches past the last event."""
    run = many(plan)
    first, second = judges()

    await run.run(parrot(), first, appellate=second)

    assert len(run.journal) == 4 + 2 * QUESTIONS + FAILURES


async def test_an_ended_run_owes_no_review(plan: Plan) -> None:
    run = many(plan)
    first, second = judges()

    states = await run.run(parrot(), first, appellate=second)

    assert find_due_reviews("many", states.scenarios["many"], run.plan) == frozenset()


class Unplugged(BaseException):
    """Not an Exception: it ends the process."""


async def test_a_failure_whose_review_was_cut_off_is_reviewed_later_and_not_judged_again(
    plan: Plan,
) -> None:
    """Whatever ends the process while the second judge thinks, the first verdict is on record."""
    run = many(plan)
    first, second = judges()

    class Unplugging(Ruled):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            raise Unplugged

    with pytest.raises(BaseExceptionGroup):
        await run.run(parrot(), first, appellate=Unplugging(lambda n: PASS))
    for _ in range(2):
        await run.run(parrot(), first, appellate=second)

    failures = [f"q{n}" for n in range(FAILURES)]
    events = Counter(e.trial.item for e in run.journal if isinstance(e, Judged))
    assert sorted(events[item] for item in failures) == [1, 1, 2]
    assert all(first.seen.count(f"many/{item}") == 1 for item in failures)
    assert len(reviewed(run)) == 2 * FAILURES
