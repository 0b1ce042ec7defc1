"""Counts, sums and extremes over all threads of a process that began in one month."""

from collections.abc import Iterator
from decimal import Decimal

from recall_bench.world.dates import format_month
from recall_bench.world.ledger import LedgerFact, TextSpan, Thread
from recall_bench.world.questions.draft import LedgerQuestion, QuestionContext, format_sentence
from recall_bench.world.sources import RoutineProcess
from recall_bench.world.values import sum_values

SYNTHESIS = "synthesis"

_COUNTED = range(2, 13)
_SUMMED = range(2, 9)
_COMPARED = range(3, 10)

_SlotFacts = list[tuple[Thread, LedgerFact]]
"""Each thread with the fact it contributes."""


def ask_tallies(
    process: RoutineProcess, month: str, threads: list[Thread], last_day: int, desk: QuestionContext
) -> Iterator[LedgerQuestion]:
    """The tallies of one process for one month that is over on `last_day`."""
    first = process.steps[0]
    if not (first.when and first.when.cue) or desk.is_isolated(first.session or process.session):
        return
    tally = _MonthTally(process, month, last_day, desk)
    tallies = process.tallies
    if tallies.count and len(threads) in _COUNTED:
        yield tally.draft_count(tallies.count, threads)
    for slot, asks in tallies.total.items():
        if len(threads) in _SUMMED and (told := _collect_first_values(threads, slot)):
            yield tally.draft_total(asks, slot, told)
    for op, extremes in (("highest", tallies.highest), ("lowest", tallies.lowest)):
        for slot, asks in extremes.items():
            if len(threads) in _COMPARED and (told := _collect_first_values(threads, slot)):
                yield from tally.draft_extreme(op, asks, slot, told)


def _collect_first_values(threads: list[Thread], slot: str) -> _SlotFacts:
    """The slot's number in each thread; nothing if one of them told it late, or twice."""
    found: _SlotFacts = []
    for thread in threads:
        facts = thread.list_facts(slot)
        if len(facts) != 1 or facts[0].learned != thread.began or facts[0].value.amount is None:
            return []
        found.append((thread, facts[0]))
    return found


def _get_amount(told: tuple[Thread, LedgerFact]) -> Decimal:
    return told[1].value.amount or Decimal(0)


class _MonthTally:
    """Words the tallies of one process for one month."""

    def __init__(
        self, process: RoutineProcess, month: str, last_day: int, desk: QuestionContext
    ) -> None:
        self._process = process
        self._month = month
        self._last_day = last_day
        self._desk = desk

    def draft_count(self, asks: list[str], threads: list[Thread]) -> LedgerQuestion:
        """How many there were."""
        number = len(threads)
        told = [thread.happenings[thread.first_step].told for thread in threads]
        draft = self._draft_tally("count", asks, told)
        draft.reference = format_sentence(str(number))
        draft.atoms = [str(number)]
        draft.distractors = [str(number + off) for off in (-2, -1, 1, 2) if number + off > 0]
        return draft

    def draft_total(self, asks: list[str], slot: str, told: _SlotFacts) -> LedgerQuestion:
        """What they came to."""
        value = sum_values([fact.value for _, fact in told])
        draft = self._draft_tally("total", asks, [fact.told for _, fact in told], slot)
        draft.reference = format_sentence(value.text)
        draft.atoms = [value.text]
        draft.aliases = self._desk.list_aliases(value)
        draft.distractors = self._desk.list_distractors(value)
        return draft

    def draft_extreme(
        self, op: str, asks: list[str], slot: str, told: _SlotFacts
    ) -> Iterator[LedgerQuestion]:
        """Which stood out; nothing if two did."""
        ranked = sorted(told, key=_get_amount, reverse=op == "highest")
        if _get_amount(ranked[0]) == _get_amount(ranked[1]):
            return
        winner, fact = ranked[0]
        draft = self._draft_tally(op, asks, [fact.told for _, fact in told], slot)
        draft.reference = format_sentence(f"{winner.name}, at {fact.value.text}")
        draft.atoms = [winner.name, fact.value.text]
        draft.distractors = [thread.name for thread, _ in ranked[1:4]]
        yield draft

    def _draft_tally(
        self, op: str, asks: list[str], evidence: list[TextSpan], slot: str | None = None
    ) -> LedgerQuestion:
        query: dict[str, object] = {"op": op, "process": self._process.id, "month": self._month}
        if slot is not None:
            query["slot"] = slot
        month, counted = format_month(self._month), self._process.counted
        wordings = [ask.replace("{month}", month).replace("{counted}", counted) for ask in asks]
        return LedgerQuestion(
            category=SYNTHESIS,
            kind=f"{SYNTHESIS}/{op}",
            wordings=wordings,
            reference="",
            evidence=evidence,
            known_from=self._last_day,
            query=query,
            is_synthesis=True,
        )
