"""Counts, sums and extremes over all threads of a process that began in one month."""

from collections.abc import Iterator
from decimal import Decimal

from recall_bench.world.dates import month_name
from recall_bench.world.ledger import Fact, Span, Thread
from recall_bench.world.questions.draft import Desk, Draft, sentence
from recall_bench.world.sources import Process
from recall_bench.world.values import summed

CATEGORY = "synthesis"

_COUNTED = range(2, 13)
_SUMMED = range(2, 9)
_COMPARED = range(3, 10)

_Told = list[tuple[Thread, Fact]]
"""Each thread with the fact it contributes."""


def tallied(
    process: Process, month: str, threads: list[Thread], last_day: int, desk: Desk
) -> Iterator[Draft]:
    """The tallies of one process for one month that is over on `last_day`."""
    first = process.steps[0]
    if not (first.when and first.when.cue) or desk.is_isolated(first.session or process.session):
        return
    tally = _Tally(process, month, last_day, desk)
    tallies = process.tallies
    if tallies.count and len(threads) in _COUNTED:
        yield tally.count(tallies.count, threads)
    for slot, asks in tallies.total.items():
        if len(threads) in _SUMMED and (told := _first_values(threads, slot)):
            yield tally.total(asks, slot, told)
    for op, extremes in (("highest", tallies.highest), ("lowest", tallies.lowest)):
        for slot, asks in extremes.items():
            if len(threads) in _COMPARED and (told := _first_values(threads, slot)):
                yield from tally.extreme(op, asks, slot, told)


def _first_values(threads: list[Thread], slot: str) -> _Told:
    """The slot's number in each thread; nothing if one of them told it late, or twice."""
    found: _Told = []
    for thread in threads:
        facts = thread.history(slot)
        if len(facts) != 1 or facts[0].learned != thread.began or facts[0].value.amount is None:
            return []
        found.append((thread, facts[0]))
    return found


def _amount(told: tuple[Thread, Fact]) -> Decimal:
    return told[1].value.amount or Decimal(0)


class _Tally:
    """Words the tallies of one process for one month."""

    def __init__(self, process: Process, month: str, last_day: int, desk: Desk) -> None:
        self._process = process
        self._month = month
        self._last_day = last_day
        self._desk = desk

    def count(self, asks: list[str], threads: list[Thread]) -> Draft:
        """How many there were."""
        number = len(threads)
        told = [thread.happenings[thread.first_step].told for thread in threads]
        draft = self._draft("count", asks, told)
        draft.reference = sentence(str(number))
        draft.atoms = [str(number)]
        draft.distractors = [str(number + off) for off in (-2, -1, 1, 2) if number + off > 0]
        return draft

    def total(self, asks: list[str], slot: str, told: _Told) -> Draft:
        """What they came to."""
        value = summed([fact.value for _, fact in told])
        draft = self._draft("total", asks, [fact.told for _, fact in told], slot)
        draft.reference = sentence(value.text)
        draft.atoms = [value.text]
        draft.aliases = self._desk.aliases(value)
        draft.distractors = self._desk.distractors(value)
        return draft

    def extreme(self, op: str, asks: list[str], slot: str, told: _Told) -> Iterator[Draft]:
        """Which stood out; nothing if two did."""
        ranked = sorted(told, key=_amount, reverse=op == "highest")
        if _amount(ranked[0]) == _amount(ranked[1]):
            return
        winner, fact = ranked[0]
        draft = self._draft(op, asks, [fact.told for _, fact in told], slot)
        draft.reference = sentence(f"{winner.name}, at {fact.value.text}")
        draft.atoms = [winner.name, fact.value.text]
        draft.distractors = [thread.name for thread, _ in ranked[1:4]]
        yield draft

    def _draft(
        self, op: str, asks: list[str], evidence: list[Span], slot: str | None = None
    ) -> Draft:
        query: dict[str, object] = {"op": op, "process": self._process.id, "month": self._month}
        if slot is not None:
            query["slot"] = slot
        month, counted = month_name(self._month), self._process.counted
        wordings = [ask.replace("{month}", month).replace("{counted}", counted) for ask in asks]
        return Draft(
            category=CATEGORY,
            kind=f"{CATEGORY}/{op}",
            wordings=wordings,
            reference="",
            evidence=evidence,
            known_from=self._last_day,
            query=query,
            is_synthesis=True,
        )
