"""A snapshot is the memory as it was, whatever happens to the memory or to other copies."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from recall_bench.core.memory import PortableSnapshots, Snapshots
from recall_bench.testing.bench import (
    CheckContext,
    CheckDoesNotApply,
    CheckedMemory,
    ContractBroken,
)
from recall_bench.testing.story import make_canary


async def check_snapshots(bench: CheckContext) -> str:
    """A copy equals its original, asking it leaves no trace, and the original goes on."""
    shelf = bench.system.snapshots
    if shelf is None:
        raise CheckDoesNotApply("it offers no copies of a memory")
    before, after = [bench.make_fact(0), bench.make_fact(1)], [bench.make_fact(2)]
    original = await bench.open()
    await original.tell_facts(before)
    known = await original.find_facts(before)

    token = await bench.call("saving a memory", partial(shelf.save, original.memory))
    copy = await _reopen(bench, shelf, token, original)
    if await copy.find_facts(before) != known:
        raise ContractBroken(
            f"expected a copy to find the {len(known)} facts its original finds, but it found "
            f"{len(await copy.find_facts(before))}; save everything that was settled"
        )
    await _check_no_trace(bench, shelf, token, (original, copy))
    await original.tell_facts(after)
    if await original.find_facts([*before, *after]) != [*known, *after]:
        raise ContractBroken(
            "expected a memory to go on after it was copied, but it lost what it knew or what it "
            "was told since; let a copy share nothing that changes"
        )
    late = await _reopen(bench, shelf, token, original)
    for each in (copy, late):
        if (await each.ask(after[0].question)).contains(after[0].canary):
            raise ContractBroken(
                "expected a copy to stay as it was saved, but it knew what its original was told "
                f"later, {after[0].canary!r}; let a copy share nothing that changes"
            )
    if isinstance(shelf, PortableSnapshots):
        await _check_packing(bench, shelf, token, original)
        return "a copy equals its original, packed or not, and neither feels the other"
    await bench.call("dropping a saved state", partial(shelf.drop, token))
    return "a copy equals its original, and neither feels the other"


async def _check_packing(
    bench: CheckContext, shelf: PortableSnapshots, token: str, original: CheckedMemory
) -> None:
    snapshots = bench.system.snapshots
    if snapshots is None:
        return
    known = [bench.make_fact(0), bench.make_fact(1)]
    as_saved = await _reopen(bench, snapshots, token, original)
    expected = await as_saved.find_facts(known)
    with TemporaryDirectory(prefix="recall-bench-") as folder:
        place = Path(folder)
        await bench.call("packing a saved state", partial(shelf.pack, token, place))
        await bench.call("dropping a saved state", partial(snapshots.drop, token))
        arrived = await bench.call("unpacking a state", partial(shelf.unpack, place))
        copy = await _reopen(bench, snapshots, arrived, original)
        if await copy.find_facts(known) != expected:
            raise ContractBroken(
                "expected a state that was packed to be opened as it was saved, but it finds other "
                "facts; leave all that was saved in the files that are copied"
            )
        await copy.close()
        await bench.call("dropping a saved state", partial(snapshots.drop, arrived))
        await bench.call("discarding a packed state", partial(shelf.discard, place))


async def _check_no_trace(
    bench: CheckContext, shelf: Snapshots, token: str, asked: tuple[CheckedMemory, CheckedMemory]
) -> None:
    original, copy = asked
    trace = make_canary(bench.seed, "asked of a copy")
    await copy.ask(f"Is {trace} the name of the parrot in the wine cellar?")
    other = await _reopen(bench, shelf, token, original)
    for memory in (other, original):
        heard = await memory.ask("What is the name of the parrot in the wine cellar?")
        if heard.contains(trace):
            raise ContractBroken(
                f"expected what a copy is asked to leave no trace elsewhere, but {trace!r} was "
                "told by another; let a copy share nothing that changes"
            )
    await other.close()


async def _reopen(
    bench: CheckContext, shelf: Snapshots, token: str, like: CheckedMemory
) -> CheckedMemory:
    memory = await bench.call("opening a copy", partial(shelf.open, token))
    copy = bench.hold_memory(memory, like.scenario)
    copy.last_day = like.last_day
    return copy
