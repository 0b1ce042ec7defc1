"""Puts answers before a judge, several at a time, and keeps the bill."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import anyio

from recall_bench.core.usage import UNPRICED, Usage
from recall_bench.core.verdict import Exhibit, Judge, Verdict, dismiss
from recall_bench.errors import BudgetSpent, JudgeBusy, JudgeFault, JudgeGone, JudgeTimeout

PARALLELISM: Final = 4

PAUSES_S: Final = (0.5, 1.0, 2.0)
"""How long a busy judge is left alone before each further attempt,"""
LONGEST_S: Final = 60.0
"""or as long as it asks for, up to this."""


def unwatched(judged: int) -> None:
    """Nobody waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a judge is asked."""

    parallelism: int = PARALLELISM
    """Verdicts at a time, where the judge does not just compute."""
    timeout_s: float = 120.0
    max_cost_usd: float | None = None
    told: Callable[[int], None] = unwatched
    """Hears how many answers have been dealt with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
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


async def hear(judge: Judge, exhibits: Sequence[Exhibit], terms: Terms | None = None) -> Heard:
    """A verdict or the reason there is none for each exhibit; the judge has studied them all.

    JudgeGone and BudgetSpent end the hearing: neither says anything about an answer.
    """
    hearing = _Hearing(judge, terms or Terms())
    try:
        if judge.card.computes:
            await hearing.in_turn(enumerate(exhibits))
        else:
            await hearing.side_by_side(enumerate(exhibits))
    finally:
        await dismiss(judge)
    outcomes = tuple(hearing.outcomes[place] for place in range(len(exhibits)))
    return Heard(outcomes=outcomes, usage=hearing.usage)


@dataclass(slots=True)
class _Hearing:
    judge: Judge
    terms: Terms
    usage: Usage = field(default_factory=Usage)
    outcomes: dict[int, Verdict | JudgeFault] = field(default_factory=dict)
    ended: JudgeGone | BudgetSpent | None = None

    async def in_turn(self, exhibits: Iterable[tuple[int, Exhibit]]) -> None:
        for place, exhibit in exhibits:
            self._note(place, await self._outcome(exhibit, timeout_s=None))

    async def side_by_side(self, exhibits: Iterable[tuple[int, Exhibit]]) -> None:
        shared = iter(exhibits)

        async def work() -> None:
            for place, exhibit in shared:
                if self.ended is not None:
                    return
                try:
                    self._check_budget()
                    outcome = await self._outcome(exhibit, timeout_s=self.terms.timeout_s)
                except (JudgeGone, BudgetSpent) as ended:
                    # Raised past the group, where it would come wrapped in one of several.
                    self.ended = self.ended or ended
                    return
                self._note(place, outcome)

        async with anyio.create_task_group() as group:
            for _ in range(self.terms.parallelism):
                group.start_soon(work)
        if self.ended is not None:
            raise self.ended

    def _note(self, place: int, outcome: Verdict | JudgeFault) -> None:
        self.outcomes[place] = outcome
        self.terms.told(len(self.outcomes))

    async def _outcome(self, exhibit: Exhibit, *, timeout_s: float | None) -> Verdict | JudgeFault:
        billed = replace(exhibit, bill=self._billed)
        pauses = iter(PAUSES_S)
        while True:
            try:
                return await self._once(billed, timeout_s)
            except JudgeGone:
                raise
            except JudgeFault as fault:
                pause = next(pauses, None) if isinstance(fault, JudgeBusy) else None
                if pause is None:
                    return fault
                asked = fault.retry_after_s if isinstance(fault, JudgeBusy) else 0.0
            await anyio.sleep(max(pause, min(asked, LONGEST_S)))

    async def _once(self, exhibit: Exhibit, timeout_s: float | None) -> Verdict:
        if timeout_s is None:
            return await self.judge.judge(exhibit)
        with anyio.move_on_after(timeout_s):
            return await self.judge.judge(exhibit)
        raise JudgeTimeout(f"no verdict within {timeout_s:g} s")

    def _billed(self, usage: Usage) -> None:
        self.usage += usage

    def _check_budget(self) -> None:
        most = self.terms.max_cost_usd
        if most is not None and self.usage.unpriced:
            raise BudgetSpent(UNPRICED)
        if most is not None and self.usage.cost_usd >= most:
            raise BudgetSpent(
                f"judging has cost {self.usage.cost_usd:.2f} USD of the {most:.2f} allowed after "
                f"{len(self.outcomes)} answers; repeat with a higher --max-cost: verdicts on "
                "record are not paid for again"
            )
