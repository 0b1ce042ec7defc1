"""A settled memory is settled: it may be asked, asked again, asked together, and settled again."""

import re
from collections.abc import Callable, Coroutine, Sequence

import anyio

from recall_bench.core.errors import SystemFault
from recall_bench.core.memory import Holdings
from recall_bench.features.doctor.check_context import (
    CheckContext,
    CheckDoesNotApply,
    CheckedMemory,
    CheckReply,
    ContractBroken,
    describe_declaration,
)
from recall_bench.features.doctor.story import StoryFact, make_episode, make_marker, write_day
from recall_bench.stories.persona_files import format_days

REPEATS = 2
LATE_ASKS = 30
LATE_PAUSE_S = 0.05
"""How often, and how far apart, a memory is asked again that did not know its last day."""

MOST_AT_ONCE = 64


async def check_readiness(context: CheckContext) -> str:
    """Once settled, everything can be asked about at once, and stays so."""
    facts = [context.make_fact(thing) for thing in range(5)]
    last = facts[-1]
    memory = await context.open()
    await memory.tell_facts(facts)

    if not await memory.find_facts([last]):
        raise ContractBroken(await _explain_late(memory, last))
    first = await memory.find_facts(facts)
    for _ in range(REPEATS):
        again = await memory.find_facts(facts)
        if again != first:
            days = [facts.index(fact) + 1 for fact in set(first) ^ set(again)]
            raise ContractBroken(
                "expected the same to be found however often it is asked, but the finds of "
                f"{format_days(days)} changed while nothing was fed; return from settle only when "
                "nothing is under way"
            )
    return f"the last day is found at once, and the same {REPEATS + 1} times over"


async def _explain_late(memory: CheckedMemory, last: StoryFact) -> str:
    for attempt in range(2, LATE_ASKS + 2):
        await anyio.sleep(LATE_PAUSE_S)
        if await memory.find_facts([last]):
            return (
                "expected the last day to be found as soon as settle returns, but it was only "
                f"when asked for the {attempt}th time; return from settle when all is indexed"
            )
    return (
        "expected the last day to be found as soon as settle returns, but it was not in "
        f"{LATE_ASKS + 1} attempts; see that settle flushes what is buffered"
    )


async def check_concurrency(context: CheckContext) -> str:
    """As many questions at once as the card allows are answered as they are one by one."""
    declared = context.system.card.max_concurrency
    if declared == 1:
        context.observations.note(questions_at_once=1)
        raise CheckDoesNotApply("it is asked one question at a time, as its card says")
    count = min(declared, MOST_AT_ONCE)
    facts = [context.make_fact(thing) for thing in range(6)]
    memory = await context.open()
    await memory.tell_facts(facts)
    alone = await memory.find_facts(facts)
    questions = [facts[number % len(facts)] for number in range(count)]
    replies: dict[int, CheckReply] = {}

    async def ask(number: int) -> None:
        replies[number] = await memory.ask(questions[number].question)

    await _ask_together(ask, count)
    lost = [
        n
        for n in range(count)
        if questions[n] in alone and not replies[n].contains(questions[n].marker)
    ]
    if lost:
        swapped = sum(bool(replies[number].find_facts(facts)) for number in lost)
        raise ContractBroken(
            f"expected {count} questions at once to be answered as they are one by one, but "
            f"{len(lost)} lost their answer, {swapped} of them to another question's; share no "
            f"state between questions, or {describe_declaration('max_concurrency', 1)}"
        )
    context.observations.note(questions_at_once=count)
    return f"{count} questions at once are answered as they are one by one"


async def _ask_together(ask: Callable[[int], Coroutine[object, object, None]], count: int) -> None:
    """Ask all at once; raise the first error, outside of its group."""
    try:
        async with anyio.create_task_group() as group:
            for number in range(count):
                group.start_soon(ask, number)
    except ExceptionGroup as failed:
        raise _get_first_error(failed) from None


