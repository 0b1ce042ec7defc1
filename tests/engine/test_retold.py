"""A scenario told again, with a day left out, is lived as it is told and judged as it was."""

from collections.abc import Sequence

import pytest

from recall_bench.core.errors import SystemGone
from recall_bench.core.event import Answered, Declared, Ingested
from recall_bench.core.memory import Answer, Passage
from recall_bench.core.plan import Lifecycle
from recall_bench.core.scenario import Episode, Question, Scenario
from tests.conftest import episode
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem
from tests.fixtures.running import Rehearsal

pytestmark = pytest.mark.anyio


@pytest.fixture
def scenario(scenario: Scenario) -> Scenario:
    """Ada's days without the first, in other words."""
    return scenario.replace(
        retold=(episode(2, "She calls her cat Fig."), episode(3, "She calls her cat Plum."))
    )


class AttestingMemory(ScriptedMemory):
    """Says that it holds one day."""

    async def attest(self) -> int | None:
        return 1


class AttestingSystem(ScriptedSystem):
    async def open(self, scenario: str) -> ScriptedMemory:
        return AttestingMemory(self._reply)


def lived(rehearsal: Rehearsal) -> list[int]:
    return [event.day for event in rehearsal.journal if isinstance(event, Ingested)]


async def test_only_what_is_reported_again_is_fed_and_declared(rehearsal: Rehearsal) -> None:
    heard: list[str] = []

    def answer(lived: Sequence[Episode], question: Question) -> str:
        heard[:] = [each.text for each in lived]
        return "Fig"

    await rehearsal.run(ScriptedSystem(answer), lifecycle=Lifecycle.GROWING)

    assert heard == ["She calls her cat Fig.", "She calls her cat Plum."]
    assert lived(rehearsal) == [2, 3]
    [declared] = [event for event in rehearsal.journal if isinstance(event, Declared)]
    assert declared.days == (2, 3)


async def test_a_system_that_attests_the_days_it_was_fed_is_not_fed_them_again(
    rehearsal: Rehearsal,
) -> None:
    def vanish(lived: Sequence[Episode], question: Question) -> str:
        if len(lived) == 2:
            raise SystemGone("bye")
        return "Fig"

    with pytest.raises(SystemGone):
        await rehearsal.run(ScriptedSystem(vanish), lifecycle=Lifecycle.GROWING)
    rehearsal.journal = [
        event for event in rehearsal.journal if not (isinstance(event, Ingested) and event.day == 3)
    ]

    await rehearsal.run(AttestingSystem(lambda lived, question: "Plum"), skip_catchup=True)

    assert lived(rehearsal) == [2, 3]


class Quoting(ScriptedMemory):
    """Returns its last day without saying which one that is."""

    async def answer(self, question: Question) -> Answer:
        return Answer(text="Fig", passages=(Passage(text=self.lived[-1].text),))


class QuotingSystem(ScriptedSystem):
    async def open(self, scenario: str) -> ScriptedMemory:
        return Quoting(self._reply)


async def test_a_passage_is_traced_by_the_words_that_were_fed(rehearsal: Rehearsal) -> None:
    await rehearsal.run(QuotingSystem(lambda lived, question: ""), lifecycle=Lifecycle.GROWING)

    answered = [event for event in rehearsal.journal if isinstance(event, Answered)]
    assert [event.answer.passages[0].day for event in answered] == [2, 3]
