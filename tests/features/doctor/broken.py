"""Systems made for one test, from scripted memories that return everything they were fed."""

from collections.abc import Callable, Sequence

from recall_bench.core.memory import Asker, Memory, MemorySystem, Snapshots, SystemCard
from recall_bench.core.scenario import Episode, Question
from recall_bench.testing import Outcome, check_system
from tests.faulty.fakes import Script, ScriptedMemory


def everything(lived: Sequence[Episode], question: Question) -> str:
    """Returns everything it was fed, whatever the question."""
    return "\n".join(episode.text for episode in lived) or "I know nothing."


class Custom:
    """A system whose memories are made by the test."""

    def __init__(
        self, opened: Callable[[], Memory], snapshots: Snapshots | None = None, **card: object
    ) -> None:
        self.card = SystemCard(name="custom", version="1").replace(**card)
        self.snapshots = snapshots
        self._opened = opened

    async def open(self, scenario: str) -> Memory:
        return self._opened()

    async def close(self) -> None:
        pass


def scripted(reply: Script, asker: Asker = Asker.TOLD) -> Custom:
    """A system that answers as the script says."""
    return Custom(lambda: ScriptedMemory(reply), asker=asker)


async def result(system: MemorySystem, name: str) -> tuple[Outcome, str]:
    """How one check ended, and what it said."""
    found = (await check_system(system, only=[name])).get_result(name)
    return found.outcome, found.message
