"""Twelve questions on one day, and judges that fail, review and charge for them as told."""

from collections.abc import Callable

from recall_bench.core.errors import JudgeFault
from recall_bench.core.plan import Checkpoint, Plan
from recall_bench.core.scenario import Item, Scenario, Truth
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Exhibit, JudgeCard, Verdict
from tests.conftest import EPOCH, card_of, episode
from tests.faulty.fakes import ExactJudge, ScriptedSystem
from tests.fixtures.running import Rehearsal

QUESTIONS = 12

PASS = Verdict.of(3, 2, 1, "right")
FAIL = Verdict.of(0, 0, 1, "wrong")

CALL = Usage(calls=1, input_tokens=100, output_tokens=10, cost_usd=0.25)
"""A price that adds up without rounding."""


def many(plan: Plan, *names: str, days: int = 1, **changes: object) -> Rehearsal:
    """A rehearsal of scenarios with twelve questions each, asked after the first day."""
    truth = Truth(reference="r", category="factual-recall")
    items = tuple(
        Item(id=f"q{n}", text=f"{n}", known_from=1, truth=truth) for n in range(QUESTIONS)
    )
    episodes = tuple(episode(day, "text") for day in range(1, days + 1))
    scenarios = {
        name: Scenario(id=name, epoch=EPOCH, episodes=episodes, items=items)
        for name in names or ("many",)
    }
    usual = {
        "scenarios": tuple(card_of(scenario) for scenario in scenarios.values()),
        "checkpoints": (Checkpoint(label="1d", days=1),),
    }
    return Rehearsal(plan=plan.replace(**usual | changes), scenarios=scenarios)


def parrot() -> ScriptedSystem:
    """Says back the question, which is a number."""
    return ScriptedSystem(lambda lived, question: question.text)


class Ruled(ExactJudge):
    """Rules by the number in the answer; charges for every verdict if told to."""

    def __init__(
        self,
        rule: Callable[[int], Verdict | JudgeFault],
        *,
        charge: Usage | None = None,
        computes: bool = False,
    ) -> None:
        self.card = JudgeCard(name="ruled", version="1", computes=computes)
        self.seen: list[str] = []
        self._rule = rule
        self._charge = charge

    async def judge(self, exhibit: Exhibit) -> Verdict:
        self.seen.append(f"{exhibit.scenario}/{exhibit.item.id}")
        if self._charge is not None:
            exhibit.bill(self._charge)
        ruling = self._rule(int(exhibit.answer.text))
        if isinstance(ruling, JudgeFault):
            raise ruling
        return ruling


def fails_below(limit: int) -> Callable[[int], Verdict]:
    """Fails the answers with a lower number."""
    return lambda number: FAIL if number < limit else PASS
