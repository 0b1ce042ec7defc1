"""What is fed is found again: in any order of days, in any script, in any amount."""

from collections.abc import Sequence
from datetime import datetime

from recall_bench.core.memory import BulkIngestMemory, Clock, EvidenceControl
from recall_bench.core.scenario import Episode
from recall_bench.features.doctor.check_context import (
    CheckContext,
    CheckDoesNotApply,
    CheckedMemory,
    CheckReply,
    ContractBroken,
    describe_declaration,
)
from recall_bench.features.doctor.story import (
    StoryFact,
    compute_date,
    make_episode,
    make_marker,
    write_day,
    write_large_day,
)
from recall_bench.stories.persona_files import format_days
from recall_bench.text.number_words import format_ordinal

DAYS = 20
ENOUGH = 0.9
"""The share of facts that must be found again. A system may condense what it is fed. A memory
that loses three writes in ten passes with a probability below 1/28."""

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


async def check_round_trip(context: CheckContext) -> str:
    """What is fed on any day is found again at the end."""
    if isinstance(context.system, EvidenceControl):
        context.observations.note(recall=0.0)
        raise CheckDoesNotApply(
            "it is a control that answers from the evidence it receives, not from what it is fed"
        )
    facts = {day: context.make_fact(day) for day in range(1, DAYS + 1)}
    memory = await context.open()
    await memory.tell_facts(list(facts.values()))

    recalled = await memory.find_facts(list(facts.values()))

    share = len(recalled) / len(facts)
    context.observations.note(recall=share)
    missing = [day for day, fact in facts.items() if fact not in recalled]
    if share >= ENOUGH:
        return f"found {_format_count(recalled, facts)} facts again" + (
            f", not that of {format_days(missing)}" if missing else ""
        )
    came = f"only {len(recalled)} ({share:.0%}) were" if recalled else "none was"
    raise ContractBroken(
        f"expected {ENOUGH:.0%} of {len(facts)} facts, one per day, to be found again, but "
        f"{came}, and what was fed on {format_days(missing)} is lost; see that every day "
        "is stored and that search covers all of them"
    )


def _format_count(found: Sequence[StoryFact], facts: dict[int, StoryFact]) -> str:
    return f"all {len(facts)}" if len(found) == len(facts) else f"{len(found)} of {len(facts)}"


async def check_order(context: CheckContext) -> str:
    """Days come in story order, with gaps, and what changed is known as it is at the end."""
    early, late, other = context.make_fact(0), context.make_change(0), context.make_fact(1)
    days = [
        make_episode(day, write_day(day, fact.sentence))
        for day, fact in ((1, early), (2, other), (9, context.make_fact(2)), (31, late))
    ]
    memory = await context.open()
    await memory.feed_all(*days)

    order = await _find_latest(memory, early, late)
    await memory.close()
    streamed = await _check_stream(context, days, early, late)

    return f"the later of two values is found, {order}{streamed}"


async def _find_latest(memory: CheckedMemory, early: StoryFact, late: StoryFact) -> str:
    """How the later value is returned; a system that returns one value only is asked twice."""
    recalled: list[StoryFact] = []
    for question in (late.question, f"What has changed? {late.question}"):
        if late not in recalled:
            recalled = (await memory.ask(question)).find_facts([early, late])
    if late not in recalled:
        came = f"only the earlier, {early.marker!r}, came" if recalled else "neither came"
        raise ContractBroken(
            f"expected the later of two values, {late.marker!r}, but {came}; see that a later day "
            "is stored although an earlier one said otherwise"
        )
    return (
        "and alone"
        if len(recalled) == 1
        else "first"
        if recalled[0] is late
        else "after the earlier"
    )


async def _check_stream(
    context: CheckContext, days: Sequence[Episode], early: StoryFact, late: StoryFact
) -> str:
    """The same with many days at once, if the memory can ingest them so."""
    memory = await context.open("streamed")
    stream = memory.memory
    context.observations.note(streams=isinstance(stream, BulkIngestMemory))
    if not isinstance(stream, BulkIngestMemory):
        return ""
    took: list[int] = []
    await context.call(
        "ingesting many days", lambda: stream.ingest_all(days, lambda day: took.append(day.day))
    )
    memory.last_day = days[-1].day
    expected = [day.day for day in days]
    if took != expected:
        raise ContractBroken(
            f"expected {format_days(expected)} to be reported as ingested, in this order, but "
            f"{took or 'nothing'} was; report each day once it is stored"
        )
    await memory.settle()
    await _find_latest(memory, early, late)
    return "; many days at once arrive in order"


async def check_scripts(context: CheckContext) -> str:
    """Text is returned as it was fed, in every script."""
    odd = make_marker(context.seed, "control")
    signs = {
        kind: StoryFact(
            marker=word,
            sentence=f"The sign over the {place} reads {word}.",
            question=f"What does the sign over the {place} read?",
        )
        for kind, (place, word) in _SIGNS.items()
    }
    signs["control characters"] = StoryFact(
        marker=odd,
        sentence=f"The label on the brass valve reads \x07\x1b{odd}\x08\x7f and nothing else.",
        question="What does the label on the brass valve read?",
    )
    facts = list(signs.values())
    memory = await context.open()
    await memory.feed_all(
        *(
            make_episode(day, write_day(day, *(fact.sentence for fact in facts[day - 1 :: 4])))
            for day in range(1, 5)
        )
    )

    recalled = await memory.find_facts(facts)

    lost = [kind for kind, sign in signs.items() if sign not in recalled]
    if lost:
        raise ContractBroken(
            f"expected text in {len(signs)} kinds of writing to be returned as it was fed, but "
            f"{', '.join(lost)} did not; see where text is encoded, cleaned or truncated"
        )
    return f"text in {len(signs)} kinds of writing is returned as it was fed"


