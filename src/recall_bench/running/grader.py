"""Judge the recorded answers of one scenario; the system itself is not needed."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial

import anyio
from anyio.lowlevel import checkpoint as yield_turn

from recall_bench.core.budget import AnswerCost, Budget
from recall_bench.core.errors import BudgetSpent, JudgeFault, JudgeGone, JudgePending, RetryLater
from recall_bench.core.event import Answered, Judged, NotJudged, OtherVerdict, Paid
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.retry import make_postponement
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.judging.judge_call import JudgeCall, Judges, run_workers
from recall_bench.running.scenario_run import AnswerQueue, Recorder

_YIELD_EVERY = 64
"""Verdicts between two turns of the event loop: a judge that computes never yields by itself."""


class Grader:
    """Judges the answers of one scenario, and reviews verdicts."""

    def __init__(
        self,
        exhibits: ExhibitFactory,
        *,
        plan: Plan,
        judges: Judges,
        budget: Budget,
        record: Recorder,
    ) -> None:
        self._exhibits = exhibits
        self._budget = budget
        self._record = record
        self._verdicts = 0
        self._first = JudgeCall.make(judges.judge, plan.judge_timeout_s, budget)
        appellate = judges.appellate
        self._second = (
            None if appellate is None else JudgeCall.make(appellate, plan.judge_timeout_s, budget)
        )
        self._others = [
            JudgeCall.make(other, plan.judge_timeout_s, budget) for other in judges.others
        ]

    async def run(
        self,
        leftovers: Iterable[Answered],
        queue: AnswerQueue,
        overflow: Callable[[], Iterable[Answered]],
        workers: int,
    ) -> None:
        """Judge what an earlier run left, then the queue, then what did not fit into the queue.

        Once the budget is spent it ends early; what is left is in the journal.
        """
        await run_workers(leftovers, self._judge, workers)
        async with anyio.create_task_group() as group:
            for _ in range(workers):
                group.start_soon(self._judge_queue, queue)
        if queue.overflowed:
            await run_workers(overflow(), self._judge, workers)

    async def review(self, due: Iterable[tuple[Answered, Verdict]], workers: int) -> None:
        """Have the appellate judge review answers, each given with its first verdict."""
        await run_workers(due, self._review, workers)

    async def judge_others(self, due: Iterable[tuple[Answered, int]], workers: int) -> None:
        """Have other judges of the plan judge answers, each given with the place of its judge."""
        await run_workers(due, self._judge_other, workers)

    async def _judge_queue(self, queue: AnswerQueue) -> None:
        while (answered := await queue.pop()) is not None:
            if not await self._judge(answered):
                return

    async def _judge(self, answered: Answered) -> bool:
        """Judge one answer and record it; False once the budget is spent."""
        outcome = await self._judge_first(answered)
        if isinstance(outcome, Judged) and self._second is not None and outcome.verdict.is_failure:
            try:
                outcome = await self._judge_again(answered, outcome, self._second) or outcome
            except BaseException:
                # The first verdict is paid for: it must not be lost with the review.
                self._record(outcome)
                raise
        if outcome is not None:
            self._record(outcome)
        await self._count_verdict()
        return outcome is not None

    async def _judge_first(self, answered: Answered) -> Judged | NotJudged | None:
        trial, cost = answered.trial, AnswerCost(self._budget)
        exhibit = self._exhibits.build(answered, cost)
        try:
            verdict, seconds = await self._first.judge_exhibit(
                exhibit, partial(self._record_busy, trial)
            )
            return Judged(
                at=datetime.now(UTC),
                trial=trial,
                verdict=verdict,
                usage=cost.total,
                seconds=seconds,
            )
        except (BudgetSpent, JudgeGone) as reason:
            self._budget.stop(reason)
            self._record_paid(trial, cost.total)
            return None
        except JudgeFault as fault:
            if isinstance(fault, JudgePending):
                self._budget.pending = fault
            return NotJudged(
                at=datetime.now(UTC),
                trial=trial,
                fault=type(fault).__name__,
                message=str(fault),
                usage=cost.total,
            )
        except BaseException:
            self._record_paid(trial, cost.total)
            raise

    async def _judge_other(self, due: tuple[Answered, int]) -> bool:
        """Have one other judge judge one answer and record it; False once the budget is spent."""
        answered, judge = due
        trial, cost = answered.trial, AnswerCost(self._budget)
        exhibit = self._exhibits.build(answered, cost)
        try:
            verdict, seconds = await self._others[judge].judge_exhibit(
                exhibit, partial(self._record_busy, trial)
            )
        except (BudgetSpent, JudgeGone) as reason:
            self._budget.stop(reason)
            self._record_paid(trial, cost.total, judge=judge)
            return False
        except JudgeFault as fault:
            if isinstance(fault, JudgePending):
                self._budget.pending = fault
            outcome: dict[str, object] = {"fault": type(fault).__name__, "message": str(fault)}
        except BaseException:
            self._record_paid(trial, cost.total, judge=judge)
            raise
        else:
            outcome = {"verdict": verdict, "seconds": seconds}
        given = OtherVerdict(at=datetime.now(UTC), trial=trial, judge=judge, usage=cost.total)
        self._record(given.replace(**outcome))
        await self._count_verdict()
        return True

    async def _review(self, due: tuple[Answered, Verdict]) -> bool:
        """Review one verdict and record it; False once the budget is spent."""
        answered, first = due
        if self._second is None:
            raise AssertionError("a review needs an appellate judge")
        judged = Judged(at=datetime.now(UTC), trial=answered.trial, verdict=first)
        reviewed = await self._judge_again(answered, judged, self._second)
        if reviewed is not None:
            self._record(reviewed)
        await self._count_verdict()
        return reviewed is not None

    async def _judge_again(
        self, answered: Answered, judged: Judged, call: JudgeCall
    ) -> Judged | None:
        """Return the verdict after its review, or why that failed; None if the budget is spent."""
        trial, cost = answered.trial, AnswerCost(self._budget)
        exhibit = self._exhibits.build(answered, cost)
        try:
            final, _ = await call.judge_exhibit(exhibit, partial(self._record_busy, trial))
        except (BudgetSpent, JudgeGone) as reason:
            self._budget.stop(reason)
            self._record_paid(trial, cost.total, cost.total)
            return None
        except JudgeFault as fault:
            if isinstance(fault, JudgePending):
                self._budget.pending = fault
            outcome: dict[str, object] = {"review_fault": f"{type(fault).__name__}: {fault}"}
        except BaseException:
            self._record_paid(trial, cost.total, cost.total)
            raise
        else:
            outcome = {"verdict": final, "primary": judged.verdict}
        usage = _add_usage(judged.usage, cost.total)
        now = datetime.now(UTC)
        return judged.replace(at=now, usage=usage, review_usage=cost.total, **outcome)

    def _record_busy(self, trial: Trial, busy: RetryLater) -> None:
        self._record(make_postponement(trial, busy))

    def _record_paid(
        self,
        trial: Trial,
        usage: Usage | None,
        reviewing: Usage | None = None,
        judge: int | None = None,
    ) -> None:
        """Record calls that were paid for and led to no verdict."""
        if usage is not None:
            now = datetime.now(UTC)
            self._record(
                Paid(at=now, trial=trial, usage=usage, review_usage=reviewing, judge=judge)
            )

    async def _count_verdict(self) -> None:
        self._verdicts += 1
        if self._verdicts % _YIELD_EVERY == 0:
            await yield_turn()


def _add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
