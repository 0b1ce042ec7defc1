"""A memory knows what it was fed, and nothing that another memory was fed."""

from contextlib import suppress
from functools import partial
from pathlib import Path

from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import BenchError, SystemFault, SystemGone
from recall_bench.core.memory import Asker, PortableSnapshots, Snapshots
from recall_bench.features.doctor.check_context import (
    CheckContext,
    CheckDoesNotApply,
    CheckedMemory,
    ContractBroken,
)
from recall_bench.features.doctor.recall_checks import DAYS
from recall_bench.features.doctor.story import (
    StoryFact,
    make_episode,
    make_fact,
    make_marker,
    write_day,
)

_CLOSED, _OTHER = "boardroom", "helpdesk"


async def check_empty_memory(context: CheckContext) -> str:
    """An empty memory knows nothing, and does not fail when it is asked."""
    memory = await context.open()
    elsewhere = [make_fact(context.seed, "round-trip", thing) for thing in range(1, DAYS + 1, 7)]
    for fact in (*elsewhere, context.make_fact(0)):
        reply = await memory.ask(fact.question)
        if reply.contains(fact.marker):
            raise ContractBroken(
                f"expected a new memory to know nothing, but it returned {fact.marker!r}, "
                "which another memory was fed; give each memory a store of its own that starts "
                "empty"
            )
        if reply.passages:
            raise ContractBroken(
                "expected a new memory to find nothing, but it found "
                f"{reply.passages[0][:80]!r}; see that it is empty when it is opened"
            )
    return "a new memory knows nothing and can be asked"


async def check_isolation(context: CheckContext) -> str:
    """Two memories do not see each other's days."""
    ours, theirs = context.make_fact(0), context.make_fact(1)
    one = await context.open("one")
    two = await _open_second(context)
    together = two is not None
    context.observations.note(memories_at_once=together)
    if two is None:
        await one.tell_facts([ours])
        await _check_knowledge(one, ours, theirs)
        await one.close()
        two = await context.open("two")
        await two.tell_facts([theirs])
    else:
        for memory, fact in ((one, ours), (two, theirs)):
            await memory.feed(make_episode(1, write_day(1, fact.sentence)))
        for memory in (one, two):
            await memory.settle()
        await _check_knowledge(one, ours, theirs)
    await _check_knowledge(two, theirs, ours)
    if together:
        return "two memories, open at once, do not see each other's days"
    return "of two memories, one after the other, neither sees the other's days"


async def _open_second(context: CheckContext) -> CheckedMemory | None:
    """A second memory beside the first; None if only one can be open."""
    try:
        return await context.open("two")
    except SystemGone:
        raise
    except BenchError:
        return None


async def _check_knowledge(memory: CheckedMemory, own: StoryFact, other: StoryFact) -> None:
    asked_other = await memory.ask(other.question)
    asked_own = await memory.ask(own.question)
    if asked_other.contains(other.marker) or asked_own.contains(other.marker):
        raise ContractBroken(
            f"expected a memory to know its own days only, but it returned {other.marker!r}, "
            "which another memory was fed; separate memories by more than a name they may share"
        )
    if not asked_own.contains(own.marker):
        raise ContractBroken(
            f"expected a memory to know its own day beside another's, but {own.marker!r} did not "
            "come; see that opening one memory does not empty another, and that one day is found"
        )


async def check_reset(context: CheckContext) -> str:
    """A memory opened after another was closed, under the same name, knows nothing of it."""
    before, after = context.make_fact(0), context.make_fact(1)
    memory = await context.open()
    await memory.tell_facts([before])
    await memory.require_fact(before, "before the memory is closed")
    await memory.close()

    memory = await context.open()
    replies = []
    # Another check says whether an empty memory may fail.
    with suppress(SystemFault):
        replies.append(await memory.ask(before.question))
    await memory.tell_facts([after])
    replies.append(await memory.ask(before.question))

    if any(reply.contains(before.marker) for reply in replies):
        raise ContractBroken(
            "expected a new memory to know nothing of the one before it, but it returned "
            f"{before.marker!r}; empty the store when a memory is opened or closed"
        )
    if not await memory.find_facts([after]):
        raise ContractBroken(
            f"expected a memory opened after another to work as the first did, but "
            f"{after.marker!r} was not found; see what closing the first one removed"
        )
    return "a new memory knows nothing of the one closed before it"


