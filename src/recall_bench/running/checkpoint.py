"""One memory, one checkpoint: the questions are put and the answers written down."""

import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime

import anyio
from anyio.lowlevel import checkpoint as breathe

from recall_bench.core.budget import SYSTEM
from recall_bench.core.errors import (
    BudgetSpent,
    ReaderFault,
    SystemFault,
    SystemGone,
    SystemStuck,
    SystemTimeout,
)
from recall_bench.core.event import QUERY, Answered, NotAnswered
from recall_bench.core.memory import Answer, Memory, RetrievalReply
from recall_bench.core.plan import Trial
from recall_bench.core.retry import BusyError, limit_time, make_postponement, retry
from recall_bench.core.scenario import Question
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.running.fed_memory import FeedFault
from recall_bench.running.scenario_run import ScenarioRun


class MemorySlot:
    """The memory being asked. One that got stuck is replaced by another just like it."""

    def __init__(self, memory: Memory, renew: Callable[[], Awaitable[Memory]]) -> None:
        self.memory = memory
        self._renew = renew
        self._lock = anyio.Lock()

    async def replace(self, stuck: Memory) -> None:
        """Put another memory in the stuck one's place, unless somebody already has."""
        async with self._lock:
            if self.memory is stuck:
                self.memory = await self._renew()


class CheckpointRun:
    """The trials of one checkpoint and repeat that are still to be put."""

    def __init__(
        self, exam: ScenarioRun, sheet: CheckpointPlan, repeat: int, unasked: list[int]
    ) -> None:
        self._exam = exam
        self._sheet = sheet
        self._repeat = repeat
        self._left = iter(unasked)
        self._count = len(unasked)
        self._lost: list[SystemGone | FeedFault | ReaderFault | BudgetSpent] = []
        self._timeout_s = None if exam.system.card.computes else exam.plan.answer_timeout_s

    async def ask_all(self, seat: MemorySlot) -> None:
        """Put every question, as many at a time as plan and system allow.

        Once the court has adjourned no further one is put, and why is raised.
        """
        try:
            await self._run_workers(seat)
        finally:
            self._exam.read_meter(self._sheet, QUERY)
        if self._lost:
            raise self._lost[0]
        self._exam.court.check()

    async def _run_workers(self, seat: MemorySlot) -> None:
        exam = self._exam
        limit = min(exam.parallelism, exam.system.card.max_concurrency, self._count)
        if limit <= 1:
            await self._run_worker(seat)
        else:
            async with anyio.create_task_group() as group:
                for _ in range(limit):
                    group.start_soon(self._run_worker, seat, group.cancel_scope)

    async def _run_worker(self, seat: MemorySlot, others: anyio.CancelScope | None = None) -> None:
        exam = self._exam
        for trial, question in self._iterate_trials():
            if self._lost or exam.court.stop_reason is not None:
                return
            try:
                exam.desk.refuse_if_spent()
                outcome = await self._ask_trial(trial, question, seat)
            except (SystemGone, FeedFault) as gone:
                self._lost.append(gone)
                if others is not None:
                    others.cancel()
                return
            except (ReaderFault, BudgetSpent) as fault:
                # The others may end what they have begun: their reading is paid for.
                self._lost.append(fault)
                return
            exam.record(outcome)
            if isinstance(outcome, Answered) and not exam.plan.unjudged:
                exam.docket.submit(outcome)
                if exam.docket.is_deep:
                    await breathe()

    def _iterate_trials(self) -> Iterator[tuple[Trial, Question]]:
        """What is left, shared by all who work on it: each trial is taken once."""
        scenario = self._exam.scenario
        at = scenario.compute_date(self._sheet.cutoff)
        for index in self._left:
            item = scenario.items[index]
            trial = Trial(
                scenario=scenario.id,
                item=item.id,
                checkpoint=self._sheet.checkpoint.label,
                repeat=self._repeat,
            )
            yield trial, item.ask(scenario.id, at, self._exam.plan.top_k)

    async def _ask_trial(
        self, trial: Trial, question: Question, seat: MemorySlot
    ) -> Answered | NotAnswered:
        memory = seat.memory
        outcome = await self._ask_memory(trial, question, memory)
        if isinstance(outcome, NotAnswered) and outcome.fault == SystemStuck.__name__:
            # The memory was already stuck when this question reached it: the question has
            # not been heard by anyone, so it is put to the replacement.
            await seat.replace(memory)
            outcome = await self._ask_memory(trial, question, seat.memory)
        return outcome

    async def _ask_memory(
        self, trial: Trial, question: Question, memory: Memory
    ) -> Answered | NotAnswered:
        """Ask once, or again while the system says it is busy; SystemGone passes through."""
        exam, started = self._exam, 0.0

        async def ask_once() -> tuple[Answer | RetrievalReply, float]:
            nonlocal started
            async with exam.court.calls.limit(SYSTEM):
                started = time.perf_counter()
                reply = await self._wait_for_reply(memory, question)
                return reply, time.perf_counter() - started

        def record_busy(busy: BusyError) -> None:
            exam.record(make_postponement(trial, busy))

        try:
            reply, seconds = await retry(ask_once, record_busy)
        except SystemFault as fault:
            return NotAnswered(
                at=datetime.now(UTC),
                trial=trial,
                fault=type(fault).__name__,
                message=str(fault),
                seconds=time.perf_counter() - started,
            )
        handled = await exam.desk.finish_reply(question, reply, self._sheet.cutoff, record_busy)
        return Answered(
            at=datetime.now(UTC),
            trial=trial,
            answer=handled.answer,
            seconds=seconds,
            delivery=handled.delivery,
            reading_s=handled.reading_s,
            reading_usage=handled.reading_usage,
        )

    async def _wait_for_reply(self, memory: Memory, question: Question) -> Answer | RetrievalReply:
        """What the system says; without a timeout it is awaited however long it takes."""
        if self._timeout_s is None:
            return await memory.answer(question)
        overrun = SystemTimeout(f"no answer within {self._timeout_s:g} s")
        return await limit_time(self._timeout_s, memory.answer(question), overrun)
