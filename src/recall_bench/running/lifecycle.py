"""Three ways for a memory to have lived exactly the days up to a checkpoint.

`fresh` and `forked` promise that nothing was asked of it before; `growing` does not. Each
repeat of a checkpoint gets a memory of its own where the lifecycle can give it one.
"""

import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import anyio

from recall_bench.core.errors import BenchError, SystemGone, SystemStuck, SystemTimeout, UsageError
from recall_bench.core.memory import AttestingMemory, Memory, PortableSnapshots, Snapshots
from recall_bench.core.plan import Lifecycle
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.core.trial_states import ScenarioStates
from recall_bench.running.checkpoint import CheckpointRun, MemorySlot
from recall_bench.running.fed_memory import (
    FedMemory,
    FeedFault,
    call_in_time,
    close_memory,
    open_fed_memory,
    release,
)
from recall_bench.running.scenario_run import ScenarioRun
from recall_bench.running.worker_messages import FeedTask, NotShared

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


_LOOK_EVERY_S = 0.05
_UNFINISHED = ".part"
"""How the folder of a snapshot ends that is still being written."""


async def feed_and_pack(
    exam: ScenarioRun,
    due: Sequence[CheckpointPlan],
    feed: FeedTask,
    saved: Callable[[str, Path], None],
) -> None:
    """Feed a memory up to one checkpoint after another, and pack a snapshot at each.

    A system that cannot be fed is recorded, and there are no more snapshots from there on.
    """
    place = Path(feed.place)
    if not place.is_dir():
        raise NotShared(f"{place}: this worker cannot see the folder where snapshots go")
    snapshots = exam.system.snapshots
    if snapshots is None or not isinstance(snapshots, PortableSnapshots):
        raise UsageError(f"{exam.system.card.name} has no snapshots that others can open")
    try:
        life = await open_fed_memory(exam, due[0])
        try:
            for sheet in due:
                await life.feed_until(sheet)
                await _wait_for_room(place, feed.ahead)
                save = partial(snapshots.save, life.memory)
                token = await call_in_time("snapshot", save, exam=exam, sheet=sheet)
                # Another feeder may have left snapshots of other checkpoints there already.
                packed = place / f"{exam.standing.row[sheet.checkpoint.label]:04}"
                pack = partial(_pack, snapshots, token, packed)
                await call_in_time("snapshot", pack, exam=exam, sheet=sheet)
                await release(partial(snapshots.drop, token), exam, sheet)
                saved(sheet.checkpoint.label, packed)
        finally:
            await close_memory(life.memory, exam, due[-1])
    except FeedFault as fault:
        exam.record(fault.event)


async def _wait_for_room(place: Path, ahead: int) -> None:
    """Wait until few enough snapshots lie there: they are removed once they were asked."""
    while sum(1 for _ in place.iterdir()) >= ahead:  # noqa: ASYNC110 - another process removes them
        await anyio.sleep(_LOOK_EVERY_S)


async def _pack(snapshots: PortableSnapshots, token: str, place: Path) -> None:
    """Pack the snapshot: its folder appears whole or not at all."""
    unfinished = place.with_name(place.name + _UNFINISHED)
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(place, ignore_errors=True)
    try:
        unfinished.mkdir()
        await snapshots.pack(token, unfinished)
        unfinished.rename(place)
    except OSError as error:
        raise NotShared(f"{place}: this worker cannot leave a snapshot there ({error})") from error


async def ask_snapshot(exam: ScenarioRun, papers: Sequence[OpenTrials], place: Path) -> None:
    """Put the papers of one checkpoint to copies of the memory that was packed there."""
    if not place.is_dir():
        raise NotShared(f"{place}: this worker cannot see the folder where snapshots go")
    snapshots = exam.system.snapshots
    if snapshots is None or not isinstance(snapshots, PortableSnapshots):
        raise UsageError(f"{exam.system.card.name} has no snapshots that others can open")
    first = papers[0][0]
    try:
        unpack = partial(snapshots.unpack, place)
        token = await call_in_time("snapshot", unpack, exam=exam, sheet=first)
        for paper in papers:
            copy = partial(
                call_in_time, "snapshot", partial(snapshots.open, token), exam=exam, sheet=paper[0]
            )
            with record_fault(exam):
                await ask_and_close(exam, paper, MemorySlot(await copy(), copy))
        await release(partial(snapshots.drop, token), exam, first)
    except FeedFault as fault:
        exam.record(fault.event)
