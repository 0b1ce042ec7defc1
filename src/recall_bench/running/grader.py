"""Puts recorded answers before a judge. Needs the journal and the dataset, never the system."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial

import anyio
from anyio.lowlevel import checkpoint as breathe

from recall_bench.core.budget import AnswerCost, Budget
from recall_bench.core.errors import BudgetSpent, JudgeFault, JudgeGone
from recall_bench.core.event import Answered, Judged, NotJudged, Paid
from recall_bench.core.plan import Plan, Trial
from recall_bench.core.retry import BusyError, make_postponement
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.judging.exhibits import ExhibitFactory
from recall_bench.judging.judge_call import JudgeCall, Judges, run_workers
from recall_bench.running.scenario_run import AnswerQueue, Recorder

_TURN = 64


class Grader:
    """One scenario's answers before the bench."""

    def __init__(
        self,
        exhibits: ExhibitFactory,
        *,
        plan: Plan,
        bench: Judges,
        court: Budget,
        record: Recorder,
    ) -> None:
        self._exhibits = exhibits
        self._court = court
        self._record = record
        self._verdicts = 0
        self._first = JudgeCall.make(bench.judge, plan.judge_timeout_s, court)
        appellate = bench.appellate
        self._second = (
            None if appellate is None else JudgeCall.make(appellate, plan.judge_timeout_s, court)
        )

    async def run(
        self,
        left_over: Iterable[Answered],
        docket: AnswerQueue,
        overflow: Callable[[], Iterable[Answered]],
        workers: int,
    ) -> None:
        """Judge what an earlier run left, then what comes, then what the docket could not hold.

        It ends early, with what is left still on record, once the court has adjourned.
        """
        await run_workers(left_over, self._judge, workers)
        async with anyio.create_task_group() as group:
            for _ in range(workers):
                group.start_soon(self._judge_queue, docket)
        if docket.overflowed:
            await run_workers(overflow(), self._judge, workers)

    async def review(self, due: Iterable[tuple[Answered, Verdict]], workers: int) -> None:
        """Put answers with the first verdict on each before the appellate judge."""
        await run_workers(due, self._review, workers)

    async def _judge_queue(self, docket: AnswerQueue) -> None:
        while (answered := await docket.pop()) is not None:
            if not await self._judge(answered):
                return

    async def _judge(self, answered: Answered) -> bool:
        """Judge one answer and record it; False if the court has adjourned."""
        bill = AnswerCost(self._court)
        outcome = await self._judge_first(answered, bill)
        if isinstance(outcome, Judged) and self._second is not None and outcome.verdict.is_failure:
            outcome = await self._review_failure(answered, outcome, self._second)
        if outcome is not None:
            self._record(outcome)
        await self._yield_turn()
        return outcome is not None

    async def _judge_first(self, answered: Answered, bill: AnswerCost) -> Judged | NotJudged | None:
        trial = answered.trial
        exhibit = self._exhibits.build(answered, bill)
        try:
            verdict, seconds = await self._first.judge_exhibit(
                exhibit, partial(self._record_postponed, trial)
            )
            return Judged(
                at=datetime.now(UTC),
                trial=trial,
                verdict=verdict,
                usage=bill.total,
                seconds=seconds,
            )
        except (BudgetSpent, JudgeGone) as reason:
            self._court.stop(reason)
            self._record_paid(trial, bill.total)
            return None
        except JudgeFault as fault:
            return NotJudged(
                at=datetime.now(UTC),
                trial=trial,
                fault=type(fault).__name__,
                message=str(fault),
                usage=bill.total,
            )
        except BaseException:
            self._record_paid(trial, bill.total)
            raise

    async def _review_failure(self, answered: Answered, judged: Judged, chair: JudgeCall) -> Judged:
        """The failure after its review; without one, to be reviewed later, if there can be none."""
        try:
            return await self._judge_again(answered, judged, chair) or judged
        except BaseException:
            # The first verdict is paid for: it must not be lost with the review.
            self._record(judged)
            raise

    async def _review(self, due: tuple[Answered, Verdict]) -> bool:
        """Review one verdict and record it; False if the court has adjourned."""
        answered, first = due
        if self._second is None:
            raise AssertionError("nobody is there to review a verdict")
        judged = Judged(at=datetime.now(UTC), trial=answered.trial, verdict=first)
        reviewed = await self._judge_again(answered, judged, self._second)
        if reviewed is not None:
            self._record(reviewed)
        await self._yield_turn()
        return reviewed is not None

    async def _judge_again(
        self, answered: Answered, judged: Judged, chair: JudgeCall
    ) -> Judged | None:
        """The verdict after its review, or why that failed; None if there can be none now."""
        trial, bill = answered.trial, AnswerCost(self._court)
        exhibit = self._exhibits.build(answered, bill)
        try:
            final, _ = await chair.judge_exhibit(exhibit, partial(self._record_postponed, trial))
        except (BudgetSpent, JudgeGone) as reason:
            self._court.stop(reason)
            self._record_paid(trial, bill.total, bill.total)
            return None
        except JudgeFault as fault:
            outcome: dict[str, object] = {"review_fault": f"{type(fault).__name__}: {fault}"}
        except BaseException:
            self._record_paid(trial, bill.total, bill.total)
            raise
        else:
            outcome = {"verdict": final, "primary": judged.verdict}
        usage = _add_usage(judged.usage, bill.total)
        now = datetime.now(UTC)
        return judged.replace(at=now, usage=usage, review_usage=bill.total, **outcome)

    def _record_postponed(self, trial: Trial, busy: BusyError) -> None:
        self._record(make_postponement(trial, busy))

    def _record_paid(
        self, trial: Trial, usage: Usage | None, reviewing: Usage | None = None
    ) -> None:
        if usage is not None:
            now = datetime.now(UTC)
            self._record(Paid(at=now, trial=trial, usage=usage, review_usage=reviewing))

    async def _yield_turn(self) -> None:
        """Let the others have a turn now and then: a judge that computes never waits."""
        self._verdicts += 1
        if self._verdicts % _TURN == 0:
            await breathe()


def _add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
