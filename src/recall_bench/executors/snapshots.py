"""A memory fed in one process and asked in others: its snapshots travel as folders."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio

from recall_bench.core.memory import PortableSnapshots
from recall_bench.core.schedule import CheckpointPlan
from recall_bench.errors import UsageError
from recall_bench.executors.assignments import FeedTask, NotShared
from recall_bench.running.examination import ScenarioRun
from recall_bench.running.life import (
    FeedFault,
    call_in_time,
    close_memory,
    open_fed_memory,
    release,
)
from recall_bench.running.lifecycles import OpenTrials, ask_and_close, record_fault
from recall_bench.running.sitting import MemorySlot

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
