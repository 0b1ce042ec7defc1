"""A judge that can judge nothing ends the run; no answer is held unjudged because of it."""

import anyio
import pytest

from recall_bench.core.errors import JudgeGone
from recall_bench.core.event import Answered, Judged, NotJudged, Paid, RunEnded
from recall_bench.core.plan import Plan
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import Exhibit, Verdict
from tests.engine.many import CALL, PASS, QUESTIONS, Ruled, fails_below, many, parrot
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem

pytestmark = pytest.mark.anyio


async def test_no_other_scenario_is_begun_once_the_judge_is_gone(plan: Plan) -> None:
    run = many(plan, "ada", "bob")

    class Slow(ScriptedMemory):
        async def close(self) -> None:
            await anyio.sleep(0.02)
            await super().close()

    class System(ScriptedSystem):
        async def open(self, scenario: str) -> ScriptedMemory:
            assert scenario == "ada"
            return Slow(lambda lived, question: question.text)

    with pytest.raises(JudgeGone):
        await run.run(System(lambda lived, question: ""), Ruled(lambda n: JudgeGone("no key")))

    assert 0 < len(run.of(Answered)) <= QUESTIONS


async def test_a_judge_that_is_gone_ends_the_run_and_holds_nothing_unjudged(plan: Plan) -> None:
    run = many(plan)
    away = Ruled(lambda n: JudgeGone("no such model"))

    with pytest.raises(JudgeGone, match="no such model") as gone:
        await run.run(parrot(), away)

    assert gone.value.exit_code == 6
    assert run.of(Judged) == run.of(NotJudged) == run.of(RunEnded) == []
    assert len(away.seen) == 1
    assert run.of(Answered)

    states = await run.run(parrot(), Ruled(lambda n: PASS))

    assert states.has_ended
    assert len(run.of(Answered)) == QUESTIONS


async def test_an_appellate_judge_that_is_gone_ends_the_run_and_keeps_first_verdicts(
    plan: Plan,
) -> None:
    run = many(plan)
    first = Ruled(fails_below(3), computes=True)

    with pytest.raises(JudgeGone):
        await run.run(parrot(), first, appellate=Ruled(lambda n: JudgeGone("no key")))
    states = await run.run(parrot(), first, appellate=Ruled(lambda n: PASS))

    assert states.has_ended
    assert len(first.seen) == QUESTIONS
    assert sum(isinstance(e, Judged) and e.primary is not None for e in run.journal) == 6


async def test_what_a_judge_cost_before_it_went_is_on_record(plan: Plan) -> None:
    run = many(plan)

    with pytest.raises(JudgeGone):
        await run.run(parrot(), Ruled(lambda n: JudgeGone("key withdrawn"), charge=CALL))

    assert [event.usage for event in run.journal if isinstance(event, Paid)] == [CALL]
    assert run.fold_states().usage == CALL
    assert (
        run.fold_states().scenarios["many"].count_states(TrialState.JUDGED, TrialState.NOT_JUDGED)
        == 0
    )


async def test_verdicts_under_way_when_the_judge_goes_are_kept(plan: Plan) -> None:
    run = many(plan)
    gone = anyio.Event()

    class Uneven(Ruled):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            if len(self.seen) == 1:
                gone.set()
                raise JudgeGone("quota")
            self.seen.append(exhibit.item.id)
            await gone.wait()
            await anyio.sleep(0.01)
            return PASS

    with pytest.raises(JudgeGone):
        await run.run(parrot(), Uneven(lambda n: PASS), parallelism=2)

    assert len(run.of(Judged)) == 1


async def test_no_verdict_is_begun_after_the_judge_has_gone(plan: Plan) -> None:
    """Others wait for their turn when it goes: they must not have it."""
    run = many(plan, "ada", "bob", "cid")

    class Going(Ruled):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            self.seen.append(exhibit.item.id)
            await anyio.sleep(0.01)
            raise JudgeGone("quota")

    judge = Going(lambda n: PASS)
    with pytest.raises(JudgeGone):
        await run.run(parrot(), judge, parallelism=2)

    assert len(judge.seen) == 2
