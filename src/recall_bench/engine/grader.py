"""Judge the recorded answers of one scenario; the system itself is not needed."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

import anyio
from anyio.abc import ObjectReceiveStream
from anyio.lowlevel import checkpoint as yield_turn

from recall_bench.core.errors import BudgetSpent, JudgeFault, JudgeGone, JudgePending
from recall_bench.core.event import Answered, Event, Judged, NotJudged, OtherVerdict, Paid
from recall_bench.core.plan import Plan
from recall_bench.core.retry import AnswerCost, Budget, make_postponement
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.engine.components import Recorder
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.judging.judge_call import JudgeCall, Judges, run_workers

_YIELD_EVERY = 64
"""Verdicts between two turns of the event loop: a judge that computes never yields by itself."""


_MOST_FAILURES = 8
"""After so many failures of the judge in a row, the rest would most likely fail too."""


def count_judge_failures(event: Event, failures: int) -> int:
    """The failures of the judge in a row, with this event; JudgeGone when they are too many."""
    match event:
        case Judged():
            return 0
        case NotJudged(fault=fault, message=message) if fault != JudgePending.__name__:
            if (failures := failures + 1) == _MOST_FAILURES:
                reason = f"failed at {failures} answers in a row, the last time with: {message}"
                advice = "all answers are kept: mend the judge, and the same command goes on"
                raise JudgeGone(f"the judge {reason}; {advice}")
    return failures


class _Ruling(NamedTuple):
    """What came of one call to a judge, and what it cost."""

    verdict: Verdict | JudgeFault
    seconds: float | None
    usage: Usage | None


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

    async def judge_answers(self, answers: Iterable[Answered], workers: int) -> None:
        """Judge answers; once the budget is spent it ends early, and the rest stays unjudged."""
        await run_workers(answers, self._judge, workers)

    async def judge_stream(self, answers: ObjectReceiveStream[Answered], workers: int) -> None:
        """Judge answers as they come, until no more do or the budget is spent."""

        async def judge_next() -> None:
            async for answered in answers:
                if not await self._judge(answered):
                    return

        # Closed by the end, so that nobody waits to add what will not be judged.
        async with answers, anyio.create_task_group() as group:
            for _ in range(workers):
                group.start_soon(judge_next)

    async def review(self, due: Iterable[tuple[Answered, Verdict]], workers: int) -> None:
        """Have the appellate judge review answers, each given with its first verdict."""
        await run_workers(due, self._review, workers)

    async def judge_others(self, due: Iterable[tuple[Answered, int]], workers: int) -> None:
        """Have other judges of the plan judge answers, each given with the place of its judge."""
        await run_workers(due, self._judge_other, workers)

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
        ruling = await self._call(self._first, answered)
        if ruling is None:
            return None
        now, trial = datetime.now(UTC), answered.trial
        if isinstance(ruling.verdict, JudgeFault):
            return NotJudged(
                at=now,
                trial=trial,
                fault=type(ruling.verdict).__name__,
                message=str(ruling.verdict),
                usage=ruling.usage,
            )
        return Judged(
            at=now,
            trial=trial,
            verdict=ruling.verdict,
            usage=ruling.usage,
            seconds=ruling.seconds,
        )

    async def _judge_other(self, due: tuple[Answered, int]) -> bool:
        """Have one other judge judge one answer and record it; False once the budget is spent."""
        answered, judge = due
        ruling = await self._call(self._others[judge], answered, judge=judge)
        if ruling is None:
            return False
        event = OtherVerdict(
            at=datetime.now(UTC), trial=answered.trial, judge=judge, usage=ruling.usage
        )
        if isinstance(ruling.verdict, JudgeFault):
            fault = ruling.verdict
            event = event.replace(fault=type(fault).__name__, message=str(fault))
        else:
            event = event.replace(verdict=ruling.verdict, seconds=ruling.seconds)
        self._record(event)
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
        ruling = await self._call(call, answered, is_review=True)
        if ruling is None:
            return None
        usages = [usage for usage in (judged.usage, ruling.usage) if usage is not None]
        reviewed = judged.replace(
            at=datetime.now(UTC),
            usage=sum(usages[1:], usages[0]) if usages else None,
            review_usage=ruling.usage,
        )
        if isinstance(ruling.verdict, JudgeFault):
            fault = ruling.verdict
            return reviewed.replace(review_fault=f"{type(fault).__name__}: {fault}")
        return reviewed.replace(verdict=ruling.verdict, primary=judged.verdict)

    async def _call(
        self,
        call: JudgeCall,
        answered: Answered,
        *,
        is_review: bool = False,
        judge: int | None = None,
    ) -> _Ruling | None:
        """Have a judge judge an answer; None once the budget is spent or the judge is gone.

        Calls that were paid for and led to no verdict are recorded.
        """
        trial, cost = answered.trial, AnswerCost(self._budget)
        exhibit = self._exhibits.build(answered, cost)
        is_recorded = False
        try:
            verdict, seconds = await call.judge_exhibit(
                exhibit, lambda busy: self._record(make_postponement(trial, busy))
            )
            is_recorded = True
            return _Ruling(verdict, seconds, cost.total)
        except (BudgetSpent, JudgeGone) as reason:
            self._budget.stop(reason)
            return None
        except JudgeFault as fault:
            if isinstance(fault, JudgePending):
                self._budget.pending = fault
            is_recorded = True
            return _Ruling(fault, None, cost.total)
        finally:
            if not is_recorded and cost.total is not None:
                self._record(
                    Paid(
                        at=datetime.now(UTC),
                        trial=trial,
                        usage=cost.total,
                        review_usage=cost.total if is_review else None,
                        judge=judge,
                    )
                )

    async def _count_verdict(self) -> None:
        self._verdicts += 1
        if self._verdicts % _YIELD_EVERY == 0:
            await yield_turn()
