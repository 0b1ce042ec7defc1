"""Questions about events: dates, durations, order, and monthly tallies."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from recall_bench.core.scenario import SYNTHESIS, TEMPORAL
from recall_bench.features.personas.world.fact_values import format_date, format_month, sum_values
from recall_bench.features.personas.world.ledger import LedgerFact, TextSpan, Thread
from recall_bench.features.personas.world.question_draft import (
    LedgerQuestion,
    QuestionContext,
    format_sentence,
    is_traceable,
)
from recall_bench.features.personas.world.sources import RoutineProcess

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
"""Fewest and most days between two events whose order is asked."""
_LATEST_EVENTS = 80
"""How many events a later one may be paired with."""


def ask_step_dates(thread: Thread, context: QuestionContext) -> Iterator[LedgerQuestion]:
    """The date of each step, and the days from the first step to it."""
    for step, when in thread.timings.items():
        event = thread.events.get(step)
        if event is None or not when.cue or context.is_isolated(event.span.session):
            continue
        if when.ask:
            yield _draft_date(thread, step, context)
        first = thread.events[thread.first_step]
        is_spanned = (
            step != thread.first_step
            and is_traceable(thread, thread.first_step)
            and not context.is_isolated(first.span.session)
        )
        if when.gap and is_spanned:
            yield _draft_gap(thread, step, context)


def _draft_date(thread: Thread, step: str, context: QuestionContext) -> LedgerQuestion:
    event = thread.events[step]
    value = format_date(event.day, context.world.dates)
    return LedgerQuestion(
        category=TEMPORAL,
        kind=f"{TEMPORAL}/date",
        wordings=context.render_wordings(thread, thread.timings[step].ask),
        reference=format_sentence(f"On {value.text}"),
        evidence=[event.span],
        known_from=event.day,
        query={"op": "date", "thread": thread.key, "step": step},
        atoms=[value.text],
        aliases=context.list_aliases(value, event.day),
        distractors=context.list_distractors(value),
        about=[thread.name],
        is_authored=thread.is_authored,
    )


def _draft_gap(thread: Thread, step: str, context: QuestionContext) -> LedgerQuestion:
    first, last = thread.events[thread.first_step], thread.events[step]
    days = last.day - first.day
    return LedgerQuestion(
        category=TEMPORAL,
        kind=f"{TEMPORAL}/gap",
        wordings=context.render_wordings(thread, thread.timings[step].gap),
        reference=format_sentence(f"{days} day{'s' if days > 1 else ''}"),
        evidence=[first.span, last.span],
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
    span: TextSpan
    is_authored: bool


class OrderQuestions:
    """Asks for the order of events; remembers the latest events to pair with.

    Events of one process are never paired: their running numbers would give away the order.
    """

    def __init__(self) -> None:
        self._events: deque[_TimedEvent] = deque(maxlen=_LATEST_EVENTS)

    def ask_orders(self, thread: Thread, context: QuestionContext) -> Iterator[LedgerQuestion]:
        """Questions that compare an event of this thread with earlier ones."""
        for event in _list_events(thread, context):
            yield from self._ask_with_earlier(event, context)
            self._events.append(event)

    def _ask_with_earlier(
        self, event: _TimedEvent, context: QuestionContext
    ) -> Iterator[LedgerQuestion]:
        fit = [
            other
            for other in self._events
            if other.source != event.source
            and _NEAREST <= abs(other.span.day - event.span.day) <= _FARTHEST
        ]
        if not fit:
            return
        other = context.chance.choose(fit)
        yield _draft_order([event, other], context)
        apart = [
            third
            for third in fit
            if third.source != other.source and abs(third.span.day - other.span.day) >= _NEAREST
        ]
        if apart:
            yield _draft_order([event, other, context.chance.choose(apart)], context)


def _list_events(thread: Thread, context: QuestionContext) -> Iterator[_TimedEvent]:
    for step, when in thread.timings.items():
        event = thread.events.get(step)
        if event and when.cue and when.phrase and not context.is_isolated(event.span.session):
            phrase = context.render_phrase(thread, when.phrase)
            yield _TimedEvent(
                thread=thread.key,
                source=thread.source,
                name=thread.name,
                step=step,
                phrase=phrase,
                span=event.span,
                is_authored=thread.is_authored,
            )


def _draft_order(events: list[_TimedEvent], context: QuestionContext) -> LedgerQuestion:
    listed = context.chance.shuffle(events)
    names = dict(zip("abc", (event.phrase for event in listed), strict=False))
    by_date = sorted(events, key=lambda event: event.span.day)
    phrases = [event.phrase for event in by_date]
    is_pair = len(events) == 2
    reference = phrases[0] if is_pair else "First " + ", then ".join(phrases)
    wordings = [way.format(**names) for way in (_PAIR if is_pair else _TRIPLE)]
    return LedgerQuestion(
        category=TEMPORAL,
        kind=f"{TEMPORAL}/order{len(events)}",
        wordings=wordings,
        reference=format_sentence(reference),
        evidence=[event.span for event in by_date],
        known_from=by_date[-1].span.day,
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


_COUNTED = range(2, 13)
_SUMMED = range(2, 9)
_COMPARED = range(3, 10)

_SlotFacts = list[tuple[Thread, LedgerFact]]
"""Each thread with the fact it contributes."""


def ask_tallies(
    process: RoutineProcess,
    month: str,
    threads: list[Thread],
    last_day: int,
    context: QuestionContext,
) -> Iterator[LedgerQuestion]:
    """The tallies of one process for a month that ends on `last_day`."""
    first = process.steps[0]
    if not (first.when and first.when.cue) or context.is_isolated(first.session or process.session):
        return
    tally = _MonthTally(process, month, last_day, context)
    tallies = process.tallies
    if tallies.count and len(threads) in _COUNTED:
        yield tally.draft_count(tallies.count, threads)
    for slot, asks in tallies.total.items():
        if len(threads) in _SUMMED and (facts := _collect_first_values(threads, slot)):
            yield tally.draft_total(asks, slot, facts)
    for op, extremes in (("highest", tallies.highest), ("lowest", tallies.lowest)):
        for slot, asks in extremes.items():
            if len(threads) in _COMPARED and (facts := _collect_first_values(threads, slot)):
                yield from tally.draft_extreme(op, asks, slot, facts)


def _collect_first_values(threads: list[Thread], slot: str) -> _SlotFacts:
    """The slot's number in each thread; empty if one thread stated it late or twice."""
    first_values: _SlotFacts = []
    for thread in threads:
        facts = thread.list_facts(slot)
        if len(facts) != 1 or facts[0].learned != thread.began or facts[0].value.amount is None:
            return []
        first_values.append((thread, facts[0]))
    return first_values


