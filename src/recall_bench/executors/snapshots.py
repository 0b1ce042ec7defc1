"""A memory fed in one process and asked in others: its snapshots travel as folders."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio

from recall_bench.core.memory import Portable
from recall_bench.core.schedule import Sheet
from recall_bench.errors import UsageError
from recall_bench.executors.assignments import Feed, NotShared
from recall_bench.running.examination import Examination
from recall_bench.running.life import FeedFault, begin, bounded, close, release
from recall_bench.running.lifecycles import Paper, recorded, sit_and_close
from recall_bench.running.sitting import Seat

_LOOK_EVERY_S = 0.05
_UNFINISHED = ".part"
"""How the folder of a snapshot ends that is still being written."""


async def feed_and_pack(
    exam: Examination, due: Sequence[Sheet], feed: Feed, saved: Callable[[str, Path], None]
) -> None:
    """Feed a memory up to one checkpoint after another, and pack a snapshot at each.

    A system that cannot be fed is recorded, and there are no more snapshots from there on.
    """
    place = Path(feed.place)
    if not place.is_dir():
        raise NotShared(f"{place}: this worker cannot see the folder where snapshots go")
    snapshots = exam.system.snapshots
    if snapshots is None or not isinstance(snapshots, Portable):
        raise UsageError(f"{exam.system.card.name} has no snapshots that others can open")
    try:
        life = await begin(exam, due[0])
        try:
            for sheet in due:
                await life.live_until(sheet)
                await _room(place, feed.ahead)
                save = partial(snapshots.save, life.memory)
                token = await bounded("snapshot", save, exam=exam, sheet=sheet)
                # Another feeder may have left snapshots of other checkpoints there already.
                packed = place / f"{exam.standing.row[sheet.checkpoint.label]:04}"
                pack = partial(_packed, snapshots, token, packed)
                await bounded("snapshot", pack, exam=exam, sheet=sheet)
                await release(partial(snapshots.drop, token), exam, sheet)
                saved(sheet.checkpoint.label, packed)
        finally:
            await close(life.memory, exam, due[-1])
    except FeedFault as fault:
        exam.record(fault.event)


async def _room(place: Path, ahead: int) -> None:
    """Wait until few enough snapshots lie there: they are removed once they were asked."""
    while sum(1 for _ in place.iterdir()) >= ahead:  # noqa: ASYNC110 - another process removes them
        await anyio.sleep(_LOOK_EVERY_S)


async def _packed(snapshots: Portable, token: str, place: Path) -> None:
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


async def ask_saved(exam: Examination, papers: Sequence[Paper], place: Path) -> None:
    """Put the papers of one checkpoint to copies of the memory that was packed there."""
    if not place.is_dir():
        raise NotShared(f"{place}: this worker cannot see the folder where snapshots go")
    snapshots = exam.system.snapshots
    if snapshots is None or not isinstance(snapshots, Portable):
        raise UsageError(f"{exam.system.card.name} has no snapshots that others can open")
    first = papers[0][0]
    try:
        unpack = partial(snapshots.unpack, place)
        token = await bounded("snapshot", unpack, exam=exam, sheet=first)
        for paper in papers:
            copy = partial(
                bounded, "snapshot", partial(snapshots.open, token), exam=exam, sheet=paper[0]
            )
            with recorded(exam):
                await sit_and_close(exam, paper, Seat(await copy(), copy))
        await release(partial(snapshots.drop, token), exam, first)
    except FeedFault as fault:
        exam.record(fault.event)
