"""A snapshot is the memory as it was, whatever happens to the memory or to other copies."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from recall_bench.core.memory import Portable, Snapshots
from recall_bench.testing.bench import Bench, Broken, DoesNotApply, Subject
from recall_bench.testing.story import canary


async def snapshots(bench: Bench) -> str:
    """A copy equals its original, asking it leaves no trace, and the original goes on."""
    shelf = bench.system.snapshots
    if shelf is None:
        raise DoesNotApply("it offers no copies of a memory")
    before, after = [bench.fact(0), bench.fact(1)], [bench.fact(2)]
    original = await bench.open()
    await original.note(before)
    known = await original.found(before)

    token = await bench.call("saving a memory", partial(shelf.save, original.memory))
    copy = await _reopened(bench, shelf, token, original)
    if await copy.found(before) != known:
        raise Broken(
            f"expected a copy to find the {len(known)} facts its original finds, but it found "
            f"{len(await copy.found(before))}; save everything that was settled"
        )
    await _leaves_no_trace(bench, shelf, token, (original, copy))
    await original.note(after)
    if await original.found([*before, *after]) != [*known, *after]:
        raise Broken(
            "expected a memory to go on after it was copied, but it lost what it knew or what it "
            "was told since; let a copy share nothing that changes"
        )
    late = await _reopened(bench, shelf, token, original)
    for each in (copy, late):
        if (await each.ask(after[0].asked)).tells(after[0].canary):
            raise Broken(
                "expected a copy to stay as it was saved, but it knew what its original was told "
                f"later, {after[0].canary!r}; let a copy share nothing that changes"
            )
    if isinstance(shelf, Portable):
        await _travels(bench, shelf, token, original)
        return "a copy equals its original, packed or not, and neither feels the other"
    await bench.call("dropping a saved state", partial(shelf.drop, token))
    return "a copy equals its original, and neither feels the other"


async def _travels(bench: Bench, shelf: Portable, token: str, original: Subject) -> None:
    snapshots = bench.system.snapshots
    if snapshots is None:
        return
    known = [bench.fact(0), bench.fact(1)]
    as_saved = await _reopened(bench, snapshots, token, original)
    expected = await as_saved.found(known)
    with TemporaryDirectory(prefix="recall-bench-") as folder:
        place = Path(folder)
        await bench.call("packing a saved state", partial(shelf.pack, token, place))
        await bench.call("dropping a saved state", partial(snapshots.drop, token))
        arrived = await bench.call("unpacking a state", partial(shelf.unpack, place))
        copy = await _reopened(bench, snapshots, arrived, original)
        if await copy.found(known) != expected:
            raise Broken(
                "expected a state that was packed to be opened as it was saved, but it finds other "
                "facts; leave all that was saved in the files that are copied"
            )
        await copy.close()
        await bench.call("dropping a saved state", partial(snapshots.drop, arrived))
        await bench.call("discarding a packed state", partial(shelf.discard, place))


async def _leaves_no_trace(
    bench: Bench, shelf: Snapshots, token: str, asked: tuple[Subject, Subject]
) -> None:
    original, copy = asked
    trace = canary(bench.seed, "asked of a copy")
    await copy.ask(f"Is {trace} the name of the parrot in the wine cellar?")
    other = await _reopened(bench, shelf, token, original)
    for memory in (other, original):
        heard = await memory.ask("What is the name of the parrot in the wine cellar?")
        if heard.tells(trace):
            raise Broken(
                f"expected what a copy is asked to leave no trace elsewhere, but {trace!r} was "
                "told by another; let a copy share nothing that changes"
            )
    await other.close()


async def _reopened(bench: Bench, shelf: Snapshots, token: str, like: Subject) -> Subject:
    memory = await bench.call("opening a copy", partial(shelf.open, token))
    copy = bench.hold(memory, like.scenario)
    copy.last_day = like.last_day
    return copy
