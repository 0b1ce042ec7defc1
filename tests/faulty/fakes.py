"""A scripted system and an exact judge for tests."""

from collections.abc import Callable, Sequence
from copy import deepcopy

from recall_bench.core.memory import Answer, Memory, SystemCard
from recall_bench.core.scenario import Episode, Question, Scenario
from recall_bench.core.verdict import Exhibit, JudgeCard, Verdict

Script = Callable[[Sequence[Episode], Question], str]


class ScriptedMemory:
    """Answers from a function of the ingested episodes."""

    def __init__(self, reply: Script) -> None:
        self.reply = reply
        self.lived: list[Episode] = []
        self.closed = False

    async def ingest(self, episode: Episode) -> None:
        """Store the episode."""
        self.lived.append(episode)

    async def settle(self) -> None:
        """Do nothing."""

    async def answer(self, question: Question) -> Answer:
        """Answer from the script."""
        return Answer(text=self.reply(self.lived, question))

    async def close(self) -> None:
        """Record that it was closed."""
        self.closed = True


class CopiesInMemory:
    """Snapshots of any memory that can be copied."""

    def __init__(self) -> None:
        self._kept: dict[str, Memory] = {}
        self._count = 0

    async def save(self, memory: Memory) -> str:
        """Keep a copy."""
        self._count += 1
        token = str(self._count)
        self._kept[token] = deepcopy(memory)
        return token

    async def open(self, token: str) -> Memory:
        """Copy the copy."""
        return deepcopy(self._kept[token])

    async def drop(self, token: str) -> None:
        """Delete the copy."""
        del self._kept[token]


class ScriptedSystem:
    """Opens a fresh ScriptedMemory for each scenario."""

    def __init__(
        self, reply: Script, *, can_snapshot: bool = False, max_concurrency: int = 1
    ) -> None:
        self.card = SystemCard(name="scripted", version="1", max_concurrency=max_concurrency)
        self.snapshots = CopiesInMemory() if can_snapshot else None
        self.opened: list[ScriptedMemory] = []
        self._reply = reply

    async def open(self, scenario: str) -> ScriptedMemory:
        """Open an empty memory."""
        memory = ScriptedMemory(self._reply)
        self.opened.append(memory)
        return memory

    async def close(self) -> None:
        """Do nothing."""


class ExactJudge:
    """Gives full marks for the literal reference, none for anything else."""

    card = JudgeCard(name="exact", version="1")

    def study(self, scenario: Scenario) -> None:
        """Do nothing."""

    async def judge(self, exhibit: Exhibit) -> Verdict:
        """Give full marks or none."""
        if exhibit.answer.text == exhibit.item.truth.reference:
            return Verdict.of(3, 2, 1, "exact match")
        return Verdict.of(0, 0, 0, "differs")
