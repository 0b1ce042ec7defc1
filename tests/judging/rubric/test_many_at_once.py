"""Many answers may be before the judge at once; a case that several bring is paid for once."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from recall_bench.core.errors import JudgeBusy, ModelBusy
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.judging.rubric.passages import RubricOptions
from recall_bench.judging.rubric.rubric_judge import RubricJudge
from recall_bench.systems.models.model import Prompt, Reply
from tests.judging.harbour import item, points
from tests.judging.rubric.scripted import Saying, ScriptedModel, case, verdict_json

pytestmark = pytest.mark.anyio

ASKED = item("What does berth 7 cost?", "$465 a week")
GOOD = verdict_json()


class SlowModel(ScriptedModel):
    """Replies to nobody before fifty have asked; marks by what the answer says."""

    def __init__(self) -> None:
        super().__init__(lambda prompt: verdict_json(correctness=_number_in(prompt) % 4))
        self.most_at_once = self._now = 0
        self._are_many = anyio.Event()

    async def complete(self, prompt: Prompt) -> Reply:
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        if self._now == 50:
            self._are_many.set()
        with anyio.fail_after(60):
            await self._are_many.wait()
        self._now -= 1
        return await super().complete(prompt)


def _number_in(prompt: Prompt) -> int:
    return int(prompt.user.rpartition("number ")[2].split("\n")[0])


@pytest.mark.parametrize("is_cached", [False, True])
async def test_many_at_once_get_each_their_own_verdict(tmp_path: Path, is_cached: bool) -> None:
    model = SlowModel()
    judge = RubricJudge(model, RubricOptions(cache=tmp_path if is_cached else None))
    verdicts: dict[int, Verdict] = {}
    bills: list[Usage] = []

    async def one(number: int) -> None:
        exhibit = replace(case(ASKED, f"number {number % 50}", shown=[1, 9]), bill=bills.append)
        verdicts[number] = await judge.judge(exhibit)

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(one, number)

    assert {n: v.marks["correctness"] for n, v in verdicts.items()} == {
        n: n % 50 % 4 for n in range(200)
    }
    assert model.most_at_once >= 50
    assert len(model.prompts) == (50 if is_cached else 200), "one case is paid for once"
    assert sum(bills, Usage()).cached == (150 if is_cached else 0)
    assert judge._locks == {}


async def test_a_caller_that_waited_for_a_failed_verdict_asks_for_it(tmp_path: Path) -> None:
    says: list[Saying] = [ModelBusy("later"), GOOD]
    judge = RubricJudge(ScriptedModel(says), RubricOptions(cache=tmp_path))
    outcomes: list[object] = []

    async def one() -> None:
        try:
            outcomes.append(points(await judge.judge(case(ASKED, "$465"))))
        except JudgeBusy as busy:
            outcomes.append(busy)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(one)

    assert sum(isinstance(outcome, JudgeBusy) for outcome in outcomes) == 1
    assert outcomes.count((3, 2, 1)) == 2


async def test_a_caller_that_comes_while_it_is_asked_for_again_waits_too(tmp_path: Path) -> None:
    """The first fails, the second asks meanwhile, and a third arrives: that is no third call."""
    may_reply = anyio.Event()

    class Hesitant(ScriptedModel):
        async def complete(self, prompt: Prompt) -> Reply:
            if self.prompts:
                await may_reply.wait()
            return await super().complete(prompt)

    says: list[Saying] = [ModelBusy("later"), GOOD]
    model = Hesitant(says)
    judge = RubricJudge(model, RubricOptions(cache=tmp_path))
    verdicts: list[Verdict] = []

    async def one() -> None:
        try:
            verdicts.append(await judge.judge(case(ASKED, "$465")))
        except JudgeBusy:
            group.start_soon(one)

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        group.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        may_reply.set()

    assert [points(verdict) for verdict in verdicts] == [(3, 2, 1)] * 2
    assert len(model.prompts) == 2
