"""The driver of a pool: sends tasks to workers, keeps the budget, and records what comes back."""

from collections.abc import Callable, Sequence
from functools import partial

from recall_bench.core.errors import BenchError, BudgetSpent, SystemGone
from recall_bench.core.event import (
    AgentEnded,
    Answered,
    Event,
    Judged,
    NotJudged,
    OtherVerdict,
    Paid,
    decode_event,
)
from recall_bench.core.usage import Usage
from recall_bench.running.scheduler import Scheduler
from recall_bench.running.worker_messages import (
    AskTask,
    FeedTask,
    GradeTask,
    RunSpec,
    SnapshotReady,
    Task,
    TaskFailure,
    TaskLimits,
    WorkerLost,
)
from recall_bench.running.worker_pool import CallLimits, WorkerPool

MAX_WORKER_LOSSES = 3
"""After this many workers died on the same work without any progress, it is given up."""


class Driver:
    """Sends tasks to the pool, and records what comes back."""

    def __init__(
        self, scheduler: Scheduler, pool: WorkerPool, calls: CallLimits, spec: RunSpec
    ) -> None:
        self.scheduler = scheduler
        self.pool = pool
        self.calls = calls
        self._spec = spec

    async def perform(
        self,
        task: Task,
        *,
        callees: Sequence[str],
        at_once: int,
        on_event: Callable[[Event], None] | None = None,
        on_snapshot: Callable[[SnapshotReady], None] | None = None,
    ) -> None:
        """Have a task done, with at most `at_once` calls at a time to each of the callees.

        Every event is recorded before `on_event` is called. If such a task may not begin any more
        when its turn comes, the reason is raised.
        """

        def handle_message(message: bytes | SnapshotReady) -> None:
            if isinstance(message, SnapshotReady):
                if on_snapshot is not None:
                    on_snapshot(message)
                return
            for line in message.splitlines():
                event = decode_event(line)
                self._record(event)
                if on_event is not None:
                    on_event(event)

        async with self.calls.allow_calls(callees, at_once) as granted:
            limits = partial(self._make_limits, task, granted)
            await self.pool.perform(self._spec, task, limits, handle_message)

    def _make_limits(self, task: Task, granted: int) -> TaskLimits:
        """Return the limits of this moment, when a worker is free; raise if it may not begin."""
        scheduler, context = self.scheduler, self.scheduler.context
        reason: BenchError | None = scheduler.budget.stop_reason
        if isinstance(task, AskTask | FeedTask):
            reason = scheduler.failure or reason
        elif isinstance(task, GradeTask) and context.judges.judge.card.computes:
            reason = None
        if reason is not None:
            raise reason
        return TaskLimits(
            at_once=granted,
            max_calls=None if self.calls.max_calls is None else granted,
            spent=scheduler.budget.total,
            allowed_usd=context.max_cost_usd,
            allowed_tokens=context.max_tokens,
        )

    def give_up(self, deaths: int, where: str, lost: WorkerLost) -> bool:
        """Whether too many workers died on some work; the run goes on without it."""
        if deaths < MAX_WORKER_LOSSES:
            return False
        self.scheduler.given_up = self.scheduler.given_up or SystemGone(
            f"{deaths} workers died {where} ({lost}): the system may end the process it is in, or "
            "use up its memory; run the same command again to retry"
        )
        return True

    async def broadcast_stop(self) -> None:
        """Tell every worker once nothing new may be begun; runs beside everything else."""
        await self.scheduler.stopped.wait()
        reason = self.scheduler.budget.stop_reason
        if reason is not None:
            await self.pool.stop(self._spec.run, TaskFailure.from_error(reason))

    def _record(self, event: Event) -> None:
        scheduler = self.scheduler
        scheduler.context.record(event)
        usage = _find_cost(event)
        if usage is None:
            return
        whose = _WHOSE.get(type(event), "the judge's")
        scheduler.budget.record_usage(usage, whose)
        try:
            scheduler.budget.refuse_if_spent()
        except BudgetSpent as spent:
            scheduler.stop(spent)
        if scheduler.budget.stop_reason is not None:
            scheduler.stopped.set()


def _find_cost(event: Event) -> Usage | None:
    """Return what we paid for an event."""
    match event:
        case (
            Judged(usage=usage)
            | NotJudged(usage=usage)
            | OtherVerdict(usage=usage)
            | Paid(usage=usage)
        ):
            return usage
        case Answered(reading_usage=usage) | AgentEnded(usage=usage):
            return usage
    return None


_WHOSE = {Answered: "the reader's", AgentEnded: "the agent's"}
