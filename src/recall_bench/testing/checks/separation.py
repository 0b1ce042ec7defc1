"""A memory knows what it was told, and nothing that somebody else was told."""

from contextlib import suppress

from recall_bench.core.memory import Asker
from recall_bench.errors import BenchError, SystemFault, SystemGone
from recall_bench.testing.bench import Bench, Broken, Subject
from recall_bench.testing.checks.recall import DAYS
from recall_bench.testing.story import Fact, day_text, episode, fact

_CLOSED, _OTHER = "boardroom", "helpdesk"


async def empty_memory(bench: Bench) -> str:
    """Asked before anything was told, a memory knows nothing, and does not fail."""
    memory = await bench.open()
    elsewhere = [fact(bench.seed, "round-trip", thing) for thing in range(1, DAYS + 1, 7)]
    for each in (*elsewhere, bench.fact(0)):
        heard = await memory.ask(each.asked)
        if heard.tells(each.canary):
            raise Broken(
                f"expected a new memory to know nothing, but it told {each.canary!r}, which "
                "another memory was told; give each memory a place of its own, emptied at opening"
            )
        if heard.passages:
            raise Broken(
                "expected a new memory to find nothing, but it found "
                f"{heard.passages[0][:80]!r}; see that it is empty when it is opened"
            )
    return "a new memory knows nothing and can be asked"


async def isolation(bench: Bench) -> str:
    """Two memories do not see each other's days."""
    ours, theirs = bench.fact(0), bench.fact(1)
    one = await bench.open("one")
    two = await _second(bench)
    together = bench.sight.memories_at_once = two is not None
    if two is None:
        await one.note([ours])
        await _knows_only(one, ours, theirs)
        await one.close()
        two = await bench.open("two")
        await two.note([theirs])
    else:
        for memory, told in ((one, ours), (two, theirs)):
            await memory.feed(episode(1, day_text(1, told.said)))
        for memory in (one, two):
            await memory.settle()
        await _knows_only(one, ours, theirs)
    await _knows_only(two, theirs, ours)
    if together:
        return "two memories, open at once, do not see each other's days"
    return "of two memories, one after the other, neither sees the other's days"


async def _second(bench: Bench) -> Subject | None:
    """A second memory beside the first; None where there can be but one."""
    try:
        return await bench.open("two")
    except SystemGone:
        raise
    except BenchError:
        return None


async def _knows_only(memory: Subject, own: Fact, other: Fact) -> None:
    asked_other = await memory.ask(other.asked)
    asked_own = await memory.ask(own.asked)
    if asked_other.tells(other.canary) or asked_own.tells(other.canary):
        raise Broken(
            f"expected a memory to know its own days only, but it told {other.canary!r}, which "
            "another memory was told; keep memories apart by more than a name they may share"
        )
    if not asked_own.tells(own.canary):
        raise Broken(
            f"expected a memory to know its own day beside another's, but {own.canary!r} did not "
            "come; see that opening one memory does not empty another, and that one day is found"
        )


async def reset(bench: Bench) -> str:
    """A memory opened after another was closed, under the same name, knows nothing of it."""
    before, after = bench.fact(0), bench.fact(1)
    memory = await bench.open()
    await memory.note([before])
    await memory.must_know(before, "before the memory is closed")
    await memory.close()

    memory = await bench.open()
    replies = []
    # Whether an empty memory may fail is for another check to say.
    with suppress(SystemFault):
        replies.append(await memory.ask(before.asked))
    await memory.note([after])
    replies.append(await memory.ask(before.asked))

    if any(heard.tells(before.canary) for heard in replies):
        raise Broken(
            "expected a new memory to know nothing of the one before it, but it told "
            f"{before.canary!r}; empty the store when a memory is opened or closed"
        )
    if not await memory.found([after]):
        raise Broken(
            f"expected a memory opened after another to work as the first did, but "
            f"{after.canary!r} was not found; see what closing the first one took away"
        )
    return "a new memory knows nothing of the one closed before it"


async def sessions(bench: Bench) -> str:
    """What a closed session said is kept from another, by a system that claims to do so."""
    secret, own = bench.fact(0), bench.fact(1)
    memory = await bench.open()
    await memory.live(
        episode(1, day_text(1, bench.fact(2).said)),
        episode(
            2,
            day_text(2, secret.said, session=_CLOSED)
            + "\n"
            + day_text(3, own.said, session=_OTHER).partition("---\n\n")[2],
        ),
    )
    is_known = (await memory.ask(secret.asked, _CLOSED)).tells(secret.canary)
    is_told = (await memory.ask(secret.asked, _OTHER)).tells(secret.canary)
    own_known = (await memory.ask(own.asked, _OTHER)).tells(own.canary)
    claim = bench.system.card.asker
    if is_known and own_known:
        bench.sight.asker = _seen(claim, is_told=is_told)
    if claim is not Asker.HONOURED:
        happened = _happened(is_known=is_known, is_told=is_told)
        return f"what one session said {happened}; it does not claim otherwise"
    if is_told:
        raise Broken(
            f"expected what the session {_CLOSED!r} said to be kept from {_OTHER!r}, as the card "
            f"claims, but {secret.canary!r} was told; heed the session of each question, or do "
            "not declare honours_sessions"
        )
    if not is_known or not own_known:
        raise Broken(
            "expected each session to be told what it said itself, but "
            f"{_CLOSED if not is_known else _OTHER!r} was not; a system that tells nobody "
            "anything keeps no secret"
        )
    return "what one session said is told there and kept from another"


def _seen(claim: Asker, *, is_told: bool) -> Asker:
    if not is_told:
        return Asker.HONOURED
    return Asker.UNTOLD if claim is Asker.UNTOLD else Asker.TOLD


def _happened(*, is_known: bool, is_told: bool) -> str:
    if is_told:
        return "is told to another"
    return "is kept from another" if is_known else "is found by neither"
