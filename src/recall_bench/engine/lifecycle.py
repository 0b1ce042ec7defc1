"""The three lifecycles: how a memory gets to the state that a checkpoint asks.

`fresh` feeds a new memory for every checkpoint and repeat, `forked` feeds one and asks copies of
it, `growing` feeds one and asks it in place. Only the first two guarantee that nothing was asked of
a memory before.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from itertools import groupby, product

import anyio

from recall_bench.core.errors import (
    BenchError,
    NotOffered,
    SystemGone,
    SystemStuck,
    SystemTimeout,
    UsageError,
)
from recall_bench.core.memory import AttestingMemory, CopySnapshots, Memory, Snapshots
from recall_bench.core.plan import Lifecycle
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.core.work_unit import select_part
from recall_bench.engine.checkpoint import MemorySlot, OpenTrials, ask_checkpoint
from recall_bench.engine.fed_memory import (
    FedMemory,
    FeedFault,
    call_in_time,
    close_memory,
    make_failure,
    open_fed_memory,
    release,
)
from recall_bench.engine.scenario_run import ScenarioRun

_HANGING = frozenset({SystemTimeout.__name__, SystemStuck.__name__})


async def run_lifecycle(run: ScenarioRun, rounds: Sequence[OpenTrials]) -> None:
    """Feed memories and ask these trials, in the way of the plan's lifecycle.

    If a memory cannot be fed, that is recorded and its remaining trials stay open; the trials of
    other memories are asked. ReaderPending is raised when everything was asked.
    """
    if not rounds:
        return
    ask_rounds = {
        Lifecycle.FRESH: _run_fresh,
        Lifecycle.FORKED: _run_forked,
        Lifecycle.GROWING: _run_growing,
    }[run.plan.lifecycle]
    try:
        await ask_rounds(run, rounds)
    except FeedFault as fault:
        run.record(fault.event)
    raise_pending(run)


def raise_pending(run: ScenarioRun) -> None:
    """Raise the last of the reader's replies that come later, if there are any."""
    if run.pending:
        raise run.pending[-1]


def list_open_trials(
    trials: ScenarioStates,
    checkpoint: str | None = None,
    repeat: int | None = None,
    copy: int | None = None,
    *,
    copies: int = 1,
) -> Iterator[OpenTrials]:
    """List what was not asked yet, in story order, the repeats of a checkpoint together.

    Only that of the checkpoint, of the repeat and of the copy, if they are given. With several
    copies, the questions of each are listed by themselves.
    """
    rows = range(len(trials.checkpoint_plans)) if checkpoint is None else [trials.row[checkpoint]]
    repeats = range(trials.repeats) if repeat is None else [repeat]
    places = range(copies) if copy is None else [copy]
    for row, number, place in product(rows, repeats, places):
        if items := trials.list_open_items(row, number, select_part(place, copies)):
            yield OpenTrials(trials.checkpoint_plans[row], number, items)


async def _run_fresh(
    run: ScenarioRun, rounds: Sequence[OpenTrials], first: Memory | None = None
) -> None:
    """Feed a memory for each round; `first` is one that was fed for the first of them."""
    for trials in rounds:
        with record_fault(run):
            reopen = partial(_feed_new_memory, run, trials.point)
            memory, first = first, None
            slot = MemorySlot(memory or await reopen(), reopen)
            async with close_after(run, trials.point, slot):
                await ask_checkpoint(run, trials, slot)


@contextmanager
def record_fault(run: ScenarioRun) -> Iterator[None]:
    """Record that one memory could not be fed, and go on with the next.

    A timeout is raised: a system that hangs once would hang again, and for as long.
    """
    try:
        yield
    except FeedFault as fault:
        if fault.event.fault in _HANGING:
            raise
        run.record(fault.event)


async def _feed_new_memory(run: ScenarioRun, point: CheckpointPlan) -> Memory:
    """Open a memory and feed it from the first day up to the checkpoint."""
    life = await open_fed_memory(run, point)
    try:
        await life.feed_until(point)
    except BaseException:
        await close_memory(life.memory, run, point)
        raise
    return life.memory


@asynccontextmanager
async def close_after(
    run: ScenarioRun, point: CheckpointPlan, slot: MemorySlot
) -> AsyncIterator[None]:
    """Close the memory that is in the slot by the end of the block."""
    try:
        yield
    finally:
        await close_memory(slot.memory, run, point)


async def _run_growing(run: ScenarioRun, rounds: Sequence[OpenTrials]) -> None:
    fed = await _resume_memory(run, rounds[0].point)
    try:
        for trials in rounds:
            await fed.feed_until(trials.point)
            slot = MemorySlot(fed.memory, partial(_feed_new_memory, run, trials.point))
            try:
                await ask_checkpoint(run, trials, slot)
            finally:
                fed.memory = slot.memory
    finally:
        await close_memory(fed.memory, run, rounds[-1].point)


