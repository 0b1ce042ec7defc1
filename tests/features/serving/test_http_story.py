"""A story told over HTTP gives the same answers as one told directly."""

from collections.abc import Sequence

import pytest

from recall_bench.core.event import Answered, Ingested
from recall_bench.core.memory import MemorySystem
from recall_bench.core.plan import Lifecycle, Plan
from recall_bench.core.scenario import Episode, Question, Scenario
from recall_bench.systems.builtin.retrieval_systems import build_bm25
from recall_bench.systems.transports.http_system import connect_http_system
from tests.faulty.fakes import ScriptedSystem
from tests.features.serving.http_servers import serving
from tests.fixtures.running import Rehearsal

pytestmark = pytest.mark.anyio


def everything(lived: Sequence[Episode], question: Question) -> str:
    """All that a system was told, so that nothing can be lost on the way unseen."""
    return repr((lived, question))


async def answers(
    system: MemorySystem, plan: Plan, scenario: Scenario, lifecycle: Lifecycle
) -> tuple[list[object], list[int]]:
    rehearsal = Rehearsal(plan, {scenario.id: scenario})
    await rehearsal.run(system, lifecycle=lifecycle)
    await system.close()
    said = [(e.trial, e.answer) for e in rehearsal.journal if isinstance(e, Answered)]
    return list(said), [e.day for e in rehearsal.journal if isinstance(e, Ingested)]


@pytest.mark.parametrize("lifecycle", [Lifecycle.FRESH, Lifecycle.FORKED, Lifecycle.GROWING])
async def test_a_system_gets_and_gives_the_same_over_http(
    plan: Plan, scenario: Scenario, lifecycle: Lifecycle
) -> None:
    direct = await answers(ScriptedSystem(everything, can_snapshot=True), plan, scenario, lifecycle)

    async with serving(ScriptedSystem(everything, can_snapshot=True)) as url:
        served = await answers(await connect_http_system(url), plan, scenario, lifecycle)

    assert len(direct[0]) == 2
    assert served == direct


@pytest.mark.parametrize("lifecycle", [Lifecycle.FRESH, Lifecycle.FORKED])
async def test_passages_come_across_whole(
    plan: Plan, scenario: Scenario, lifecycle: Lifecycle
) -> None:
    direct = await answers(build_bm25({}), plan, scenario, lifecycle)

    async with serving(build_bm25({})) as url:
        served = await answers(await connect_http_system(url), plan, scenario, lifecycle)

    assert any("passages=(Passage(" in repr(said) for said in direct[0])
    assert served == direct


async def test_the_card_of_what_is_served_comes_across(plan: Plan) -> None:
    system = build_bm25({})

    async with serving(system) as url:
        card = (await connect_http_system(url)).card

    assert (card.name, card.version, card.clock, card.asker, card.answers) == (
        system.card.name,
        system.card.version,
        system.card.clock,
        system.card.asker,
        system.card.answers,
    )