def _get_first_error(error: Exception) -> Exception:
    return _get_first_error(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


async def check_asking(context: CheckContext) -> str:
    """A question leaves no trace: what it mentions is not remembered as if it had been fed."""
    trace = make_marker(context.seed, "asked")
    fact = context.make_fact(0)
    memory = await context.open()
    await memory.tell_facts([fact])

    await memory.ask(f"Is {trace} the name of the parrot in the wine cellar?")
    reply = await memory.ask("What is the name of the parrot in the wine cellar?")

    if reply.contains(trace):
        raise ContractBroken(
            f"expected questions to leave no trace, but {trace!r}, which only a question had "
            "mentioned, was in the reply to the next; search without storing what is asked"
        )
    return "what a question mentions is not remembered"


async def check_finalize(context: CheckContext) -> str:
    """Settling twice, or with nothing new to settle, changes nothing."""
    first, second = [context.make_fact(0), context.make_fact(1)], [context.make_fact(2)]
    memory = await context.open()
    await memory.settle()
    await memory.tell_facts(first)
    before = await memory.find_facts(first), await memory.count_days()
    await memory.settle()
    await memory.settle()
    after = await memory.find_facts(first), await memory.count_days()
    if before != after:
        raise ContractBroken(
            "expected settling again to change nothing, but "
            f"{_describe_difference(before, after)}; let it return at once where nothing is new"
        )
    await memory.tell_facts(second)
    if await memory.find_facts(second) != second:
        raise ContractBroken(
            "expected a day fed after settling to be ingested as those before, but it was not "
            "found; settle is called at every checkpoint, and the story continues after it"
        )
    return "settling again, or with nothing new, changes nothing"


def _describe_difference(
    before: tuple[list[StoryFact], int | None], after: tuple[list[StoryFact], int | None]
) -> str:
    if before[1] != after[1]:
        return f"{before[1]} days became {after[1]}"
    return f"{len(before[0])} facts found became {len(after[0])}"


async def check_count(context: CheckContext) -> str:
    """A memory that counts its days counts those it was fed."""
    facts = [context.make_fact(thing) for thing in range(4)]
    memory = await context.open()
    if await memory.count_days() is None:
        raise CheckDoesNotApply("it does not say how many days it has ingested")
    await memory.tell_facts(facts)
    claimed = await memory.count_days()
    if claimed != len(facts):
        raise ContractBroken(
            f"expected it to count {len(facts)} days after it was fed {len(facts)}, but it "
            f"counts {claimed}; count what is stored, day by day"
        )
    return f"it counts the {len(facts)} days it was fed"


APOLOGY = re.compile(
    r"""
    \A\W*(?:(?:fatal|internal|unexpected|server)\W+)*(?:error|exception|failure|timeout)\W*(?::|\Z)
  | \A\W*\w*(?:Error|Exception):
  | Traceback\ \(most\ recent\ call\ last\)
  | \binternal\ server\ error\b
  | \bHTTP(?:/\d(?:\.\d)?)?\W+[45]\d\d\b
  | \A\W*(?:an?\ (?:unexpected\ )?error\ (?:has\ )?occurred|something\ went\ wrong)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Matches an error message that was returned as an answer."""

_ODD_DAYS = {2: "", 3: " \n\t\n ", 4: "# session: principal\n", 5: "---\ntype: daily\n---\n"}

_ODD_QUESTIONS = {
    "an empty question": "",
    "a blank question": " \t\n",
    "a question without words": "?!… 🤷",
    "a very long question": "and why, and when, and who with, " * 600,
    "a question with quotes and brackets": "\"What' AND (is OR [the] {name}* ~ of: the^ parrot\\?",
    "a question about something that was never fed": "Which opera does the parrot hum?",
}


async def check_errors(context: CheckContext) -> str:
    """Odd but legal input is answered or raises SystemFault, and the memory goes on working."""
    fact, later = context.make_fact(0), context.make_fact(1)
    memory = await context.open()
    await memory.tell_facts([fact])
    await memory.require_fact(fact, "before any odd input")
    refused = [
        f"day {day}" for day, text in _ODD_DAYS.items() if not await _try_ingest(memory, day, text)
    ]
    await memory.feed(make_episode(6, write_day(6, later.sentence)))
    await memory.settle()

    for kind, text in _ODD_QUESTIONS.items():
        reply = await _try_ask(memory, text)
        if reply is None:
            refused.append(kind)
        elif apology := _find_apology(reply):
            raise ContractBroken(
                f"expected {kind} to be answered or to raise SystemFault, but the answer is "
                f"{apology!r}; raise when something fails, because an apology is graded"
            )
    for one in (fact, later):
        reply = await memory.ask(one.question)
        if apology := _find_apology(reply):
            raise ContractBroken(
                f"expected an answer, but {apology!r} came as one; raise when something fails"
            )
        if not reply.contains(one.marker):
            raise ContractBroken(
                f"expected the memory to go on working after odd input, but {one.marker!r} was "
                "not found any more; see what the odd input left behind"
            )
    if refused:
        return f"refuses {', '.join(refused)} with a SystemFault, and goes on"
    return "odd days and questions are accepted"


async def _try_ingest(memory: CheckedMemory, day: int, text: str) -> bool:
    try:
        await memory.feed(make_episode(day, text))
    except SystemFault:
        return False
    return True


async def _try_ask(memory: CheckedMemory, text: str) -> CheckReply | None:
    try:
        return await memory.ask(text)
    except SystemFault:
        return None


def _find_apology(reply: CheckReply) -> str | None:
    """The beginning of the first text in the reply that looks like an error message."""
    for text in (reply.said, *reply.passages):
        if APOLOGY.search(text):
            return text.strip()[:80]
    return None


async def check_holdings(context: CheckContext) -> str:
    """A memory that says what it holds names days it was fed, and every day it knows of."""
    facts = [context.make_fact(thing) for thing in range(5)]
    memory = await context.open()
    await memory.settle()
    before = await memory.read_holdings()
    await memory.tell_facts(facts)
    holdings = await memory.read_holdings()
    if before == holdings == Holdings():
        raise CheckDoesNotApply("it does not say what it holds")
    for report, last_day in ((before, 0), (holdings, len(facts))):
        strange = sorted(set(report.days or ()) - set(range(1, last_day + 1)))
        if strange:
            fed = (
                f"{format_days(range(1, last_day + 1))} and no others"
                if last_day
                else "nothing yet"
            )
            raise ContractBroken(
                f"expected it to hold {fed}, but it says that it holds "
                f"{format_days(strange)}; give the "
                "numbers that the days came with, of this memory alone"
            )
        _refuse_bytes(report)
    await _refuse_hidden(memory, facts, holdings)
    return (
        f"it says that it holds {_format_held_days(holdings, len(facts))}{_format_size(holdings)}"
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
    """ContractBroken if it returns what was fed on a day that it says it does not hold."""
    if held.days is None:
        return
    missing = [day for day in range(1, len(facts) + 1) if day not in held.days]
    recalled = await memory.find_facts([facts[day - 1] for day in missing])
    if recalled:
        days = [day for day in missing if facts[day - 1] in recalled]
        raise ContractBroken(
            f"expected it to name every day it knows something of, but it returns what was fed on "
            f"{format_days(days)} and says that it does not hold it; ask the store, once "
            "it has settled"
        )


def _format_held_days(held: Holdings, count: int) -> str:
    if held.days is None:
        return "something"
    missing = set(range(1, count + 1)) - set(held.days)
    lacking = f" and lacks {format_days(missing)}" if missing else ""
    return f"{len(held.days)} of the {count} days it was fed{lacking}"


def _format_size(held: Holdings) -> str:
    return "" if held.bytes is None else f", in {held.bytes:,} bytes"