async def _resume_memory(run: ScenarioRun, point: CheckpointPlan) -> FedMemory:
    """Open an empty memory, or one that the system attests to have kept."""
    opened = await open_fed_memory(run, point)
    last_day = run.trials.last_fed_day
    if not run.skip_catchup or last_day == 0:
        return opened
    memory = opened.memory
    if last_day > point.cutoff:
        await close_memory(memory, run, point)
        raise UsageError(
            f"the system was fed up to day {last_day}, beyond the checkpoint "
            f"{point.checkpoint.label} that is still owed; run without --skip-catchup-ingest"
        )
    fed = sum(episode.day <= last_day for episode in run.scenario.fed_episodes)
    count = None
    if isinstance(memory, AttestingMemory):
        count = await call_in_time("attest", memory.attest, run=run, point=point)
    if count == fed:
        return FedMemory(memory, run, fed)
    await close_memory(memory, run, point)
    name = run.system.card.name
    if count is None:
        raise UsageError(
            f"{name} cannot say which days it still remembers; run without --skip-catchup-ingest"
        )
    raise SystemGone(
        f"{name} remembers {count} of the {fed} days it was fed; run without --skip-catchup-ingest"
    )


async def _run_forked(run: ScenarioRun, rounds: Sequence[OpenTrials]) -> None:
    """Feed one memory, and ask copies of it at each checkpoint while feeding goes on.

    If the system's spending is metered, or copies share files with it, feeding waits for the
    asking. From where the memory cannot be copied any more, each checkpoint and repeat gets a new
    one; the first is the memory itself, if no copy of it was asked that may have left it something.
    """
    snapshots = run.system.snapshots
    if snapshots is None:
        raise UsageError(
            f"--lifecycle forked: {run.system.card.name} cannot be copied; use fresh or growing"
        )
    stages = [list(group) for _, group in groupby(rounds, key=lambda each: each.point.checkpoint)]
    fed = await open_fed_memory(run, rounds[0].point)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(lambda: close_memory(fed.memory, run, rounds[-1].point))
        token = await _feed_and_save(run, fed, snapshots, rounds[0].point)
        for now, later in zip(stages, [*stages[1:], None], strict=True):
            if token is None:
                first = fed.memory if now is stages[0] else None
                if first is not None:
                    stack.pop_all()
                await _run_fresh(run, rounds[rounds.index(now[0]) :], first)
                return
            ask = partial(ask_copies, run, now, snapshots, token)
            if later is None:
                await ask()
                return
            feed = partial(_feed_and_save, run, fed, snapshots, later[0].point)
            if run.meter is None and not getattr(snapshots, "shares_files", False):
                token = await _run_both(ask, feed)
            else:
                # The meter cannot tell spending on asking from spending on feeding.
                await ask()
                token = await feed()


async def _feed_and_save(
    run: ScenarioRun, fed: FedMemory, snapshots: Snapshots, point: CheckpointPlan
) -> str | None:
    """Feed the memory, and return the token of a snapshot; None if it cannot be copied now."""
    await fed.feed_until(point)
    save = partial(snapshots.save, fed.memory)
    try:
        return await call_in_time("snapshot", save, run=run, point=point)
    except NotOffered as refusal:
        run.record(make_failure("snapshot", refusal, run, point))
        return None


async def ask_copies(
    run: ScenarioRun, rounds: Sequence[OpenTrials], snapshots: Snapshots, token: str
) -> None:
    """Ask each round of one checkpoint on a copy of the snapshot, then drop the snapshot."""
    open_last = snapshots.open_last if isinstance(snapshots, CopySnapshots) else None
    for trials in rounds:
        copy = partial(_open_copy, run, trials.point, partial(snapshots.open, token))
        first, again = copy, copy
        if open_last is not None and trials is rounds[-1]:
            # Nothing is left of the snapshot then, should the memory have to be replaced.
            first = partial(_open_copy, run, trials.point, partial(open_last, token))
            again = partial(_feed_new_memory, run, trials.point)
        with record_fault(run):
            slot = MemorySlot(await first(), again)
            async with close_after(run, trials.point, slot):
                await ask_checkpoint(run, trials, slot)
    await release(partial(snapshots.drop, token), run, rounds[-1].point)


async def _open_copy(
    run: ScenarioRun, point: CheckpointPlan, open_copy: Callable[[], Awaitable[Memory]]
) -> Memory:
    """Open a copy of a snapshot; feed a new memory if it cannot be copied any more."""
    try:
        return await call_in_time("snapshot", open_copy, run=run, point=point)
    except NotOffered as refusal:
        run.record(make_failure("snapshot", refusal, run, point))
        return await _feed_new_memory(run, point)


async def _run_both(
    ask: Callable[[], Awaitable[None]], feed: Callable[[], Awaitable[str | None]]
) -> str | None:
    """Ask and feed at the same time, return the token of feeding; raise when both have ended."""
    raised: list[BenchError | FeedFault] = []
    token: str | None = None

    async def run_guarded(call: Callable[[], Awaitable[str | None]]) -> None:
        nonlocal token
        try:
            # Asking returns none.
            token = await call() or token
        except (BenchError, FeedFault) as fault:
            raised.append(fault)

    async with anyio.create_task_group() as group:
        group.start_soon(run_guarded, ask)
        group.start_soon(run_guarded, feed)
    if raised:
        raise next((fault for fault in raised if isinstance(fault, SystemGone)), raised[0])
    return token
