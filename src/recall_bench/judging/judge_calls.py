"""Judge a list of exhibits with the engine's judge calls, budget and retries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from recall_bench.core.errors import BudgetSpent, JudgeFault, JudgeGone
from recall_bench.core.retry import Budget
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Exhibit, Judge, Verdict, close_judge
from recall_bench.judging.judge_call import JudgeCall, run_workers

JUDGE_PARALLELISM: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLimits:
    """How a judge is asked."""

    parallelism: int = JUDGE_PARALLELISM
    """Verdicts at a time; a judge that only computes gives one at a time."""
    timeout_s: float = 120.0
    max_cost_usd: float | None = None
    on_progress: Callable[[int], None] = lambda _: None
    """Called with the number of answers finished so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOutcomes:
    """A verdict or a fault for every answer, in their order, and the cost."""

    outcomes: tuple[Verdict | JudgeFault, ...]
    usage: Usage

    @property
    def not_judged(self) -> int:
        """The number of answers without a verdict."""
        return sum(isinstance(outcome, JudgeFault) for outcome in self.outcomes)

    @property
    def faults(self) -> dict[str, int]:
        """How often each kind of fault occurred."""
        kinds = [type(o).__name__ for o in self.outcomes if isinstance(o, JudgeFault)]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


async def judge_all(
    judge: Judge, exhibits: Sequence[Exhibit], limits: JudgeLimits | None = None
) -> JudgeOutcomes:
    """Judge every exhibit, and close the judge; it must have studied their scenarios.

    Raises JudgeGone or BudgetSpent when judging has to stop early.
    """
    limits = limits or JudgeLimits()
    budget = Budget(limits.parallelism, allowed_usd=limits.max_cost_usd)
    call = JudgeCall.make(judge, limits.timeout_s, budget)
    outcomes: dict[int, Verdict | JudgeFault] = {}

    async def judge_one(numbered: tuple[int, Exhibit]) -> bool:
        number, exhibit = numbered
        try:
            outcomes[number], _ = await call.judge_exhibit(
                replace(exhibit, bill=budget.record_usage)
            )
        except (BudgetSpent, JudgeGone) as reason:
            budget.stop(reason)
            return False
        except JudgeFault as fault:
            outcomes[number] = fault
        limits.on_progress(len(outcomes))
        return True

    try:
        workers = 1 if judge.card.computes else limits.parallelism
        await run_workers(enumerate(exhibits), judge_one, workers)
    finally:
        await close_judge(judge)
    if len(outcomes) < len(exhibits):
        budget.check()
    return JudgeOutcomes(
        outcomes=tuple(outcomes[number] for number in range(len(exhibits))), usage=budget.spent
    )
