"""A settled memory is settled: it may be asked, asked again, asked together, and settled again."""

from collections.abc import Callable, Coroutine

import anyio

from recall_bench.testing.bench import (
    CheckContext,
    CheckDoesNotApply,
    CheckedMemory,
    CheckReply,
    ContractBroken,
    format_days,
)
from recall_bench.testing.story import StoryFact, make_canary

REPEATS = 2
LATE_ASKS = 30
LATE_PAUSE_S = 0.05
"""How often, and how far apart, a memory is asked again that did not know its last day."""

MOST_AT_ONCE = 64


async def check_readiness(bench: CheckContext) -> str:
    """Once settled, everything can be asked about at once, and stays so."""
    facts = [bench.make_fact(thing) for thing in range(5)]
    last = facts[-1]
    memory = await bench.open()
    await memory.tell_facts(facts)

    if not await memory.find_facts([last]):
        raise ContractBroken(await _explain_late(memory, last))
    first = await memory.find_facts(facts)
    for _ in range(REPEATS):
        again = await memory.find_facts(facts)
        if again != first:
            days = [facts.index(each) + 1 for each in set(first) ^ set(again)]
            raise ContractBroken(
                "expected the same to be found however often it is asked, but the finds of "
                f"{format_days(days)} changed while nothing was told; return from settle only when "
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
        f"{LATE_ASKS + 1} attempts; see that settle flushes what is held back"
    )


async def check_concurrency(bench: CheckContext) -> str:
    """As many questions at once as the card allows are answered as they are one by one."""
    declared = bench.system.card.max_concurrency
    if declared == 1:
        bench.observations.questions_at_once = 1
        raise CheckDoesNotApply("it is asked one question at a time, as its card says")
    count = min(declared, MOST_AT_ONCE)
    facts = [bench.make_fact(thing) for thing in range(6)]
    memory = await bench.open()
    await memory.tell_facts(facts)
    alone = await memory.find_facts(facts)
    asked = [facts[number % len(facts)] for number in range(count)]
    heard: dict[int, CheckReply] = {}

    async def ask(number: int) -> None:
        heard[number] = await memory.ask(asked[number].question)

    await _ask_together(ask, count)
    lost = [n for n in range(count) if asked[n] in alone and not heard[n].contains(asked[n].canary)]
    if lost:
        swapped = sum(bool(heard[number].find_facts(facts)) for number in lost)
        raise ContractBroken(
            f"expected {count} questions at once to be answered as they are one by one, but "
            f"{len(lost)} lost their answer, {swapped} of them to another question's; declare "
            "max_concurrency = 1, or share no state between questions"
        )
    bench.observations.questions_at_once = count
    return f"{count} questions at once are answered as they are one by one"


async def _ask_together(ask: Callable[[int], Coroutine[object, object, None]], count: int) -> None:
    """Put them all at once; what the first to fail raises, bare."""
    try:
        async with anyio.create_task_group() as group:
            for number in range(count):
                group.start_soon(ask, number)
    except ExceptionGroup as failed:
        raise _get_first_error(failed) from None


def _get_first_error(error: Exception) -> Exception:
    return _get_first_error(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


async def check_asking(bench: CheckContext) -> str:
    """A question leaves no trace: what it mentions is not remembered as if it had been told."""
    trace = make_canary(bench.seed, "asked")
    known = bench.make_fact(0)
    memory = await bench.open()
    await memory.tell_facts([known])

    await memory.ask(f"Is {trace} the name of the parrot in the wine cellar?")
    heard = await memory.ask("What is the name of the parrot in the wine cellar?")

    if heard.contains(trace):
        raise ContractBroken(
            f"expected questions to leave no trace, but {trace!r}, which only a question had "
            "mentioned, was told in reply to the next; search without storing what is asked"
        )
    return "what a question mentions is not remembered"


async def check_finalize(bench: CheckContext) -> str:
    """Settling twice, or with nothing new to settle, changes nothing."""
    first, second = [bench.make_fact(0), bench.make_fact(1)], [bench.make_fact(2)]
    memory = await bench.open()
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
            "expected a day told after settling to be taken in as those before, but it was not "
            "found; settling comes at every checkpoint, and the story goes on after it"
        )
    return "settling again, or with nothing new, changes nothing"


def _describe_difference(
    before: tuple[list[StoryFact], int | None], after: tuple[list[StoryFact], int | None]
) -> str:
    if before[1] != after[1]:
        return f"{before[1]} days became {after[1]}"
    return f"{len(before[0])} facts found became {len(after[0])}"


async def check_count(bench: CheckContext) -> str:
    """A memory that says how many days it has lived says how many it was told."""
    facts = [bench.make_fact(thing) for thing in range(4)]
    memory = await bench.open()
    if await memory.count_days() is None:
        raise CheckDoesNotApply("it does not say how many days it has taken in")
    await memory.tell_facts(facts)
    claimed = await memory.count_days()
    if claimed != len(facts):
        raise ContractBroken(
            f"expected it to count {len(facts)} days after it was told {len(facts)}, but it "
            f"counts {claimed}; count what is stored, day by day"
        )
    return f"it counts the {len(facts)} days it was told"
