"""How a system knows when something happened: seen by what it finds by date, and dates it tells.

Four days are told in the same words but for one canary. If the dates stand beside the text only,
a system that finds the right day by its date, or tells the date of a day, was handed the date and
uses it. If it can do so only where the text itself mentions the date, it reads. What it says
first counts, for it may well find all four.
"""

from datetime import datetime

from recall_bench.core.memory import Clock
from recall_bench.testing.bench import CheckContext, CheckDoesNotApply, CheckReply, ContractBroken
from recall_bench.testing.story import StoryFact, compute_date, make_canary, make_episode, write_day

_DAYS = (1, 40, 75, 120)

_DATES_NEEDED = 3
"""Of four dates so many must be told. Nobody can guess one, so this forgives a fact not found; a
day found by its date can be guessed, so there all four must be right."""

_RANK = {Clock.NONE: 0, Clock.IN_TEXT: 1, Clock.NATIVE: 2}


async def check_dates(bench: CheckContext) -> str:
    """A system knows the date as its card says."""
    beside = await _observe_dates(bench, "beside", in_text=False)
    within = None if beside.is_known else await _observe_dates(bench, "within", in_text=True)
    if beside.is_known:
        seen, detail = Clock.NATIVE, beside
    elif within is not None and within.is_known:
        seen, detail = Clock.IN_TEXT, within
    else:
        seen, detail = Clock.NONE, within or beside
    if not beside.found and not (within and within.found):
        raise CheckDoesNotApply("it found none of the days, so nothing can be said of their dates")
    bench.observations.clock = seen
    claim = bench.system.card.clock
    if claim is not None and _RANK[claim] > _RANK[seen]:
        raise ContractBroken(
            f"expected to see the clock the card claims, {claim}, but saw {seen}: with the date "
            f"beside the text {beside.words}; hand the date of each day to the system, or declare "
            f"clock = {str(seen)!r}"
        )
    return f"saw {seen}: {detail.words}; {_compare_claim(claim, seen)}"


def _compare_claim(claim: Clock | None, seen: Clock) -> str:
    if claim is None:
        return f"the card does not say, so declare clock = {str(seen)!r}"
    if claim is seen:
        return "as the card says"
    return f"the card says {claim}, which is less"


class _DateSighting:
    def __init__(self, by_date: int, told: int, found: int) -> None:
        self.found = found
        self.is_known = by_date == len(_DAYS) or told >= _DATES_NEEDED
        self.words = (
            f"{by_date} of {len(_DAYS)} days were found by their date and "
            f"{told} of {len(_DAYS)} dates were told"
        )


async def _observe_dates(bench: CheckContext, scenario: str, *, in_text: bool) -> _DateSighting:
    visits = {day: _make_visit(bench.seed, scenario, day, in_text=in_text) for day in _DAYS}
    memory = await bench.open(scenario)
    await memory.feed_all(
        *(make_episode(day, write_day(1, visit.sentence)) for day, visit in visits.items()),
        make_episode(_DAYS[-1] + 30, write_day(2, "No visitors at all.")),
    )
    by_date = told = found = 0
    for day, visit in visits.items():
        heard = await memory.ask(visit.question)
        names = heard.find_facts(visits.values())
        by_date += names[:1] == [visit]
        found += bool(names)
        heard = await memory.ask(f"On which date was {visit.canary} our visitor at the gate?")
        told += heard.contains(visit.canary) and _contains_date(heard, compute_date(day))
    await memory.close()
    return _DateSighting(by_date, told, found)


def _make_visit(seed: int, scenario: str, day: int, *, in_text: bool) -> StoryFact:
    word = make_canary(seed, f"visitor\0{scenario}\0{day}")
    spoken = f"{compute_date(day).day} {compute_date(day):%B %Y} ({compute_date(day):%Y-%m-%d})"
    when = f" on {spoken}" if in_text else ""
    return StoryFact(
        canary=word,
        sentence=f"Our visitor at the gate{when} was {word}.",
        question=f"Who was our visitor at the gate on {spoken}?",
    )


def _contains_date(heard: CheckReply, when: datetime) -> bool:
    month, short = f"{when:%B}", f"{when:%b}"
    forms = (
        f"{when:%Y-%m-%d}",
        f"{when:%Y/%m/%d}",
        f"{when:%d/%m/%Y}",
        f"{when:%m/%d/%Y}",
        f"{when:%d.%m.%Y}",
        *(f"{when.day} {name}" for name in (month, short)),
        *(f"{when.day}{_format_ordinal(when.day)} {article}{month}" for article in ("", "of ")),
        *(f"{name} {when.day}" for name in (month, short)),
        *(f"{name} {when:%d}" for name in (month, short)),
    )
    return any(heard.contains(form) for form in forms)


def _format_ordinal(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
