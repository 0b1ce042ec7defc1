"""Questions go out through one pool: as many at a time as allowed, and never in batches."""

import anyio
import pytest

from recall_bench.core.memory import Answer, SystemCard
from recall_bench.core.plan import Checkpoint, Plan
from recall_bench.core.scenario import Item, Question, Scenario, Truth
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import Exhibit, Verdict
from tests.conftest import EPOCH, card_of, episode
from tests.faulty.fakes import ExactJudge, ScriptedMemory, ScriptedSystem
from tests.fixtures.running import Rehearsal

pytestmark = pytest.mark.anyio

QUESTIONS = 12


@pytest.fixture
def exam(plan: Plan) -> Rehearsal:
    truth = Truth(reference="r", category="factual-recall")
    items = tuple(
        Item(id=f"q{n}", text=f"{n}", known_from=1, truth=truth) for n in range(QUESTIONS)
    )
    scenario = Scenario(id="many", epoch=EPOCH, episodes=(episode(1, "text"),), items=items)
    one_day = plan.replace(
        scenarios=(card_of(scenario),), checkpoints=(Checkpoint(label="1d", days=1),), seed=0
    )
    return Rehearsal(plan=one_day, scenarios={"many": scenario})


class Turnstile(ScriptedMemory):
    """Counts who is inside; the first question waits until every other has been answered."""

    def __init__(self) -> None:
        super().__init__(lambda lived, question: "")
        self.inside = self.most = self.answered = 0
        self.rest_done = anyio.Event()

    async def answer(self, question: Question) -> Answer:
        self.inside += 1
        self.most = max(self.most, self.inside)
        if question.text == "0":
            await self.rest_done.wait()
        else:
            await anyio.lowlevel.checkpoint()
            self.answered += 1
            if self.answered == QUESTIONS - 1:
                self.rest_done.set()
        self.inside -= 1
        return Answer(text="r")


class TurnstileSystem:
    snapshots = None

    def __init__(self, max_concurrency: int) -> None:
        self.card = SystemCard(name="turnstile", version="1", max_concurrency=max_concurrency)
        self.memory = Turnstile()

    async def open(self, scenario: str) -> Turnstile:
        return self.memory

    async def close(self) -> None: ...


async def test_one_slow_question_holds_up_no_one(exam: Rehearsal) -> None:
    """Chunks of four would wait for ever here: the slow one ends only after all others."""
    system = TurnstileSystem(max_concurrency=4)

    with anyio.fail_after(60):
        states = await exam.run(system, parallelism=4)

    assert states.scenarios["many"].count_states(TrialState.JUDGED) == QUESTIONS
    assert system.memory.most == 4


async def test_a_system_is_never_asked_more_at_once_than_it_stands(exam: Rehearsal) -> None:
    system = TurnstileSystem(max_concurrency=2)

    with anyio.fail_after(60):
        await exam.run(system, parallelism=8)

    assert system.memory.most == 2


async def test_a_slow_judge_never_idles_the_system(exam: Rehearsal) -> None:
    """The first verdict waits for the last answer; a judge in the way would be a deadlock."""
    asked = 0
    all_asked = anyio.Event()

    def count(*_: object) -> str:
        nonlocal asked
        asked += 1
        if asked == QUESTIONS:
            all_asked.set()
        return "r"

    class Patient(ExactJudge):
        async def judge(self, exhibit: Exhibit) -> Verdict:
            await all_asked.wait()
            return await super().judge(exhibit)

    with anyio.fail_after(60):
        states = await exam.run(ScriptedSystem(count), Patient())

    assert states.scenarios["many"].count_states(TrialState.JUDGED) == QUESTIONS
