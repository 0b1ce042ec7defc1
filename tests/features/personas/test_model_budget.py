"""Money under concurrency and over several runs: the limit holds, and nothing is paid for twice."""

from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import BudgetSpent
from recall_bench.core.usage import Usage
from recall_bench.features.personas.call_log import CallLog
from recall_bench.features.personas.model_caller import ModelCaller
from recall_bench.systems.models.model import Prompt, Reply
from tests.features.personas.scripted_model import ScriptedModel


def prompt(number: int) -> Prompt:
    return Prompt(system="s", user=str(number))


async def ask_all(caller: ModelCaller, numbers: range) -> None:
    """All at once, until the money ends it as it ends a pass."""
    async with anyio.create_task_group() as tasks:
        for number in numbers:
            tasks.start_soon(caller.ask, prompt(number), "unit")


class Uneven(ScriptedModel):
    """Takes a while for every fourth reply, so that others come before it."""

    async def complete(self, prompt: Prompt) -> Reply:
        """Ask once."""
        self.asked.append(prompt)
        await anyio.sleep(0.002 if int(prompt.user) % 4 else 0.05)
        usage = Usage(calls=1, input_tokens=100, output_tokens=50, cost_usd=0.1)
        return Reply(text="x", usage=usage)


def test_the_end_of_the_money_cuts_off_no_call_that_is_under_way(tmp_path: Path) -> None:
    model = Uneven(lambda _: "x", cost_usd=0.1)

    async def run() -> int:
        with CallLog(tmp_path / "log.jsonl") as log:
            caller = ModelCaller(model, log, concurrency=4, max_cost_usd=1.0)
            with pytest.raises(BaseExceptionGroup) as ended:
                await ask_all(caller, range(30))
            assert ended.group_contains(BudgetSpent)
            return len(log)

    assert anyio.run(run) == len(model.asked)


def test_the_limit_holds_from_the_first_call_on(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "x", cost_usd=0.4, wait_s=0.005)

    async def run() -> float:
        with CallLog(tmp_path / "log.jsonl") as log:
            caller = ModelCaller(model, log, concurrency=8, max_cost_usd=1.0)
            with suppress(BaseExceptionGroup):
                await ask_all(caller, range(8))
            return log.spent.cost_usd

    assert anyio.run(run) == pytest.approx(0.8)
    # The next run knows what a call costs, and makes none.
    assert anyio.run(run) == pytest.approx(0.8)


def test_calls_that_cost_nothing_are_made_side_by_side(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "x", cost_usd=0.0, wait_s=0.005)

    async def run() -> None:
        with CallLog(tmp_path / "log.jsonl") as log:
            await ask_all(ModelCaller(model, log, concurrency=4, max_cost_usd=1.0), range(12))

    anyio.run(run)
    assert model.most_at_once == 4


def test_a_limit_is_not_refused_for_what_another_model_left_unpriced(tmp_path: Path) -> None:
    free = ScriptedModel(lambda _: Reply(text="x", usage=Usage(calls=1, unpriced=1)), name="agent")
    priced = ScriptedModel(lambda _: "x", cost_usd=0.1)

    async def run() -> None:
        with CallLog(tmp_path / "log.jsonl") as log:
            await ModelCaller(free, log).ask(prompt(1), "unit")
        with CallLog(tmp_path / "log.jsonl") as log:
            await ModelCaller(priced, log, max_cost_usd=1.0).ask(prompt(2), "unit")

    anyio.run(run)
    assert len(priced.asked) == 1


def test_half_a_surrogate_pair_goes_on_record(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "so \ud83d much")

    async def run() -> list[str]:
        with CallLog(tmp_path / "log.jsonl") as log:
            reply, _ = await ModelCaller(model, log).ask(prompt(1), "unit")
            return [reply.text]

    assert anyio.run(run) == anyio.run(run) == [r"so \ud83d much"]
    assert len(model.asked) == 1
