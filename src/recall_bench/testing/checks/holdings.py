"""What a memory says it holds agrees with what it was told, and with what it can tell."""

from collections.abc import Sequence

from recall_bench.core.memory import Holdings
from recall_bench.testing.bench import (
    CheckContext,
    CheckDoesNotApply,
    CheckedMemory,
    ContractBroken,
    format_days,
)
from recall_bench.testing.story import StoryFact


async def check_holdings(bench: CheckContext) -> str:
    """A memory that says what it holds names days it was told, and all that it knows of."""
    facts = [bench.make_fact(thing) for thing in range(5)]
    memory = await bench.open()
    await memory.settle()
    before = await memory.read_holdings()
    await memory.tell_facts(facts)
    held = await memory.read_holdings()
    if before == held == Holdings():
        raise CheckDoesNotApply("it does not say what it holds")
    for told, last_day in ((before, 0), (held, len(facts))):
        _refuse_days(told, last_day)
        _refuse_bytes(told)
    await _refuse_hidden(memory, facts, held)
    return f"it says that it holds {_format_held_days(held, len(facts))}{_format_size(held)}"


def _refuse_days(held: Holdings, last_day: int) -> None:
    strange = sorted(set(held.days or ()) - set(range(1, last_day + 1)))
    if strange:
        fed = f"{format_days(range(1, last_day + 1))} and no others" if last_day else "nothing yet"
        raise ContractBroken(
            f"expected it to hold {fed}, but it says that it holds {format_days(strange)}; give the "
            "numbers that the days came with, of this memory alone"
        )


def _refuse_bytes(held: Holdings) -> None:
    if held.bytes is None:
        return
    if held.bytes < 0 or (held.days and not held.bytes):
        raise ContractBroken(
            f"expected a number of bytes in which {len(held.days or ())} days can be kept, but it "
            f"says {held.bytes}; count the texts and what is searched"
        )


async def _refuse_hidden(memory: CheckedMemory, facts: Sequence[StoryFact], held: Holdings) -> None:
    """Broken if it tells what was told on a day that it says it does not hold."""
    if held.days is None:
        return
    missing = [day for day in range(1, len(facts) + 1) if day not in held.days]
    found = await memory.find_facts([facts[day - 1] for day in missing])
    if found:
        known = [day for day in missing if facts[day - 1] in found]
        raise ContractBroken(
            f"expected it to name every day it knows something of, but it tells what was told on "
            f"{format_days(known)} and says that it does not hold it; ask the store, once it has settled"
        )


def _format_held_days(held: Holdings, count: int) -> str:
    if held.days is None:
        return "something"
    missing = set(range(1, count + 1)) - set(held.days)
    lacking = f" and lacks {format_days(missing)}" if missing else ""
    return f"{len(held.days)} of the {count} days it was told{lacking}"


def _format_size(held: Holdings) -> str:
    return "" if held.bytes is None else f", in {held.bytes:,} bytes"
