"""Recorded answers can be judged without the system; what was never answered stays open."""

from contextlib import suppress

import pytest

from recall_bench.core.errors import JudgeFault, SystemGone
from recall_bench.core.event import Answered, Judged, NotJudged, RunEnded
from recall_bench.core.plan import Plan
from recall_bench.core.scenario import Question
from recall_bench.core.trial_states import TrialState
from tests.engine.many import PASS, QUESTIONS, Ruled, fails_below, many, parrot
from tests.faulty.fakes import ScriptedSystem
from tests.fixtures.running import Rehearsal

pytestmark = pytest.mark.anyio


async def recorded(plan: Plan, answers: int) -> Rehearsal:
    """A run with this many answers and no verdict."""
    run, asked = many(plan), 0

    def reply(lived: object, question: Question) -> str:
        nonlocal asked
        if asked == answers:
            raise SystemGone("no server there")
        asked += 1
        return question.text

    with suppress(SystemGone):
        await run.run(ScriptedSystem(reply), Ruled(lambda n: JudgeFault("no key")))
    run.journal[:] = [event for event in run.journal if not isinstance(event, NotJudged | RunEnded)]
    assert len(run.of(Answered)) == answers
    assert not run.of(Judged)
    return run


async def test_nothing_is_fed_or_asked_and_what_was_never_answered_stays_open(plan: Plan) -> None:
    run = await recorded(plan, answers=5)
    before, system = len(run.journal), parrot()

    states = await run.run(system, Ruled(lambda n: PASS), asks=False)

    assert system.opened == []
    assert {type(event) for event in run.journal[before:]} == {Judged}
    found = states.scenarios["many"]
    assert (found.count_states(TrialState.JUDGED), found.count_states(TrialState.OPEN)) == (
        5,
        QUESTIONS - 5,
    )
    assert not states.has_ended


async def test_a_run_with_every_answer_is_judged_reviewed_and_ended(plan: Plan) -> None:
    run = await recorded(plan, answers=QUESTIONS)

    states = await run.run(
        parrot(), Ruled(fails_below(3)), appellate=Ruled(lambda n: PASS), asks=False
    )

    assert states.has_ended
    reviewed = [e for e in run.journal if isinstance(e, Judged) and e.primary is not None]
    assert len(reviewed) == 6


async def test_a_scenario_without_any_answer_is_not_even_loaded(plan: Plan) -> None:
    run = await recorded(plan, answers=0)
    run.scenarios = {}

    states = await run.run(parrot(), Ruled(lambda n: PASS), asks=False)

    assert states.scenarios["many"].count_states(TrialState.OPEN) == QUESTIONS
