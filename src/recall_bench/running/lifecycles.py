"""Three ways for a memory to have lived exactly the days up to a checkpoint.

`fresh` and `forked` promise that nothing was asked of it before; `growing` does not. Each
repeat of a checkpoint gets a memory of its own where the lifecycle can give it one.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from typing import TypeVar

import anyio

from recall_bench.core.memory import AttestingMemory, Memory, Snapshots
from recall_bench.core.plan import Lifecycle
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.standing import ScenarioStates
from recall_bench.errors import BenchError, SystemGone, SystemStuck, SystemTimeout, UsageError
from recall_bench.running.examination import ScenarioRun
from recall_bench.running.life import (
    FedMemory,
    FeedFault,
    call_in_time,
    close_memory,
    open_fed_memory,
    release,
)
from recall_bench.running.sitting import CheckpointRun, MemorySlot

T = TypeVar("T")

_HANGING = frozenset({SystemTimeout.__name__, SystemStuck.__name__})

OpenTrials = tuple[CheckpointPlan, int, list[int]]
"""A checkpoint, a repeat, and the items it has not put yet."""


async def run_lifecycle(exam: ScenarioRun, papers: Sequence[OpenTrials] | None = None) -> None:
    """Put everything the scenario still owes, or these papers of it, by the plan's lifecycle.

    A system that cannot be fed is recorded, and what it owed of that memory from there on stays
    open; what another memory is asked is not.
    """
    papers = list(list_open_trials(exam.standing)) if papers is None else list(papers)
    if not papers:
        return
    live = {
        Lifecycle.FRESH: _run_fresh,
        Lifecycle.FORKED: _run_forked,
        Lifecycle.GROWING: _run_growing,
    }[exam.plan.lifecycle]
    try:
        await live(exam, papers)
    except FeedFault as fault:
        exam.record(fault.event)


def list_open_trials(standing: ScenarioStates) -> Iterator[OpenTrials]:
    """What was not put yet, in story order, the repeats of a checkpoint one after another."""
    for row, sheet in enumerate(standing.checkpoint_plans):
        for repeat in range(standing.repeats):
            if unasked := standing.list_open_items(row, repeat):
                yield sheet, repeat, unasked


async def _run_fresh(exam: ScenarioRun, papers: list[OpenTrials]) -> None:
    for paper in papers:
        with record_fault(exam):
            reopen = partial(_feed_new_memory, exam, paper[0])
            await ask_and_close(exam, paper, MemorySlot(await reopen(), reopen))


@contextmanager
def record_fault(exam: ScenarioRun) -> Iterator[None]:
    """Record that one memory could not be had, which says nothing of the next.

    Except where it was waited for in vain: whoever hangs once hangs again, and for as long.
    """
    try:
        yield
    except FeedFault as fault:
        if fault.event.fault in _HANGING:
            raise
        exam.record(fault.event)


async def _feed_new_memory(exam: ScenarioRun, sheet: CheckpointPlan) -> Memory:
    """A new memory, fed from the first day up to the checkpoint."""
    life = await open_fed_memory(exam, sheet)
    try:
        await life.feed_until(sheet)
    except BaseException:
        await close_memory(life.memory, exam, sheet)
        raise
    return life.memory


async def ask_and_close(exam: ScenarioRun, paper: OpenTrials, seat: MemorySlot) -> None:
    """Sit one paper, and release whichever memory holds the seat in the end."""
    sheet, repeat, unasked = paper
    try:
        await CheckpointRun(exam, sheet, repeat, unasked).ask_all(seat)
    finally:
        await close_memory(seat.memory, exam, sheet)


async def _run_growing(exam: ScenarioRun, papers: list[OpenTrials]) -> None:
    life = await _resume_memory(exam, papers[0][0])
    try:
        for sheet, repeat, unasked in papers:
            await life.feed_until(sheet)
            seat = MemorySlot(life.memory, partial(_feed_new_memory, exam, sheet))
            try:
                await CheckpointRun(exam, sheet, repeat, unasked).ask_all(seat)
            finally:
                life.memory = seat.memory
    finally:
        await close_memory(life.memory, exam, papers[-1][0])


async def _resume_memory(exam: ScenarioRun, sheet: CheckpointPlan) -> FedMemory:
    """A new life, or the one a system attests to have kept."""
    life = await open_fed_memory(exam, sheet)
    told = exam.standing.last_fed_day
    if not exam.skip_catchup or told == 0:
        return life
    if told > sheet.cutoff:
        await close_memory(life.memory, exam, sheet)
        raise UsageError(
            f"the system was fed up to day {told}, beyond the checkpoint {sheet.checkpoint.label} "
            "that is still owed; run without --skip-catchup-ingest"
        )
    fed = sum(episode.day <= told for episode in exam.scenario.fed_episodes)
    lived = None
    if isinstance(life.memory, AttestingMemory):
        lived = await call_in_time("attest", life.memory.attest, exam=exam, sheet=sheet)
    if lived == fed:
        return FedMemory(life.memory, exam, fed)
    await close_memory(life.memory, exam, sheet)
    name = exam.system.card.name
    if lived is None:
        raise UsageError(
            f"{name} cannot say which days it still remembers; run without --skip-catchup-ingest"
        )
    raise SystemGone(
        f"{name} remembers {lived} of the {fed} days it was fed; run without --skip-catchup-ingest"
    )


async def _run_forked(exam: ScenarioRun, papers: list[OpenTrials]) -> None:
    """Feed one memory; at each checkpoint copies of it are asked while feeding goes on.

    Where the system's spending is metered, feeding waits for the asking.
    """
    snapshots = exam.system.snapshots
    if snapshots is None:
        raise UsageError(
            f"{exam.system.card.name} cannot be copied; use --lifecycle fresh or growing"
        )
    rounds = [list(group) for _, group in groupby(papers, key=lambda paper: paper[0].checkpoint)]
    life = await open_fed_memory(exam, papers[0][0])
    try:
        token = await _feed_and_save(exam, life, snapshots, papers[0][0])
        for now, later in zip(rounds, [*rounds[1:], None], strict=True):
            ask = partial(_ask_copies, exam, now, snapshots, token)
            if later is None:
                await ask()
                return
            feed = partial(_feed_and_save, exam, life, snapshots, later[0][0])
            if exam.meter is None:
                _, token = await _run_both(ask, feed)
            else:
                # One meter cannot tell what is spent on asking from what is spent on feeding.
                await ask()
                token = await feed()
    finally:
        await close_memory(life.memory, exam, papers[-1][0])


async def _feed_and_save(
    exam: ScenarioRun, life: FedMemory, snapshots: Snapshots, sheet: CheckpointPlan
) -> str:
    await life.feed_until(sheet)
    return await call_in_time(
        "snapshot", partial(snapshots.save, life.memory), exam=exam, sheet=sheet
    )


async def _ask_copies(
    exam: ScenarioRun, papers: list[OpenTrials], snapshots: Snapshots, token: str
) -> None:
    for paper in papers:
        copy = partial(
            call_in_time, "snapshot", partial(snapshots.open, token), exam=exam, sheet=paper[0]
        )
        with record_fault(exam):
            await ask_and_close(exam, paper, MemorySlot(await copy(), copy))
    await release(partial(snapshots.drop, token), exam, papers[-1][0])


async def _run_both(
    ask: Callable[[], Awaitable[None]], feed: Callable[[], Awaitable[str]]
) -> tuple[None, str]:
    """Ask and feed at the same time; what either raises is raised when both have ended."""
    raised: list[BenchError | FeedFault] = []
    tokens: list[str] = []

    async def run_guarded(call: Callable[[], Awaitable[str | None]]) -> None:
        try:
            if (token := await call()) is not None:
                tokens.append(token)
        except (BenchError, FeedFault) as fault:
            raised.append(fault)

    async with anyio.create_task_group() as group:
        group.start_soon(run_guarded, ask)
        group.start_soon(run_guarded, feed)
    if raised:
        raise next((fault for fault in raised if isinstance(fault, SystemGone)), raised[0])
    return None, tokens[0]
