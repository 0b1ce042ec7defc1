"""When something happened, how long it took, and which came first."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from recall_bench.generate.world.fact_values import format_date, format_month, sum_values
from recall_bench.generate.world.ledger import LedgerFact, TextSpan, Thread
from recall_bench.generate.world.question_draft import (
    LedgerQuestion,
    QuestionContext,
    format_sentence,
    is_traceable,
)
from recall_bench.generate.world.sources import RoutineProcess

TEMPORAL = "temporal-reasoning"

_PAIR = (
    "Which came first: {a}, or {b}?",
    "Of these two, which happened earlier: {a} or {b}?",
    "What happened sooner, {a} or {b}?",
)
_TRIPLE = (
    "Put these in the order in which they happened: {a}; {b}; {c}.",
    "In what order did these happen: {a}; {b}; {c}?",
)
_NEAREST, _FARTHEST = 4, 220
"""Days between two events worth asking the order of."""


def ask_step_dates(thread: Thread, desk: QuestionContext) -> Iterator[LedgerQuestion]:
    """The date of each step, and the days from the first step to it."""
    for step, when in thread.whens.items():
        happening = thread.happenings.get(step)
        if happening is None or not when.cue or desk.is_isolated(happening.told.session):
            continue
        if when.ask:
            yield _draft_date(thread, step, desk)
        first = thread.happenings[thread.first_step]
        is_spanned = (
            step != thread.first_step
            and is_traceable(thread, thread.first_step)
            and not desk.is_isolated(first.told.session)
        )
        if when.gap and is_spanned:
            yield _draft_gap(thread, step, desk)


def _draft_date(thread: Thread, step: str, desk: QuestionContext) -> LedgerQuestion:
    happening = thread.happenings[step]
    value = format_date(happening.day, desk.stage.dates)
    return LedgerQuestion(
        category=TEMPORAL,
        kind=f"{TEMPORAL}/date",
        wordings=desk.render_wordings(thread, thread.whens[step].ask),
        reference=format_sentence(f"On {value.text}"),
        evidence=[happening.told],
        known_from=happening.day,
        query={"op": "date", "thread": thread.key, "step": step},
        atoms=[value.text],
        aliases=desk.list_aliases(value, happening.day),
        distractors=desk.list_distractors(value),
        about=[thread.name],
        is_authored=thread.is_authored,
    )


def _draft_gap(thread: Thread, step: str, desk: QuestionContext) -> LedgerQuestion:
    first, last = thread.happenings[thread.first_step], thread.happenings[step]
    days = last.day - first.day
    return LedgerQuestion(
        category=TEMPORAL,
        kind=f"{TEMPORAL}/gap",
        wordings=desk.render_wordings(thread, thread.whens[step].gap),
        reference=format_sentence(f"{days} day{'s' if days > 1 else ''}"),
        evidence=[first.told, last.told],
        known_from=last.day,
        query={"op": "gap", "thread": thread.key, "step": step},
        atoms=[str(days)],
        distractors=[str(days + off) for off in (-2, -1, 1, 2) if days + off > 0],
        is_synthesis=True,
        about=[thread.name],
        is_authored=thread.is_authored,
    )


@dataclass(frozen=True, slots=True)
class _TimedEvent:
    thread: str
    source: str
    name: str
    step: str
    phrase: str
    told: TextSpan
    is_authored: bool


class OrderQuestions:
    """Asks which of several events came first; remembers the latest events to pair with.

    Events of one process are never paired: their running numbers would tell the order.
    """

    def __init__(self, size: int = 80) -> None:
        self._events: deque[_TimedEvent] = deque(maxlen=size)

    def ask_orders(self, thread: Thread, desk: QuestionContext) -> Iterator[LedgerQuestion]:
        """A question or two that set an event of this thread among earlier ones."""
        for event in _list_events(thread, desk):
            yield from self._ask_with_earlier(event, desk)
            self._events.append(event)

    def _ask_with_earlier(
        self, event: _TimedEvent, desk: QuestionContext
    ) -> Iterator[LedgerQuestion]:
        fit = [
            other
            for other in self._events
            if other.source != event.source
            and _NEAREST <= abs(other.told.day - event.told.day) <= _FARTHEST
        ]
        if not fit:
            return
        other = desk.chance.choose(fit)
        yield _draft_order([event, other], desk)
        apart = [
            third
            for third in fit
            if third.source != other.source and abs(third.told.day - other.told.day) >= _NEAREST
        ]
        if apart:
            yield _draft_order([event, other, desk.chance.choose(apart)], desk)


def _list_events(thread: Thread, desk: QuestionContext) -> Iterator[_TimedEvent]:
    for step, when in thread.whens.items():
        happening = thread.happenings.get(step)
        if happening and when.cue and when.phrase and not desk.is_isolated(happening.told.session):
            phrase = desk.render_phrase(thread, when.phrase)
            yield _TimedEvent(
                thread=thread.key,
                source=thread.source,
                name=thread.name,
                step=step,
                phrase=phrase,
                told=happening.told,
                is_authored=thread.is_authored,
            )


def _draft_order(events: list[_TimedEvent], desk: QuestionContext) -> LedgerQuestion:
    listed = desk.chance.shuffle(events)
    names = dict(zip("abc", (event.phrase for event in listed), strict=False))
    by_date = sorted(events, key=lambda event: event.told.day)
    phrases = [event.phrase for event in by_date]
    is_pair = len(events) == 2
    reference = phrases[0] if is_pair else "First " + ", then ".join(phrases)
    asked = [way.format(**names) for way in (_PAIR if is_pair else _TRIPLE)]
    return LedgerQuestion(
        category=TEMPORAL,
        kind=f"{TEMPORAL}/order{len(events)}",
        wordings=asked,
        reference=format_sentence(reference),
        evidence=[event.told for event in by_date],
        known_from=by_date[-1].told.day,
        query={
            "op": "order",
            "events": [[event.thread, event.step, event.phrase] for event in listed],
        },
        atoms=phrases[:1] if is_pair else phrases,
        distractors=phrases[1:2] if is_pair else [],
        is_synthesis=True,
        about=[event.name for event in events],
        is_authored=all(event.is_authored for event in events),
    )


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
