"""One run as its driver holds it: assignments go out, and what comes back goes on record."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import anyio

from recall_bench.core.event import Answered, Event, Judged, NotJudged, Paid, RunEnded, decode_event
from recall_bench.core.plan import Plan
from recall_bench.core.standing import TrialStates
from recall_bench.core.usage import Usage
from recall_bench.errors import BenchError, BudgetSpent, JudgeGone, SystemGone
from recall_bench.executors.assignments import (
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
from recall_bench.executors.crew import WorkerPool
from recall_bench.executors.limits import CallLimits
from recall_bench.running.company import RunContext
from recall_bench.running.owing import Backlog

ATTEMPTS = 3
"""So often may a worker die over an assignment, with nothing to show for it."""


class Driver:
    """Sends assignments to a crew, keeps the books, and knows when to begin nothing new."""

    def __init__(
        self,
        crew: WorkerPool,
        limits: CallLimits,
        brief: RunSpec,
        *,
        standings: TrialStates,
        company: RunContext,
    ) -> None:
        self.crew = crew
        self.plan: Plan = brief.plan
        self.standings = standings
        self.company = company
        self.owing = Backlog(brief.plan, standings, company)
        self.court = self.owing.court
        self.lost: BenchError | None = None
        """Why nothing more is asked."""
        self.given_up: BenchError | None = None
        """Why some of it is not asked, while everything else is."""
        self.limits = limits
        self._brief = brief
        self._bell = anyio.Event()

    @property
    def may_ask(self) -> bool:
        """Whether anything new may be fed or asked."""
        return self.lost is None and self.court.stop_reason is None

    async def perform(
        self,
        assignment: Task,
        *,
        whom: Sequence[str],
        at_once: int,
        heard: Callable[[Event], None] | None = None,
        ready: Callable[[SnapshotReady], None] | None = None,
    ) -> None:
        """Have an assignment carried out, with at most so many calls at a time to each of `whom`.

        Every event is on record before `heard` hears of it. If nothing of the kind is to be begun
        any more when its turn comes, the reason for that is raised.
        """

        def handle_message(message: bytes | SnapshotReady) -> None:
            if isinstance(message, SnapshotReady):
                if ready is not None:
                    ready(message)
                return
            for line in message.splitlines():
                event = decode_event(line)
                self._record(event)
                if heard is not None:
                    heard(event)

        async with self.limits.allow_calls(whom, at_once) as granted:
            terms = partial(self._make_limits, assignment, granted)
            await self.crew.perform(self._brief, assignment, terms, handle_message)

    def _make_limits(self, assignment: Task, granted: int) -> TaskLimits:
        """What holds now that a worker is there; raises why it is not to begin."""
        why: BenchError | None = self.court.stop_reason
        if isinstance(assignment, AskTask | FeedTask):
            why = self.lost or why
        elif isinstance(assignment, GradeTask) and self.company.bench.judge.card.computes:
            why = None
        if why is not None:
            raise why
        return TaskLimits(
            at_once=granted,
            max_calls=None if self.limits.max_calls is None else granted,
            spent=self.court.total,
            allowed_usd=self.company.max_cost_usd,
            allowed_tokens=self.company.max_tokens,
        )

    async def run_guarded(self, call: Callable[[], Awaitable[None]]) -> None:
        """What goes wrong in one task ends the asking, or all that costs money; not the others."""
        try:
            await call()
        except (BudgetSpent, JudgeGone) as reason:
            self.stop(reason)
        except BenchError as error:
            self.lost = self.lost or error

    def stop(self, reason: BudgetSpent | JudgeGone) -> None:
        """Begin nothing new that costs money, and have the crew told."""
        self.court.stop(reason)
        self._bell.set()

    def give_up(self, deaths: int, where: str, lost: WorkerLost) -> bool:
        """Whether so many workers died over some work that it is left alone; the rest goes on."""
        if deaths < ATTEMPTS:
            return False
        self.given_up = self.given_up or SystemGone(
            f"{deaths} workers died {where} ({lost}): the system may end the process it is in, or "
            "use up its memory; the same command tries again"
        )
        return True

    async def broadcast(self) -> None:
        """Once nothing new is to be begun, tell the crew. To be run beside everything else."""
        await self._bell.wait()
        if self.court.stop_reason is not None:
            await self.crew.stop(self._brief.run, TaskFailure.from_error(self.court.stop_reason))

    def finish(self) -> None:
        """Say that the run has ended; or raise why it has not."""
        lost = self.lost or self.court.stop_reason or self.given_up
        if lost is not None and not (isinstance(lost, BudgetSpent) and self._is_done):
            raise lost
        if self.owing.is_all_done:
            self.company.record(RunEnded(at=datetime.now(UTC)))

    @property
    def _is_done(self) -> bool:
        """Whether there is nothing left to pay for: a limit that was just reached ended nothing."""
        return not any(self.owing.is_anything_left(card.id) for card in self.plan.scenarios)

    def _record(self, event: Event) -> None:
        self.company.record(event)
        usage = _find_cost(event)
        if usage is None:
            return
        self.court.record_usage(
            usage, "the reader's" if isinstance(event, Answered) else "the judge's"
        )
        try:
            self.court.refuse_if_spent()
        except BudgetSpent as spent:
            self.stop(spent)
        if self.court.stop_reason is not None:
            self._bell.set()


def _find_cost(event: Event) -> Usage | None:
    """What an event says was paid by us."""
    match event:
        case Judged(usage=usage) | NotJudged(usage=usage) | Paid(usage=usage):
            return usage
        case Answered(reading_usage=usage):
            return usage
    return None