def _get_amount(pair: tuple[Thread, LedgerFact]) -> Decimal:
    return pair[1].value.amount or Decimal(0)


class _MonthTally:
    """Drafts the tallies of one process for one month."""

    def __init__(
        self, process: RoutineProcess, month: str, last_day: int, context: QuestionContext
    ) -> None:
        self._process = process
        self._month = month
        self._last_day = last_day
        self._context = context

    def draft_count(self, asks: list[str], threads: list[Thread]) -> LedgerQuestion:
        """The number of threads."""
        number = len(threads)
        spans = [thread.events[thread.first_step].span for thread in threads]
        draft = self._draft_tally("count", asks, spans)
        draft.reference = format_sentence(str(number))
        draft.atoms = [str(number)]
        draft.distractors = [str(number + off) for off in (-2, -1, 1, 2) if number + off > 0]
        return draft

    def draft_total(self, asks: list[str], slot: str, facts: _SlotFacts) -> LedgerQuestion:
        """The sum of the slot."""
        value = sum_values([fact.value for _, fact in facts])
        draft = self._draft_tally("total", asks, [fact.span for _, fact in facts], slot)
        draft.reference = format_sentence(value.text)
        draft.atoms = [value.text]
        draft.aliases = self._context.list_aliases(value)
        draft.distractors = self._context.list_distractors(value)
        return draft

    def draft_extreme(
        self, op: str, asks: list[str], slot: str, facts: _SlotFacts
    ) -> Iterator[LedgerQuestion]:
        """The thread with the extreme value; nothing if two share it."""
        ranked = sorted(facts, key=_get_amount, reverse=op == "highest")
        if _get_amount(ranked[0]) == _get_amount(ranked[1]):
            return
        winner, fact = ranked[0]
        draft = self._draft_tally(op, asks, [fact.span for _, fact in facts], slot)
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
