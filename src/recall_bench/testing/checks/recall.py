"""What is told is found again: in any order of days, in any script, in any amount."""

from collections.abc import Sequence

from recall_bench.core.history import Episode
from recall_bench.core.memory import BulkIngestMemory, EvidenceControl
from recall_bench.testing.bench import (
    CheckContext,
    CheckDoesNotApply,
    CheckedMemory,
    ContractBroken,
    format_days,
)
from recall_bench.testing.story import (
    StoryFact,
    make_canary,
    make_episode,
    write_day,
    write_large_day,
)

DAYS = 20
ENOUGH = 0.9
"""The share of facts that must be found again. A system may condense what it is told, and a memory
that loses three writes in ten gets past this less than once in twenty-eight times."""

LARGE_BYTES = 1_000_000

_SIGNS = {
    "Greek": ("Greek bakery", "Ζορβάπλεν"),
    "Cyrillic": ("Bulgarian bookshop", "Дургимоля"),
    "Arabic": ("Moroccan tailor", "زرفبلود"),
    "Hebrew": ("Israeli print shop", "זורבפלון"),
    "Devanagari": ("Indian cinema", "ज़ोर्वापुलेन"),
    "Thai": ("Thai kitchen", "ซอรวาเปล็น"),
    "Chinese": ("Chinese pharmacy", "鑫朳蔸垚"),
    "Japanese": ("Japanese garden", "ゾルヴァプレ庵"),
    "Korean": ("Korean florist", "조르바플렌"),
    "emoji": ("toy shop", "👩🏽‍🔬🦜🪵🇪🇺"),
    "combining marks": ("Vietnamese café", "Zo\u0302\u0323rva\u0306\u0301plen"),
    "right-to-left marks": ("travel agency", "\u200fזָלְבִּי\u200e-\u202bنوردل\u202c"),
}


async def check_round_trip(bench: CheckContext) -> str:
    """What is told on any day is found again at the end."""
    if isinstance(bench.system, EvidenceControl):
        bench.observations.recall = 0.0
        raise CheckDoesNotApply("it is a control that answers from what it is confided, not told")
    facts = {day: bench.make_fact(day) for day in range(1, DAYS + 1)}
    memory = await bench.open()
    await memory.tell_facts(list(facts.values()))

    found = await memory.find_facts(list(facts.values()))

    share = bench.observations.recall = len(found) / len(facts)
    missing = [day for day, each in facts.items() if each not in found]
    if share >= ENOUGH:
        return f"found {_format_count(found, facts)} facts again" + (
            f", not that of {format_days(missing)}" if missing else ""
        )
    came = f"only {len(found)} ({share:.0%}) were" if found else "none was"
    raise ContractBroken(
        f"expected {ENOUGH:.0%} of {len(facts)} facts, told one a day, to be found again, but "
        f"{came}, and what was told on {format_days(missing)} is lost; see that every day is stored "
        "and that search looks at all of them"
    )


def _format_count(found: Sequence[StoryFact], facts: dict[int, StoryFact]) -> str:
    return f"all {len(facts)}" if len(found) == len(facts) else f"{len(found)} of {len(facts)}"


async def check_order(bench: CheckContext) -> str:
    """Days come in story order, with gaps, and what changed is known as it is at the end."""
    early, late, other = bench.make_fact(0), bench.make_change(0), bench.make_fact(1)
    days = [
        make_episode(day, write_day(day, told.sentence))
        for day, told in ((1, early), (2, other), (9, bench.make_fact(2)), (31, late))
    ]
    memory = await bench.open()
    await memory.feed_all(*days)

    said = await _find_latest(memory, early, late)
    await memory.close()
    streamed = await _check_stream(bench, days, early, late)

    return f"the later of two values is found, {said}{streamed}"


async def _find_latest(memory: CheckedMemory, early: StoryFact, late: StoryFact) -> str:
    """How the later value is told; a system that says one thing only may be asked twice."""
    told: list[StoryFact] = []
    for question in (late.question, f"What has changed? {late.question}"):
        if late not in told:
            told = (await memory.ask(question)).find_facts([early, late])
    if late not in told:
        came = f"only the earlier, {early.canary!r}, came" if told else "neither came"
        raise ContractBroken(
            f"expected the later of two values, {late.canary!r}, but {came}; see that a later day "
            "is stored although an earlier one said otherwise"
        )
    return "and alone" if len(told) == 1 else "first" if told[0] is late else "after the earlier"


async def _check_stream(
    bench: CheckContext, days: Sequence[Episode], early: StoryFact, late: StoryFact
) -> str:
    """The same through the door for many days, where there is one."""
    memory = await bench.open("streamed")
    stream = memory.memory
    bench.observations.streams = isinstance(stream, BulkIngestMemory)
    if not isinstance(stream, BulkIngestMemory):
        return ""
    took: list[int] = []
    await bench.call(
        "taking in many days",
        lambda: stream.ingest_all(days, lambda day: took.append(day.day)),
    )
    memory.last_day = days[-1].day
    expected = [day.day for day in days]
    if took != expected:
        raise ContractBroken(
            f"expected {format_days(expected)} to be reported as taken in, in this order, but "
            f"{took or 'nothing'} was; report each day once it is safe"
        )
    await memory.settle()
    await _find_latest(memory, early, late)
    return "; many days at once arrive in order"


async def check_scripts(bench: CheckContext) -> str:
    """Text comes back as it was told, whatever it is written in."""
    odd = make_canary(bench.seed, "control")
    signs = {
        kind: StoryFact(
            canary=word,
            sentence=f"The sign over the {place} reads {word}.",
            question=f"What does the sign over the {place} read?",
        )
        for kind, (place, word) in _SIGNS.items()
    }
    signs["control characters"] = StoryFact(
        canary=odd,
        sentence=f"The label on the brass valve reads \x07\x1b{odd}\x08\x7f and nothing else.",
        question="What does the label on the brass valve read?",
    )
    told = list(signs.values())
    memory = await bench.open()
    await memory.feed_all(
        *(
            make_episode(day, write_day(day, *(each.sentence for each in told[day - 1 :: 4])))
            for day in range(1, 5)
        )
    )

    found = await memory.find_facts(told)

    lost = [kind for kind, each in signs.items() if each not in found]
    if lost:
        raise ContractBroken(
            f"expected text in {len(signs)} kinds of writing to come back as it was told, but "
            f"{', '.join(lost)} did not; see where text is encoded, cleaned or cut"
        )
    return f"text in {len(signs)} kinds of writing comes back as it was told"


async def check_large_day(bench: CheckContext) -> str:
    """A day of a megabyte is taken in; how much of it can be found is only said."""
    facts = (bench.make_fact(0), bench.make_fact(1), bench.make_fact(2))
    memory = await bench.open()
    await memory.feed_all(make_episode(1, write_large_day(LARGE_BYTES, facts)))

    found = await memory.find_facts(facts)

    places = [
        place
        for place, each in zip(("start", "middle", "end"), facts, strict=True)
        if each in found
    ]
    return f"a day of 1 MB is taken in; found again: {', '.join(places) or 'nothing of it'}"
