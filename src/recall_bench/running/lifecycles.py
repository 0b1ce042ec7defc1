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

from recall_bench.core.memory import Attesting, Memory, Snapshots
from recall_bench.core.plan import Lifecycle
from recall_bench.core.schedule import Sheet
from recall_bench.core.standing import ScenarioStanding
from recall_bench.errors import BenchError, SystemGone, SystemStuck, SystemTimeout, UsageError
from recall_bench.running.examination import Examination
from recall_bench.running.life import FeedFault, Life, begin, bounded, close, release
from recall_bench.running.sitting import Seat, Sitting

T = TypeVar("T")

_HANGING = frozenset({SystemTimeout.__name__, SystemStuck.__name__})

Paper = tuple[Sheet, int, list[int]]
"""A checkpoint, a repeat, and the items it has not put yet."""


async def examine(exam: Examination, papers: Sequence[Paper] | None = None) -> None:
    """Put everything the scenario still owes, or these papers of it, by the plan's lifecycle.

    A system that cannot be fed is recorded, and what it owed of that memory from there on stays
    open; what another memory is asked is not.
    """
    papers = list(owed_papers(exam.standing)) if papers is None else list(papers)
    if not papers:
        return
    live = {
        Lifecycle.FRESH: _fresh,
        Lifecycle.FORKED: _forked,
        Lifecycle.GROWING: _growing,
    }[exam.plan.lifecycle]
    try:
        await live(exam, papers)
    except FeedFault as fault:
        exam.record(fault.event)


def owed_papers(standing: ScenarioStanding) -> Iterator[Paper]:
    """What was not put yet, in story order, the repeats of a checkpoint one after another."""
    for row, sheet in enumerate(standing.sheets):
        for repeat in range(standing.repeats):
            if unasked := standing.unasked(row, repeat):
                yield sheet, repeat, unasked


async def _fresh(exam: Examination, papers: list[Paper]) -> None:
    for paper in papers:
        with recorded(exam):
            reopen = partial(_lived, exam, paper[0])
            await sit_and_close(exam, paper, Seat(await reopen(), reopen))


@contextmanager
def recorded(exam: Examination) -> Iterator[None]:
    """Record that one memory could not be had, which says nothing of the next.

    Except where it was waited for in vain: whoever hangs once hangs again, and for as long.
    """
    try:
        yield
    except FeedFault as fault:
        if fault.event.fault in _HANGING:
            raise
        exam.record(fault.event)


async def _lived(exam: Examination, sheet: Sheet) -> Memory:
    """A new memory, fed from the first day up to the checkpoint."""
    life = await begin(exam, sheet)
    try:
        await life.live_until(sheet)
    except BaseException:
        await close(life.memory, exam, sheet)
        raise
    return life.memory


async def sit_and_close(exam: Examination, paper: Paper, seat: Seat) -> None:
    """Sit one paper, and release whichever memory holds the seat in the end."""
    sheet, repeat, unasked = paper
    try:
        await Sitting(exam, sheet, repeat, unasked).hold(seat)
    finally:
        await close(seat.memory, exam, sheet)


async def _growing(exam: Examination, papers: list[Paper]) -> None:
    life = await _resumed(exam, papers[0][0])
    try:
        for sheet, repeat, unasked in papers:
            await life.live_until(sheet)
            seat = Seat(life.memory, partial(_lived, exam, sheet))
            try:
                await Sitting(exam, sheet, repeat, unasked).hold(seat)
            finally:
                life.memory = seat.memory
    finally:
        await close(life.memory, exam, papers[-1][0])


async def _resumed(exam: Examination, sheet: Sheet) -> Life:
    """A new life, or the one a system attests to have kept."""
    life = await begin(exam, sheet)
    told = exam.standing.last_fed
    if not exam.skip_catchup or told == 0:
        return life
    if told > sheet.cutoff:
        await close(life.memory, exam, sheet)
        raise UsageError(
            f"the system was fed up to day {told}, beyond the checkpoint {sheet.checkpoint.label} "
            "that is still owed; run without --skip-catchup-ingest"
        )
    fed = sum(episode.day <= told for episode in exam.scenario.fed)
    lived = None
    if isinstance(life.memory, Attesting):
        lived = await bounded("attest", life.memory.attest, exam=exam, sheet=sheet)
    if lived == fed:
        return Life(life.memory, exam, fed)
    await close(life.memory, exam, sheet)
    name = exam.system.card.name
    if lived is None:
        raise UsageError(
            f"{name} cannot say which days it still remembers; run without --skip-catchup-ingest"
        )
    raise SystemGone(
        f"{name} remembers {lived} of the {fed} days it was fed; run without --skip-catchup-ingest"
    )


async def _forked(exam: Examination, papers: list[Paper]) -> None:
    """Feed one memory; at each checkpoint copies of it are asked while feeding goes on.

    Where the system's spending is metered, feeding waits for the asking.
    """
    snapshots = exam.system.snapshots
    if snapshots is None:
        raise UsageError(
            f"{exam.system.card.name} cannot be copied; use --lifecycle fresh or growing"
        )
    rounds = [list(group) for _, group in groupby(papers, key=lambda paper: paper[0].checkpoint)]
    life = await begin(exam, papers[0][0])
    try:
        token = await _saved(exam, life, snapshots, papers[0][0])
        for now, later in zip(rounds, [*rounds[1:], None], strict=True):
            ask = partial(_ask_copies, exam, now, snapshots, token)
            if later is None:
                await ask()
                return
            feed = partial(_saved, exam, life, snapshots, later[0][0])
            if exam.meter is None:
                _, token = await _both(ask, feed)
            else:
                # One meter cannot tell what is spent on asking from what is spent on feeding.
                await ask()
                token = await feed()
    finally:
        await close(life.memory, exam, papers[-1][0])


async def _saved(exam: Examination, life: Life, snapshots: Snapshots, sheet: Sheet) -> str:
    await life.live_until(sheet)
    return await bounded("snapshot", partial(snapshots.save, life.memory), exam=exam, sheet=sheet)


async def _ask_copies(
    exam: Examination, papers: list[Paper], snapshots: Snapshots, token: str
) -> None:
    for paper in papers:
        copy = partial(
            bounded, "snapshot", partial(snapshots.open, token), exam=exam, sheet=paper[0]
        )
        with recorded(exam):
            await sit_and_close(exam, paper, Seat(await copy(), copy))
    await release(partial(snapshots.drop, token), exam, papers[-1][0])


async def _both(
    ask: Callable[[], Awaitable[None]], feed: Callable[[], Awaitable[str]]
) -> tuple[None, str]:
    """Ask and feed at the same time; what either raises is raised when both have ended."""
    raised: list[BenchError | FeedFault] = []
    tokens: list[str] = []

    async def guarded(call: Callable[[], Awaitable[str | None]]) -> None:
        try:
            if (token := await call()) is not None:
                tokens.append(token)
        except (BenchError, FeedFault) as fault:
            raised.append(fault)

    async with anyio.create_task_group() as group:
        group.start_soon(guarded, ask)
        group.start_soon(guarded, feed)
    if raised:
        raise next((fault for fault in raised if isinstance(fault, SystemGone)), raised[0])
    return None, tokens[0]