async def check_sessions(context: CheckContext) -> str:
    """What a closed session said is kept from another, by a system that claims to do so."""
    secret, own = context.make_fact(0), context.make_fact(1)
    memory = await context.open()
    await memory.feed_all(
        make_episode(1, write_day(1, context.make_fact(2).sentence)),
        make_episode(
            2,
            write_day(2, secret.sentence, session=_CLOSED)
            + "\n"
            + write_day(3, own.sentence, session=_OTHER).partition("---\n\n")[2],
        ),
    )
    is_known = (await memory.ask(secret.question, _CLOSED)).contains(secret.marker)
    is_told = (await memory.ask(secret.question, _OTHER)).contains(secret.marker)
    own_known = (await memory.ask(own.question, _OTHER)).contains(own.marker)
    claim = context.system.card.asker
    if is_known and own_known:
        observed = Asker.TOLD if is_told else Asker.HONOURED
        if is_told and claim is Asker.UNTOLD:
            observed = Asker.UNTOLD
        context.observations.note(asker=observed)
    if claim is not Asker.HONOURED:
        happened = _describe_outcome(is_known=is_known, is_told=is_told)
        return f"what one session said {happened}; it does not claim otherwise"
    if is_told:
        raise ContractBroken(
            f"expected what the session {_CLOSED!r} said to be kept from {_OTHER!r}, as the card "
            f"claims, but {secret.marker!r} was returned; use the session of each question, or "
            'do not declare honours_sessions (of a server or program: asker is not "honoured")'
        )
    if not is_known or not own_known:
        raise ContractBroken(
            "expected each session to get what it said itself, but "
            f"{_CLOSED if not is_known else _OTHER!r} did not; a system that returns nothing "
            "at all keeps no secret"
        )
    return "what one session said is returned there and kept from another"


def _describe_outcome(*, is_known: bool, is_told: bool) -> str:
    if is_told:
        return "is returned to another"
    return "is kept from another" if is_known else "is found by neither"


async def check_snapshots(context: CheckContext) -> str:
    """A copy equals its original, asking it leaves no trace, and the original goes on."""
    shelf = context.system.snapshots
    if shelf is None:
        raise CheckDoesNotApply("it offers no copies of a memory")
    before, after = [context.make_fact(0), context.make_fact(1)], [context.make_fact(2)]
    original = await context.open()
    await original.tell_facts(before)
    recalled = await original.find_facts(before)

    token = await context.call("saving a memory", partial(shelf.save, original.memory))
    copy = await _reopen(context, shelf, token, original)
    if await copy.find_facts(before) != recalled:
        raise ContractBroken(
            f"expected a copy to find the {len(recalled)} facts its original finds, but it found "
            f"{len(await copy.find_facts(before))}; save everything that was settled"
        )
    await _check_no_trace(context, shelf, token, (original, copy))
    await original.tell_facts(after)
    if await original.find_facts([*before, *after]) != [*recalled, *after]:
        raise ContractBroken(
            "expected a memory to go on after it was copied, but it lost what it knew or what it "
            "was fed since; let a copy share nothing that changes"
        )
    late = await _reopen(context, shelf, token, original)
    for other in (copy, late):
        if (await other.ask(after[0].question)).contains(after[0].marker):
            raise ContractBroken(
                "expected a copy to stay as it was saved, but it knew what its original was fed "
                f"later, {after[0].marker!r}; let a copy share nothing that changes"
            )
    if isinstance(shelf, PortableSnapshots):
        await _check_packing(context, shelf, token, original)
        return "a copy equals its original, packed or not, and neither changes the other"
    await context.call("dropping a saved state", partial(shelf.drop, token))
    return "a copy equals its original, and neither changes the other"


async def _check_packing(
    context: CheckContext, shelf: PortableSnapshots, token: str, original: CheckedMemory
) -> None:
    snapshots = context.system.snapshots
    if snapshots is None:
        return
    facts = [context.make_fact(0), context.make_fact(1)]
    as_saved = await _reopen(context, snapshots, token, original)
    expected = await as_saved.find_facts(facts)
    with TemporaryFolder() as folder:
        place = Path(folder)
        await context.call("packing a saved state", partial(shelf.pack, token, place))
        await context.call("dropping a saved state", partial(snapshots.drop, token))
        arrived = await context.call("unpacking a state", partial(shelf.unpack, place))
        copy = await _reopen(context, snapshots, arrived, original)
        if await copy.find_facts(facts) != expected:
            raise ContractBroken(
                "expected a state that was packed to be opened as it was saved, but it finds other "
                "facts; leave everything that was saved in the files that are copied"
            )
        await copy.close()
        await context.call("dropping a saved state", partial(snapshots.drop, arrived))
        await context.call("discarding a packed state", partial(shelf.discard, place))


async def _check_no_trace(
    context: CheckContext, shelf: Snapshots, token: str, asked: tuple[CheckedMemory, CheckedMemory]
) -> None:
    original, copy = asked
    trace = make_marker(context.seed, "asked of a copy")
    await copy.ask(f"Is {trace} the name of the parrot in the wine cellar?")
    other = await _reopen(context, shelf, token, original)
    for memory in (other, original):
        reply = await memory.ask("What is the name of the parrot in the wine cellar?")
        if reply.contains(trace):
            raise ContractBroken(
                f"expected what a copy is asked to leave no trace elsewhere, but {trace!r} was "
                "returned by another; let a copy share nothing that changes"
            )
    await other.close()


async def _reopen(
    context: CheckContext, shelf: Snapshots, token: str, like: CheckedMemory
) -> CheckedMemory:
    memory = await context.call("opening a copy", partial(shelf.open, token))
    copy = context.hold_memory(memory, like.scenario)
    copy.last_day = like.last_day
    return copy
