"""Puts answers before a judge, several at a time, and keeps the bill."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import anyio

from recall_bench.core.errors import BudgetSpent, JudgeBusy, JudgeFault, JudgeGone, JudgeTimeout
from recall_bench.core.usage import MISSING_JUDGE_PRICE, Usage
from recall_bench.core.verdict import Exhibit, Judge, Verdict, close_judge

JUDGE_PARALLELISM: Final = 4

PAUSES_S: Final = (0.5, 1.0, 2.0)
"""How long a busy judge is left alone before each further attempt,"""
LONGEST_S: Final = 60.0
"""or as long as it asks for, up to this."""


def ignore_progress(judged: int) -> None:
    """Nobody waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLimits:
    """How a judge is asked."""

    parallelism: int = JUDGE_PARALLELISM
    """Verdicts at a time, where the judge does not just compute."""
    timeout_s: float = 120.0
    max_cost_usd: float | None = None
    told: Callable[[int], None] = ignore_progress
    """Hears how many answers have been dealt with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOutcomes:
    """What a judge made of every answer, in their order, and what it cost."""

    outcomes: tuple[Verdict | JudgeFault, ...]
    usage: Usage

    @property
    def not_judged(self) -> int:
        """How many answers got no verdict."""
        return sum(isinstance(outcome, JudgeFault) for outcome in self.outcomes)

    @property
    def faults(self) -> dict[str, int]:
        """Why, by kind."""
        kinds = [type(o).__name__ for o in self.outcomes if isinstance(o, JudgeFault)]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


async def judge_all(
    judge: Judge, exhibits: Sequence[Exhibit], terms: JudgeLimits | None = None
) -> JudgeOutcomes:
    """A verdict or the reason there is none for each exhibit; the judge has studied them all.

    JudgeGone and BudgetSpent end the hearing: neither says anything about an answer.
    """
    hearing = _JudgePass(judge, terms or JudgeLimits())
    try:
        if judge.card.computes:
            await hearing.run_in_turn(enumerate(exhibits))
        else:
            await hearing.run_in_parallel(enumerate(exhibits))
    finally:
        await close_judge(judge)
    outcomes = tuple(hearing.outcomes[place] for place in range(len(exhibits)))
    return JudgeOutcomes(outcomes=outcomes, usage=hearing.usage)


@dataclass(slots=True)
class _JudgePass:
    judge: Judge
    terms: JudgeLimits
    usage: Usage = field(default_factory=Usage)
    outcomes: dict[int, Verdict | JudgeFault] = field(default_factory=dict)
    ended: JudgeGone | BudgetSpent | None = None

    async def run_in_turn(self, exhibits: Iterable[tuple[int, Exhibit]]) -> None:
        for place, exhibit in exhibits:
            self._note(place, await self._judge(exhibit, timeout_s=None))

    async def run_in_parallel(self, exhibits: Iterable[tuple[int, Exhibit]]) -> None:
        shared = iter(exhibits)

        async def run_worker() -> None:
            for place, exhibit in shared:
                if self.ended is not None:
                    return
                try:
                    self._check_budget()
                    outcome = await self._judge(exhibit, timeout_s=self.terms.timeout_s)
                except (JudgeGone, BudgetSpent) as ended:
                    # Raised past the group, where it would come wrapped in one of several.
                    self.ended = self.ended or ended
                    return
                self._note(place, outcome)

        async with anyio.create_task_group() as group:
            for _ in range(self.terms.parallelism):
                group.start_soon(run_worker)
        if self.ended is not None:
            raise self.ended

    def _note(self, place: int, outcome: Verdict | JudgeFault) -> None:
        self.outcomes[place] = outcome
        self.terms.told(len(self.outcomes))

    async def _judge(self, exhibit: Exhibit, *, timeout_s: float | None) -> Verdict | JudgeFault:
        billed = replace(exhibit, bill=self._add_usage)
        pauses = iter(PAUSES_S)
        while True:
            try:
                return await self._judge_once(billed, timeout_s)
            except JudgeGone:
                raise
            except JudgeFault as fault:
                pause = next(pauses, None) if isinstance(fault, JudgeBusy) else None
                if pause is None:
                    return fault
                asked = fault.retry_after_s if isinstance(fault, JudgeBusy) else 0.0
            await anyio.sleep(max(pause, min(asked, LONGEST_S)))

    async def _judge_once(self, exhibit: Exhibit, timeout_s: float | None) -> Verdict:
        if timeout_s is None:
            return await self.judge.judge(exhibit)
        with anyio.move_on_after(timeout_s):
            return await self.judge.judge(exhibit)
        raise JudgeTimeout(f"no verdict within {timeout_s:g} s")

    def _add_usage(self, usage: Usage) -> None:
        self.usage += usage

    def _check_budget(self) -> None:
        most = self.terms.max_cost_usd
        if most is not None and self.usage.unpriced:
            raise BudgetSpent(MISSING_JUDGE_PRICE)
        if most is not None and self.usage.cost_usd >= most:
            raise BudgetSpent(
                f"judging has cost {self.usage.cost_usd:.2f} USD of the {most:.2f} allowed after "
                f"{len(self.outcomes)} answers; repeat with a higher --max-cost: verdicts on "
                "record are not paid for again"
            )
