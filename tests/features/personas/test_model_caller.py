"""The limits of a pass: calls at once, time, money, patience with a model that is gone."""

from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import BudgetSpent, ModelFault, ModelGone
from recall_bench.core.usage import Usage
from recall_bench.features.personas.call_log import CallLog
from recall_bench.features.personas.model_caller import ModelCaller
from recall_bench.systems.models.model import Prompt, Reply
from tests.features.personas.scripted_model import ScriptedModel


def prompt(number: int) -> Prompt:
    return Prompt(system="s", user=str(number))


def test_a_reply_on_record_is_not_paid_for_again(tmp_path: Path) -> None:
    model = ScriptedModel(lambda asked: f"reply {asked.user}")

    async def once() -> Usage:
        with CallLog(tmp_path / "log.jsonl") as log:
            caller = ModelCaller(model, log)
            for number in range(3):
                reply, _ = await caller.ask(prompt(number), "unit")
                assert reply.text == f"reply {number}"
            return caller.usage

    assert anyio.run(once).calls == 3
    assert anyio.run(once) == Usage(cached=3)
    assert len(model.asked) == 3


def test_no_more_calls_at_once_than_allowed(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "x", wait_s=0.01)

    async def run() -> None:
        with CallLog(tmp_path / "log.jsonl") as log:
            caller = ModelCaller(model, log, concurrency=3)
            async with anyio.create_task_group() as tasks:
                for number in range(12):
                    tasks.start_soon(caller.ask, prompt(number), "unit")

    anyio.run(run)
    assert model.most_at_once == 3


def test_a_call_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "x", wait_s=60)

    async def run() -> None:
        with (
            CallLog(tmp_path / "log.jsonl") as log,
            pytest.raises(ModelFault, match=r"no reply within 0\.05 s"),
        ):
            await ModelCaller(model, log, timeout_s=0.05).ask(prompt(1), "unit")

    anyio.run(run)
    assert model.at_once == 0


def test_spent_money_ends_it_before_the_limit_is_passed(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "x", cost_usd=0.3)

    async def run() -> None:
        with CallLog(tmp_path / "log.jsonl") as log:
            caller = ModelCaller(model, log, max_cost_usd=1.0)
            for number in range(3):
                await caller.ask(prompt(number), "unit")
            with pytest.raises(BudgetSpent, match=r"cost 0\.90 USD"):
                await caller.ask(prompt(3), "unit")
            assert log.spent.cost_usd == pytest.approx(0.9)

    anyio.run(run)


def test_side_by_side_the_calls_under_way_count_too(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "x", cost_usd=0.3, wait_s=0.005)

    async def run() -> float:
        with CallLog(tmp_path / "log.jsonl") as log:
            caller = ModelCaller(model, log, concurrency=4, max_cost_usd=1.0)
            await caller.ask(prompt(99), "unit")

            async def one(number: int) -> None:
                with suppress(BudgetSpent):
                    await caller.ask(prompt(number), "unit")

            async with anyio.create_task_group() as tasks:
                for number in range(12):
                    tasks.start_soon(one, number)
            return log.spent.cost_usd

    assert anyio.run(run) <= 1.0


def test_a_server_that_counts_no_tokens_cannot_be_held_to_a_limit(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: Reply(text="x", usage=Usage(calls=1, unpriced=1)))

    async def run() -> None:
        with CallLog(tmp_path / "log.jsonl") as log:
            caller = ModelCaller(model, log, max_cost_usd=1.0)
            await caller.ask(prompt(1), "unit")
            with pytest.raises(BudgetSpent, match="how many tokens"):
                await caller.ask(prompt(2), "unit")

    anyio.run(run)


def test_a_model_that_never_replies_is_gone(tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: ModelFault("no route"))

    async def run() -> list[type[ModelFault]]:
        ends = []
        with CallLog(tmp_path / "log.jsonl") as log:
            caller = ModelCaller(model, log, concurrency=1)
            for number in range(7):
                try:
                    await caller.ask(prompt(number), "unit")
                except ModelFault as fault:
                    ends.append(type(fault))
        return ends

    assert anyio.run(run) == [ModelFault] * 5 + [ModelGone] * 2


def test_one_reply_in_between_restores_patience(tmp_path: Path) -> None:
    model = ScriptedModel(lambda asked: "x" if int(asked.user) % 4 == 0 else ModelFault("hm"))

    async def run() -> None:
        with CallLog(tmp_path / "log.jsonl") as log:
            caller = ModelCaller(model, log)
            for number in range(40):
                try:
                    await caller.ask(prompt(number), "unit")
                except ModelGone:
                    raise
                except ModelFault:
                    continue

    anyio.run(run)
    assert len(model.asked) == 40
