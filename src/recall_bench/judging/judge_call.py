"""Ask a judge for verdicts: with a time limit, retries, a budget and several workers."""

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeVar

import anyio

from recall_bench.core.errors import (
    JudgeBusy,
    JudgeFault,
    JudgeGone,
    JudgePending,
    JudgeTimeout,
    ModelBusy,
    ModelFault,
    ModelGone,
    ModelPending,
    RetryLater,
)
from recall_bench.core.retry import (
    Budget,
    choose_limit,
    extend_limit,
    limit_time,
    name_provider,
    retry,
)
from recall_bench.core.scenario import Scenario
from recall_bench.core.verdict import Exhibit, Judge, Verdict, close_judge
from recall_bench.systems.models.model import Model, Prompt, Reply

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """The judge of a run, those that judge the same beside it, and the appellate judge."""

    judge: Judge
    others: tuple[Judge, ...] = ()
    appellate: Judge | None = None

    def list_all(self) -> Iterator[Judge]:
        """List every judge, the one that the score is made of first."""
        yield self.judge
        yield from self.others
        if self.appellate is not None:
            yield self.appellate

    def study(self, scenario: Scenario) -> None:
        """Let all judges prepare for a scenario."""
        for judge in self.list_all():
            judge.study(scenario)

    async def close(self) -> None:
        """Release what the judges hold."""
        for judge in self.list_all():
            await close_judge(judge)


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """A judge with its time limit and the budget it draws on.

    A judge that only computes has no time limit, takes no slot and costs nothing.
    """

    judge: Judge
    timeout_s: float | None
    budget: Budget

    @classmethod
    def make(cls, judge: Judge, timeout_s: float, budget: Budget) -> Self:
        """A call with this time limit; computing judges have none."""
        limit_s = choose_limit(extend_limit(timeout_s, judge), judge.card)
        return cls(judge, limit_s, budget)

    async def judge_exhibit(
        self, exhibit: Exhibit, on_busy: Callable[[RetryLater], None] = lambda _: None
    ) -> tuple[Verdict, float]:
        """The verdict, retried while the judge is busy, and the seconds it took.

        Raises JudgeFault if the judge fails, BudgetSpent or JudgeGone if judging has to stop.
        """
        if self.timeout_s is None:
            return await retry(partial(self._judge_untimed, exhibit), on_busy)
        async with self.budget.hold_slot():
            return await retry(partial(self._judge_in_time, self.timeout_s, exhibit), on_busy)

    async def _judge_untimed(self, exhibit: Exhibit) -> tuple[Verdict, float]:
        started = time.perf_counter()
        verdict = await self.judge.judge(exhibit)
        return verdict, time.perf_counter() - started

    async def _judge_in_time(self, timeout_s: float, exhibit: Exhibit) -> tuple[Verdict, float]:
        timeout = JudgeTimeout(f"no verdict within {timeout_s:g} s")
        card = self.judge.card
        async with self.budget.calls.limit(name_provider(card.model or card.name)):
            started = time.perf_counter()
            verdict = await limit_time(timeout_s, self.judge.judge(exhibit), timeout)
            return verdict, time.perf_counter() - started


async def ask_model(model: Model, prompt: Prompt) -> Reply:
    """The model's reply; its faults become the judge's."""
    try:
        return await model.complete(prompt)
    except ModelBusy as error:
        raise JudgeBusy(str(error), error.retry_after_s) from error
    except ModelGone as error:
        raise JudgeGone(str(error)) from error
    except ModelPending as error:
        raise JudgePending(str(error)) from error
    except ModelFault as error:
        raise JudgeFault(str(error)) from error


async def run_workers(
    things: Iterable[T], handle: Callable[[T], Awaitable[bool]], workers: int
) -> None:
    """Handle each thing once, by one of several workers; a worker ends when `handle` says False."""
    left = iter(things)

    async def run_worker() -> None:
        for thing in left:
            if not await handle(thing):
                return

    async with anyio.create_task_group() as group:
        for _ in range(workers):
            group.start_soon(run_worker)
