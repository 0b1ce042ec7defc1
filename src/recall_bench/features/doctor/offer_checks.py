"""The optional parts of the contract: what is erased is gone, and nothing else is."""

from collections.abc import Sequence
from functools import partial

from recall_bench.core.memory import (
    ConsolidatingMemory,
    EraseScope,
    ErasingMemory,
    ListingMemory,
    Offer,
    StoredEntry,
    list_offers,
    reopen_memory,
)
from recall_bench.core.scenario import PRINCIPAL
from recall_bench.features.doctor.check_context import (
    CheckContext,
    CheckDoesNotApply,
    CheckedMemory,
    ContractBroken,
    normalise_text,
)
from recall_bench.features.doctor.story import StoryFact, make_episode, write_day

NOT_OFFERED = "not offered"

_SESSION = "boat-club"
_PERSON = "Mirabel Quast"
_KEPT_DAYS = 10
_LATE_DAY = 40


async def check_stored(context: CheckContext) -> str:
    """What it finds is in the list of what it holds."""
    _require_offer(context, Offer.STORED)
    facts = [context.make_fact(0), context.make_fact(1)]
    memory = await context.open()
    await memory.tell_facts(facts)
    recalled = await memory.find_facts(facts)
    entries = await _list_entries(context, memory)
    if not entries:
        raise ContractBroken(
            f"expected stored to list what was ingested on {len(facts)} days, but it listed "
            "nothing; list every entry that the memory holds"
        )
    if recalled and not any(_holds_fact(entries, fact) for fact in recalled):
        raise ContractBroken(
            f"expected an entry with {recalled[0].marker!r}, which it finds, but none of "
            f"{len(entries)} entries has it; list the texts that answers are made from"
        )
    return f"{len(entries)} entries are listed"


async def check_consolidation(context: CheckContext) -> str:
    """What was known before it consolidates is known afterwards."""
    _require_offer(context, Offer.CONSOLIDATE)
    fact = context.make_fact(0)
    memory = await context.open()
    await memory.tell_facts([fact])
    await memory.require_fact(fact, "before it consolidates")
    if not isinstance(memory.memory, ConsolidatingMemory):
        raise CheckDoesNotApply(NOT_OFFERED)
    await context.call("consolidating", memory.memory.consolidate)
    await memory.settle()
    await memory.require_fact(fact, "after it consolidated")
    return "a fact is found after it consolidated"


async def check_reopening(context: CheckContext) -> str:
    """A memory that is closed and reopened knows what it knew."""
    _require_offer(context, Offer.REOPEN)
    fact = context.make_fact(0)
    memory = await context.open()
    await memory.tell_facts([fact])
    await memory.require_fact(fact, "before it is closed")
    await memory.close()
    opened = await context.call(
        "reopening a memory", partial(reopen_memory, context.system, memory.memory)
    )
    again = context.hold_memory(opened, memory.scenario)
    again.last_day = memory.last_day
    if not await again.find_facts([fact]):
        raise ContractBroken(
            f"expected {fact.marker!r} to be found after the memory was closed and reopened, but "
            "it was not; see that everything is on disk once finalize_ingestion has returned, and "
            "that reopen reads it"
        )
    return "a fact is found after the memory was closed and reopened"


def _require_offer(context: CheckContext, offer: Offer) -> None:
    if offer not in list_offers(context.system):
        raise CheckDoesNotApply(NOT_OFFERED)


async def check_erasure(scope: EraseScope, context: CheckContext) -> str:
    """What is erased in a scope is gone once that was asked for, and nothing else is."""
    _require_offer(context, scope.offer)
    gone, other = context.make_fact(0), context.make_fact(1)
    is_said, is_late = scope is EraseScope.PERSON, scope is EraseScope.DAYS
    sentence = f"{_PERSON} told us: {gone.sentence}" if is_said else gone.sentence
    session = _SESSION if scope is EraseScope.SESSION else None
    day = make_episode(1, write_day(1, sentence, session=session or PRINCIPAL))
    late = _LATE_DAY if is_late else 2
    days = [day.replace(session=session), make_episode(late, write_day(late, other.sentence))]
    value = {
        EraseScope.FORGET: gone.subject,
        EraseScope.DELETE: day.id,
        EraseScope.SESSION: _SESSION,
        EraseScope.PERSON: _PERSON,
        EraseScope.DAYS: str(_KEPT_DAYS),
    }[scope]
    memory = await context.open()
    await memory.feed_all(*days)
    if not isinstance(memory.memory, ErasingMemory):
        raise CheckDoesNotApply(NOT_OFFERED)
    asker = session or PRINCIPAL
    if not (await memory.ask(gone.question, asker)).contains(gone.marker):
        raise CheckDoesNotApply(f"it does not find {gone.marker!r} before it is asked to erase it")
    await memory.require_fact(other, "before anything is erased")
    await context.call(f"erasing by {scope.value}", partial(memory.memory.erase, scope, value))
    await memory.settle()
    if (await memory.ask(gone.question, asker)).contains(gone.marker):
        raise ContractBroken(
            f"expected {gone.marker!r} to be gone after erasing by {scope.value} ({value!r}), but "
            "it is still found; erase it from every index, summary and cache"
        )
    if Offer.STORED in list_offers(context.system) and _holds_fact(
        await _list_entries(context, memory), gone
    ):
        raise ContractBroken(
            f"expected {gone.marker!r} to be gone after erasing by {scope.value} ({value!r}), but "
            "stored still lists it; erase it, rather than hide it"
        )
    if not await memory.find_facts([other]):
        raise ContractBroken(
            f"expected {other.marker!r} to stay when something else is erased by {scope.value} "
            f"({value!r}), but it is not found any more; erase only what is named"
        )
    return f"what was erased by {scope.value} is gone, and the rest is found"


async def _list_entries(context: CheckContext, memory: CheckedMemory) -> tuple[StoredEntry, ...]:
    if not isinstance(memory.memory, ListingMemory):
        raise CheckDoesNotApply(NOT_OFFERED)
    return await context.call("listing what it holds", memory.memory.list_stored)


def _holds_fact(entries: Sequence[StoredEntry], fact: StoryFact) -> bool:
    marker = normalise_text(fact.marker)
    return any(marker in normalise_text(entry.text) for entry in entries)
