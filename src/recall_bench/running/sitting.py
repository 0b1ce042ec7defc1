"""One memory, one checkpoint: the questions are put and the answers written down."""

import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime

import anyio
from anyio.lowlevel import checkpoint as breathe

from recall_bench.core.event import Answered, NotAnswered
from recall_bench.core.memory import Memory
from recall_bench.core.plan import Trial
from recall_bench.core.question import Question
from recall_bench.core.schedule import Sheet
from recall_bench.errors import SystemFault, SystemGone, SystemStuck, SystemTimeout
from recall_bench.running.desk import Desk
from recall_bench.running.examination import Examination
from recall_bench.running.life import FeedFault
from recall_bench.running.patience import Busy, persistently, postponed, within


class Seat:
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


class Sitting:
    """The trials of one checkpoint and repeat that are still to be put."""

    def __init__(self, exam: Examination, sheet: Sheet, repeat: int, unasked: list[int]) -> None:
        self._exam = exam
        self._sheet = sheet
        self._repeat = repeat
        self._left = iter(unasked)
        self._count = len(unasked)
        self._lost: list[SystemGone | FeedFault] = []
        self._timeout_s = None if exam.system.card.computes else exam.plan.answer_timeout_s

    async def hold(self, seat: Seat) -> None:
        """Put every question, as many at a time as plan and system allow.

        Once the court has adjourned no further one is put, and why is raised.
        """
        exam = self._exam
        limit = min(exam.parallelism, exam.system.card.max_concurrency, self._count)
        if limit <= 1:
            await self._work(seat)
        else:
            async with anyio.create_task_group() as group:
                for _ in range(limit):
                    group.start_soon(self._work, seat, group.cancel_scope)
        if self._lost:
            raise self._lost[0]
        exam.court.check()

    async def _work(self, seat: Seat, others: anyio.CancelScope | None = None) -> None:
        exam = self._exam
        for trial, question in self._trials():
            if exam.court.adjourned is not None:
                return
            try:
                outcome = await self._put(trial, question, seat)
            except (SystemGone, FeedFault) as gone:
                self._lost.append(gone)
                if others is not None:
                    others.cancel()
                return
            exam.record(outcome)
            if isinstance(outcome, Answered):
                exam.docket.submit(outcome)
                if exam.docket.is_deep:
                    await breathe()

    def _trials(self) -> Iterator[tuple[Trial, Question]]:
        """What is left, shared by all who work on it: each trial is taken once."""
        scenario = self._exam.scenario
        at = scenario.date_of(self._sheet.cutoff)
        for index in self._left:
            item = scenario.items[index]
            trial = Trial(
                scenario=scenario.id,
                item=item.id,
                checkpoint=self._sheet.checkpoint.label,
                repeat=self._repeat,
            )
            yield trial, item.ask(scenario.id, at)

    async def _put(self, trial: Trial, question: Question, seat: Seat) -> Answered | NotAnswered:
        memory = seat.memory
        outcome = await self._asked(trial, question, memory)
        if isinstance(outcome, NotAnswered) and outcome.fault == SystemStuck.__name__:
            # The memory was already stuck when this question reached it: the question has
            # not been heard by anyone, so it is put to the replacement.
            await seat.replace(memory)
            outcome = await self._asked(trial, question, seat.memory)
        return outcome

    async def _asked(
        self, trial: Trial, question: Question, memory: Memory
    ) -> Answered | NotAnswered:
        record = self._exam.record
        return await put(
            trial, question, memory, self._timeout_s, lambda busy: record(postponed(trial, busy))
        )


async def put(
    trial: Trial,
    question: Question,
    memory: Memory,
    timeout_s: float | None,
    told: Callable[[Busy], None],
) -> Answered | NotAnswered:
    """Ask once, or again while the system says it is busy; SystemGone passes through.

    Without a timeout the answer is awaited however long it takes.
    """
    started = 0.0

    async def once() -> Answered:
        nonlocal started
        started = time.perf_counter()
        if timeout_s is None:
            reply = await memory.answer(question)
        else:
            overrun = SystemTimeout(f"no answer within {timeout_s:g} s")
            reply = await within(timeout_s, memory.answer(question), overrun)
        seconds = time.perf_counter() - started
        answer = await Desk().answer(question, reply)
        return Answered(at=datetime.now(UTC), trial=trial, answer=answer, seconds=seconds)

    try:
        return await persistently(once, told)
    except SystemFault as fault:
        return NotAnswered(
            at=datetime.now(UTC),
            trial=trial,
            fault=type(fault).__name__,
            message=str(fault),
            seconds=time.perf_counter() - started,
        )
