"""Ask one memory everything that one checkpoint still owes, and record the answers."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import anyio

from recall_bench.core.errors import (
    BudgetSpent,
    ReaderFault,
    ReaderPending,
    RetryLater,
    SystemDied,
    SystemFault,
    SystemGone,
    SystemStuck,
)
from recall_bench.core.event import QUERY, Answered, NotAnswered
from recall_bench.core.event_redaction import redact_event
from recall_bench.core.memory import Memory
from recall_bench.core.plan import Trial
from recall_bench.core.retry import OnBusy, choose_limit, ignore_busy, make_postponement
from recall_bench.core.scenario import Question
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.engine.fed_memory import FeedFault
from recall_bench.engine.scenario_run import ScenarioRun
from recall_bench.systems.memory_call import MemoryReply, ask_memory
from recall_bench.systems.reply import ReplyFinisher

MAX_DEATHS = 3
"""After this many processes or workers died at a question, it counts as not answered."""


class MemorySlot:
    """The memory being asked. One that is stuck or died is replaced by a new one in its state."""

    def __init__(self, memory: Memory, renew: Callable[[], Awaitable[Memory]]) -> None:
        self.memory = memory
        self._renew = renew
        self._lock = anyio.Lock()

    async def replace(self, stuck: Memory) -> None:
        """Replace the stuck memory, unless another task has done so already."""
        async with self._lock:
            if self.memory is stuck:
                self.memory = await self._renew()


@dataclass(frozen=True, slots=True)
class OpenTrials:
    """The trials of one checkpoint, repeat and copy of the memory that were not asked yet."""

    point: CheckpointPlan
    repeat: int
    items: list[int]
    """Indexes into the scenario's items, in the order they are asked."""


async def ask_checkpoint(run: ScenarioRun, trials: OpenTrials, slot: MemorySlot) -> None:
    """Ask every question, as many at a time as plan and system allow.

    Once the budget is spent no further question is asked, and the reason is raised.
    """
    asker = _CheckpointAsker(run, trials, slot, iter(trials.items))
    limit = min(run.parallelism, run.system.card.max_concurrency, len(trials.items))
    try:
        async with anyio.create_task_group() as group:
            for _ in range(max(1, limit)):
                group.start_soon(asker.ask_trials, group.cancel_scope)
    finally:
        run.record_exchanges(trials.point, QUERY)
        run.read_meter(trials.point, QUERY)
    if asker.failures:
        raise asker.failures[0]
    run.budget.check()


@dataclass(slots=True)
class _CheckpointAsker:
    """The state that the tasks asking one checkpoint share."""

    run: ScenarioRun
    trials: OpenTrials
    slot: MemorySlot
    left: Iterator[int]
    """Taken from by all tasks, so that each item is asked once."""
    suspects: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while a question is asked again that may have killed a process."""
    failures: list[SystemGone | FeedFault | ReaderFault | BudgetSpent] = field(default_factory=list)
    """What ends the asking; the first is raised."""

    async def ask_trials(self, others: anyio.CancelScope) -> None:
        """Ask until no item is left; an unreachable system also cancels the other tasks."""
        run = self.run
        timeout_s = choose_limit(run.plan.answer_timeout_s, run.system.card)
        for trial, question in self._list_trials():
            if self.failures or run.budget.stop_reason is not None:
                return
            on_busy = partial(self._record_busy, trial)
            ask = partial(self._ask_once, trial, question, timeout_s)
            try:
                run.finisher.refuse_if_spent()
                memory = self.slot.memory
                reply = await ask(memory)
                if isinstance(reply.content, SystemStuck):
                    # The memory was stuck before this question reached it, so the question is
                    # asked again.
                    await self.slot.replace(memory)
                    reply = await ask(self.slot.memory)
                elif isinstance(reply.content, SystemDied):
                    reply = await self._ask_again(ask, memory, reply)
                # The judge sees what the journal holds.
                finished = await finish_trial(
                    run.finisher,
                    trial,
                    question,
                    reply,
                    until=self.trials.point.cutoff,
                    on_busy=on_busy,
                )
                outcome = redact_event(finished)
            except (SystemGone, FeedFault) as gone:
                self.failures.append(gone)
                others.cancel()
                return
            except ReaderPending as pending:
                run.pending.append(pending)
                continue
            except (ReaderFault, BudgetSpent) as fault:
                # The other tasks may finish: their reading is paid for.
                self.failures.append(fault)
                return
            run.record_exchanges(self.trials.point, QUERY)
            run.record(outcome)
            if isinstance(outcome, Answered):
                await run.submit(outcome)

    async def _ask_again(
        self, ask: Callable[[Memory], Awaitable[MemoryReply]], memory: Memory, reply: MemoryReply
    ) -> MemoryReply:
        """Ask new memories, after the process of one died, until too many have died.

        What else was asked in that process may have killed it: such questions are asked again one
        after another.
        """
        async with self.suspects:
            for _ in range(MAX_DEATHS - 1):
                await self._bury(memory)
                memory = self.slot.memory
                reply = await ask(memory)
                if not isinstance(reply.content, SystemDied):
                    return reply
            await self._bury(memory)
        return reply

    async def _bury(self, memory: Memory) -> None:
        """Replace a memory whose process has died, and free what it held here."""
        await self.slot.replace(memory)
        with suppress(SystemFault, SystemGone):
            await memory.close()

    async def _ask_once(
        self, trial: Trial, question: Question, timeout_s: float | None, memory: Memory
    ) -> MemoryReply:
        run = self.run
        try:
            return await ask_memory(
                memory,
                question,
                timeout_s=timeout_s,
                calls=run.budget.calls,
                on_busy=partial(self._record_busy, trial),
            )
        finally:
            item = run.scenario.items[run.trials.index[trial.item]]
            if hasattr(memory, "take_sessions"):
                from recall_bench.engine.agent_events import record_question_sessions

                record_question_sessions(run, memory, question.id, trial, item)

    def _list_trials(self) -> Iterator[tuple[Trial, Question]]:
        scenario, point = self.run.scenario, self.trials.point
        at = scenario.compute_date(point.cutoff)
        for index in self.left:
            item = scenario.items[index]
            trial = Trial(
                scenario=scenario.id,
                item=item.id,
                checkpoint=point.checkpoint.label,
                repeat=self.trials.repeat,
            )
            yield trial, item.ask(scenario.id, at, self.run.plan.top_k)

    def _record_busy(self, trial: Trial, busy: RetryLater) -> None:
        self.run.record(make_postponement(trial, busy))


async def finish_trial(
    finisher: ReplyFinisher,
    trial: Trial,
    question: Question,
    reply: MemoryReply,
    *,
    until: int,
    on_busy: OnBusy = ignore_busy,
) -> Answered | NotAnswered:
    """Turn a reply of a system that was fed up to day `until` into the event to record."""
    try:
        if isinstance(reply.content, SystemFault):
            raise reply.content
        finished = await finisher.finish_reply(question, reply.content, until, on_busy)
    except SystemFault as fault:
        return NotAnswered(
            at=datetime.now(UTC),
            trial=trial,
            fault=type(fault).__name__,
            message=str(fault),
            seconds=reply.seconds,
        )
    return Answered(
        at=datetime.now(UTC),
        trial=trial,
        answer=finished.answer,
        seconds=reply.seconds,
        delivery=finished.delivery,
        reading_s=finished.reading_s,
        reading_usage=finished.reading_usage,
    )