async def check_large_day(context: CheckContext) -> str:
    """A day of a megabyte is ingested; how much of it can be found is only reported."""
    facts = (context.make_fact(0), context.make_fact(1), context.make_fact(2))
    memory = await context.open()
    await memory.feed_all(make_episode(1, write_large_day(LARGE_BYTES, facts)))

    recalled = await memory.find_facts(facts)

    places = [
        place
        for place, fact in zip(("start", "middle", "end"), facts, strict=True)
        if fact in recalled
    ]
    return f"a day of 1 MB is ingested; found again: {', '.join(places) or 'nothing of it'}"


_DAYS = (1, 40, 75, 120)

_DATES_NEEDED = 3
"""How many of four dates must be returned. A date cannot be guessed, so one fact that is not found
is tolerated; a day that is found by its date can be guessed, so all four must be right."""

_RANK = {Clock.NONE: 0, Clock.IN_TEXT: 1, Clock.NATIVE: 2}


async def check_dates(context: CheckContext) -> str:
    """A system knows the date as its card says."""
    beside = await _observe_dates(context, "beside", in_text=False)
    within = None if beside.is_known else await _observe_dates(context, "within", in_text=True)
    if beside.is_known:
        observed, detail = Clock.NATIVE, beside
    elif within is not None and within.is_known:
        observed, detail = Clock.IN_TEXT, within
    else:
        observed, detail = Clock.NONE, within or beside
    if not beside.found and not (within and within.found):
        raise CheckDoesNotApply("it found none of the days, so their dates cannot be checked")
    context.observations.note(clock=observed)
    claim = context.system.card.clock
    if claim is not None and _RANK[claim] > _RANK[observed]:
        raise ContractBroken(
            f"expected to see the clock the card claims, {claim}, but saw {observed}: with the "
            f"date beside the text {beside.words}; pass the date of each day to the system, or "
            f"{describe_declaration('clock', str(observed))}"
        )
    return f"saw {observed}: {detail.words}; {_compare_claim(claim, observed)}"


def _compare_claim(claim: Clock | None, seen: Clock) -> str:
    if claim is None:
        return f"the card does not say, so {describe_declaration('clock', str(seen))}"
    if claim is seen:
        return "as the card says"
    return f"the card says {claim}, which is less"


class _DateSighting:
    def __init__(self, by_date: int, dated: int, found: int) -> None:
        self.found = found
        self.is_known = by_date == len(_DAYS) or dated >= _DATES_NEEDED
        self.words = (
            f"{by_date} of {len(_DAYS)} days were found by their date and "
            f"{dated} of {len(_DAYS)} dates were returned"
        )


async def _observe_dates(context: CheckContext, scenario: str, *, in_text: bool) -> _DateSighting:
    visits = {day: _make_visit(context.seed, scenario, day, in_text=in_text) for day in _DAYS}
    memory = await context.open(scenario)
    await memory.feed_all(
        *(make_episode(day, write_day(1, visit.sentence)) for day, visit in visits.items()),
        make_episode(_DAYS[-1] + 30, write_day(2, "No visitors at all.")),
    )
    by_date = dated = named = 0
    for day, visit in visits.items():
        reply = await memory.ask(visit.question)
        names = reply.find_facts(visits.values())
        by_date += names[:1] == [visit]
        named += bool(names)
        reply = await memory.ask(f"On which date was {visit.marker} our visitor at the gate?")
        dated += reply.contains(visit.marker) and _contains_date(reply, compute_date(day))
    await memory.close()
    return _DateSighting(by_date, dated, named)


def _make_visit(seed: int, scenario: str, day: int, *, in_text: bool) -> StoryFact:
    word = make_marker(seed, f"visitor\0{scenario}\0{day}")
    spoken = f"{compute_date(day).day} {compute_date(day):%B %Y} ({compute_date(day):%Y-%m-%d})"
    when = f" on {spoken}" if in_text else ""
    return StoryFact(
        marker=word,
        sentence=f"Our visitor at the gate{when} was {word}.",
        question=f"Who was our visitor at the gate on {spoken}?",
    )


def _contains_date(reply: CheckReply, when: datetime) -> bool:
    month, short = f"{when:%B}", f"{when:%b}"
    forms = (
        f"{when:%Y-%m-%d}",
        f"{when:%Y/%m/%d}",
        f"{when:%d/%m/%Y}",
        f"{when:%m/%d/%Y}",
        f"{when:%d.%m.%Y}",
        *(f"{when.day} {name}" for name in (month, short)),
        *(f"{format_ordinal(when.day)} {article}{month}" for article in ("", "of ")),
        *(f"{name} {when.day}" for name in (month, short)),
        *(f"{name} {when:%d}" for name in (month, short)),
    )
    return any(reply.contains(form) for form in forms)
