"""`--max-calls` bounds the calls of all callers together, to a system and to a provider."""

from collections.abc import Sequence

import anyio.lowlevel
import pytest

from recall_bench.core.memory import Answer, Passage, ReaderCard, RetrievalReply
from recall_bench.core.plan import Checkpoint, Lifecycle, Plan
from recall_bench.core.retry import CallLimiter, name_provider
from recall_bench.core.scenario import Episode, Question, Scenario
from recall_bench.core.verdict import Exhibit, JudgeCard, Verdict
from tests.engine.many import many
from tests.faulty.fakes import ScriptedMemory, ScriptedSystem

pytestmark = pytest.mark.anyio


class Gate:
    """Counts who is inside at a time."""

    def __init__(self) -> None:
        self.inside = self.most = 0

    def __deepcopy__(self, memo: object) -> "Gate":
        """Copies of a memory go through the same one."""
        return self

    async def passed(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        self.inside -= 1


class ModelJudge:
    """Judges at one provider,"""

    card = JudgeCard(name="openai:judge", version="1", model="openai:judge")

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def study(self, scenario: Scenario) -> None: ...

    async def judge(self, exhibit: Exhibit) -> Verdict:
        await self._gate.passed()
        return Verdict.of(3, 2, 1)


class ModelReader:
    """where another model reads."""

    card = ReaderCard(name="openai:reader", version="1", model="openai:reader")

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def read(self, question: Question, passages: Sequence[Passage]) -> Answer:
        await self._gate.passed()
        return Answer(text="Fig", passages=tuple(passages))

    async def close(self) -> None: ...


class Finder(ScriptedMemory):
    async def answer(self, question: Question) -> RetrievalReply:  # type: ignore[override]
        return RetrievalReply(passages=(Passage(text="The cat is Fig."),))


class Finders(ScriptedSystem):
    async def open(self, scenario: str) -> ScriptedMemory:
        return Finder(self._reply)


@pytest.mark.parametrize("most", [1, 2])
async def test_judge_and_reader_at_one_provider_share_its_limit(plan: Plan, most: int) -> None:
    gate, free = Gate(), Gate()
    for inside, limit in ((gate, most), (free, None)):
        await many(plan).run(
            Finders(lambda *_: "", max_concurrency=3),
            ModelJudge(inside),
            reader=ModelReader(inside),
            parallelism=3,
            max_calls=limit,
        )

    assert gate.most == most
    assert free.most > 3


class FedMemory(ScriptedMemory):
    gate: Gate

    async def ingest(self, episode: Episode) -> None:
        await self.gate.passed()
        await super().ingest(episode)

    async def answer(self, question: Question) -> Answer:
        await self.gate.passed()
        return Answer(text="r")


class Fed(ScriptedSystem):
    def __init__(self, gate: Gate) -> None:
        super().__init__(lambda *_: "", can_snapshot=True, max_concurrency=4)
        self._gate = gate

    async def open(self, scenario: str) -> ScriptedMemory:
        memory = FedMemory(self._reply)
        memory.gate = self._gate
        return memory


@pytest.mark.parametrize("most", [1, 3])
async def test_feeding_and_asking_copies_share_the_limit_of_the_system(
    plan: Plan, most: int
) -> None:
    gate, free = Gate(), Gate()
    checkpoints = tuple(Checkpoint(label=f"{n}d", days=n) for n in (1, 9))
    for inside, limit in ((gate, most), (free, None)):
        await many(plan, days=9, checkpoints=checkpoints).run(
            Fed(inside), lifecycle=Lifecycle.FORKED, parallelism=3, max_calls=limit
        )

    assert gate.most == most
    assert free.most == 4


async def test_no_limit_keeps_no_one_waiting() -> None:
    calls = CallLimiter()

    async with calls.limit("a"), calls.limit("a"):
        assert True


def test_a_provider_is_the_same_for_all_its_models() -> None:
    assert name_provider("openai:gpt-5-mini") == name_provider("openai:o5")
    assert name_provider("anthropic:claude") != name_provider("openai:o5")
