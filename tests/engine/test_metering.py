"""What a system spends at our model endpoint is put down to feeding or to asking."""

from collections.abc import Sequence

import anyio
import pytest

from recall_bench.core.errors import SystemFault, SystemGone
from recall_bench.core.event import FeedFailed, Metered
from recall_bench.core.memory import Answer
from recall_bench.core.plan import Lifecycle
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem
from tests.fixtures.running import LIFECYCLES, Rehearsal

pytestmark = pytest.mark.anyio


class Endpoint:
    """Counts calls, and tells how many there were since it was last asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Usage:
        usage, self.calls = Usage(calls=self.calls), 0
        return usage


class Spender(ScriptedMemory):
    """Calls a model ten times for a day and once for a question."""

    def __init__(self, endpoint: Endpoint, breaks_at: int | None) -> None:
        super().__init__(self._asked)
        self._endpoint = endpoint
        self._breaks_at = breaks_at

    def __deepcopy__(self, _: object) -> "Spender":
        twin = Spender(self._endpoint, self._breaks_at)
        twin.lived = list(self.lived)
        return twin

    def _asked(self, lived: Sequence[Episode], _: Question) -> str:
        self._endpoint.calls += 1
        if len(lived) == self._breaks_at:
            raise SystemGone("connection refused")
        return "Fig"

    async def answer(self, question: Question) -> Answer:
        await anyio.sleep(0.001)
        return await super().answer(question)

    async def ingest(self, episode: Episode) -> None:
        self._endpoint.calls += 10
        if episode.day == self._breaks_at:
            raise SystemFault("disk is full")
        await super().ingest(episode)


class SpenderSystem(ScriptedSystem):
    def __init__(self, endpoint: Endpoint, breaks_at: int | None = None) -> None:
        super().__init__(lambda lived, question: "", can_snapshot=True)
        self._endpoint = endpoint
        self._breaks_at = breaks_at

    async def open(self, scenario: str) -> ScriptedMemory:
        return Spender(self._endpoint, self._breaks_at)


def metered(rehearsal: Rehearsal) -> list[tuple[str, str, int]]:
    return [
        (event.checkpoint, event.stage, event.usage.calls)
        for event in rehearsal.journal
        if isinstance(event, Metered)
    ]


@pytest.mark.parametrize("lifecycle", LIFECYCLES)
async def test_spending_is_distinguished_by_stage_in_every_lifecycle(
    rehearsal: Rehearsal, lifecycle: Lifecycle
) -> None:
    endpoint = Endpoint()

    states = await rehearsal.run(SpenderSystem(endpoint), meter=endpoint, lifecycle=lifecycle)

    later = 30 if lifecycle is Lifecycle.FRESH else 10
    assert metered(rehearsal) == [
        ("2d", "ingest", 20),
        ("2d", "query", 1),
        ("3d", "ingest", later),
        ("3d", "query", 1),
    ]
    assert states.usage == Usage()


async def test_nothing_spent_is_nothing_to_record(rehearsal: Rehearsal) -> None:
    await rehearsal.run(ScriptedSystem(lambda lived, question: "Fig"), meter=Usage)

    assert metered(rehearsal) == []


async def test_what_was_spent_before_feeding_failed_is_on_record(rehearsal: Rehearsal) -> None:
    endpoint = Endpoint()

    await rehearsal.run(SpenderSystem(endpoint, breaks_at=2), meter=endpoint)

    assert rehearsal.of(FeedFailed)
    assert metered(rehearsal) == [("2d", "ingest", 20), ("3d", "ingest", 20)]


async def test_what_was_spent_before_the_system_was_lost_is_on_record(
    rehearsal: Rehearsal,
) -> None:
    endpoint = Endpoint()

    class Lost(SpenderSystem):
        async def open(self, scenario: str) -> ScriptedMemory:
            memory = Spender(endpoint, None)
            memory.reply = Spender(endpoint, 2).reply
            return memory

    with pytest.raises(SystemGone):
        await rehearsal.run(Lost(endpoint), meter=endpoint)

    assert metered(rehearsal) == [("2d", "ingest", 20), ("2d", "query", 1)]
