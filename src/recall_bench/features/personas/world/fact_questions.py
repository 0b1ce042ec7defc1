"""Questions about values: recall, changes, steps that did or did not happen, shared values."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from recall_bench.core.scenario import (
    ATTRIBUTION,
    CONTRADICTION,
    CROSS_REFERENCE,
    DECISION,
    FACTUAL,
    NEGATIVE,
    RECENCY,
)
from recall_bench.features.personas.world.fact_values import format_date
from recall_bench.features.personas.world.ledger import LedgerFact, Thread
from recall_bench.features.personas.world.question_draft import (
    LedgerQuestion,
    QuestionContext,
    format_sentence,
    is_askable,
    is_traceable,
)

SILENCE = 120
"""Days a thread must be unmentioned before it tests resistance to recency bias."""
_LATEST_THREADS = 5
"""How many threads of one value are remembered."""

_OWN = frozenset({DECISION, ATTRIBUTION})


def ask_values(thread: Thread, context: QuestionContext) -> Iterator[LedgerQuestion]:
    """A question for each value that never changed."""
    for slot, facts in thread.facts.items():
        if len(facts) == 1 and is_askable(thread, slot) and not _is_private(facts[0], context):
            category = thread.slots[slot].category or FACTUAL
            yield _draft_value(thread, slot, facts[0], context, category)


def ask_old_values(thread: Thread, context: QuestionContext) -> Iterator[LedgerQuestion]:
    """The same for threads unmentioned for a long time; answerable only after that."""
    for slot, facts in thread.facts.items():
        spec = thread.slots[slot]
        if len(facts) > 1 or facts[0].restated or spec.category in _OWN:
            continue
        if is_askable(thread, slot) and not _is_private(facts[0], context):
            draft = _draft_value(thread, slot, facts[0], context, RECENCY)
            draft.known_from = thread.last_named + SILENCE
            yield draft


def _is_private(fact: LedgerFact, context: QuestionContext) -> bool:
    return context.is_isolated(fact.span.session)


def _draft_value(
    thread: Thread, slot: str, fact: LedgerFact, context: QuestionContext, category: str
) -> LedgerQuestion:
    value = fact.value
    return LedgerQuestion(
        category=category,
        kind=f"{category}/{value.kind}",
        wordings=context.render_wordings(thread, thread.slots[slot].ask),
        reference=context.render_answer(thread, slot, value),
        evidence=[fact.span],
        known_from=fact.learned,
        query={"op": "value", "thread": thread.key, "slot": slot},
        atoms=[value.text],
        aliases=context.list_aliases(value, fact.learned),
        distractors=context.list_distractors(value),
        about=[thread.name],
        is_authored=thread.is_authored,
    )


def ask_changed_values(thread: Thread, context: QuestionContext) -> Iterator[LedgerQuestion]:
    """Questions for the current and the earlier value of every slot that changed."""
    for slot, facts in thread.facts.items():
        if len(facts) < 2 or not is_askable(thread, slot):
            continue
        if any(context.is_isolated(fact.span.session) for fact in facts):
            continue
        for earlier, later in pairwise(facts):
            if later.true_until is None or later.true_until >= later.learned:
                yield _draft_current(thread, slot, facts, later, context)
            if thread.slots[slot].then and later.learned > earlier.learned + 1:
                yield _draft_earlier(thread, slot, earlier, later, context)


def _draft_current(
    thread: Thread, slot: str, facts: list[LedgerFact], fact: LedgerFact, context: QuestionContext
) -> LedgerQuestion:
    earlier = [old.value.text for old in facts if old.learned < fact.learned]
    stale = [text for text in earlier if text != fact.value.text]
    return LedgerQuestion(
        category=CONTRADICTION,
        kind=f"{CONTRADICTION}/now",
        wordings=context.render_wordings(thread, thread.slots[slot].ask),
        reference=context.render_answer(thread, slot, fact.value),
        evidence=[fact.span],
        known_from=fact.learned,
        known_until=fact.true_until,
        query={"op": "value", "thread": thread.key, "slot": slot},
        atoms=[fact.value.text],
        aliases=context.list_aliases(fact.value, fact.learned),
        stale=stale,
        distractors=stale,
        about=[thread.name],
        is_authored=thread.is_authored,
    )


def _draft_earlier(
    thread: Thread, slot: str, earlier: LedgerFact, later: LedgerFact, context: QuestionContext
) -> LedgerQuestion:
    day = context.chance.draw_between(earlier.learned, later.learned - 1)
    asks = thread.slots[slot].then
    return LedgerQuestion(
        category=CONTRADICTION,
        kind=f"{CONTRADICTION}/then",
        wordings=context.render_wordings(thread, asks, date=context.world.dates.format_day(day)),
        reference=context.render_answer(thread, slot, earlier.value),
        evidence=[earlier.span],
        known_from=later.learned,
        query={"op": "value", "thread": thread.key, "slot": slot, "as_of": day},
        atoms=[earlier.value.text],
        aliases=context.list_aliases(earlier.value, earlier.learned),
        distractors=[later.value.text],
        about=[thread.name],
        is_authored=thread.is_authored,
    )


def ask_optional_steps(thread: Thread, context: QuestionContext) -> Iterator[LedgerQuestion]:
    """Whether an optional step happened, for each one of an ended thread.

    Steps that happened and steps that did not are balanced, so a constant "No" scores about half.
    """
    for step, spec in thread.optional.items():
        event = thread.events.get(step)
        session = event.span.session if event else thread.session
        if context.is_isolated(session) or not is_traceable(thread, step):
            continue
        if event is None and not thread.is_over:
            continue
        wordings = context.render_wordings(thread, spec.did)
        query = {"op": "did", "thread": thread.key, "step": step}
        if event is not None:
            value = format_date(event.day, context.world.dates)
            yield LedgerQuestion(
                category=NEGATIVE,
                kind=f"{NEGATIVE}/yes",
                wordings=wordings,
                reference=format_sentence(f"Yes, on {value.text}"),
                evidence=[event.span],
                known_from=event.day,
                query=dict(query),
                atoms=["Yes", value.text],
                aliases=["Yes"],
                distractors=["No"],
                about=[thread.name],
            )
        else:
            events = sorted(thread.events.values(), key=lambda event: event.day)
            yield LedgerQuestion(
                category=NEGATIVE,
                kind=f"{NEGATIVE}/no",
                wordings=wordings,
                reference=format_sentence(spec.no),
                evidence=list(dict.fromkeys([events[0].span, events[-1].span])),
                known_from=events[-1].day,
                query=dict(query),
                atoms=["No"],
                distractors=["Yes"],
                about=[thread.name],
            )


@dataclass(frozen=True, slots=True)
class _SharedSlot:
    """A slot that may share its value with another thread."""

    thread: Thread
    slot: str
    fact: LedgerFact


class SharedValueQuestions:
    """Finds threads that share a value; remembers the latest threads of each value."""

    def __init__(self) -> None:
        self._by_value: dict[tuple[str, str], deque[_SharedSlot]] = {}

    def ask_shared_values(
        self, thread: Thread, context: QuestionContext
    ) -> Iterator[LedgerQuestion]:
        """A question for each value this thread shares with an earlier thread of another source."""
        for end in _find_shared_slots(thread, context):
            link = thread.slots[end.slot].link or ""
            ends = self._by_value.setdefault(
                (link, end.fact.value.text), deque(maxlen=_LATEST_THREADS)
            )
            fit = [
                other
                for other in ends
                if other.thread.source != thread.source
                and other.fact.learned != end.fact.learned
                and not other.fact.restated
            ]
            if fit and context.links.get(link):
                yield _draft_shared_value(
                    context.chance.choose(fit), end, context.links[link], context
                )
            ends.append(end)


def _find_shared_slots(thread: Thread, context: QuestionContext) -> Iterator[_SharedSlot]:
    links = [spec.link for spec in thread.slots.values() if spec.link]
    for slot, facts in thread.facts.items():
        spec = thread.slots[slot]
        is_once = len(facts) == 1 and not facts[0].restated
        is_single = spec.link is not None and links.count(spec.link) == 1 and is_once
        is_open = not spec.secret and not context.is_isolated(facts[0].span.session)
        if is_single and is_open and spec.cue and slot not in thread.forgotten:
            yield _SharedSlot(thread, slot, facts[0])


def _draft_shared_value(
    one: _SharedSlot, other: _SharedSlot, asks: list[str], context: QuestionContext
) -> LedgerQuestion:
    value = other.fact.value
    first, second = context.chance.shuffle([one, other])
    is_named = context.chance.is_hit(1 - context.distance)
    a, b = (
        end.thread.name if is_named else context.chance.choose(end.thread.called)
        for end in (first, second)
    )
    wordings = [ask.replace("{a}", a).replace("{b}", b) for ask in asks]
    return LedgerQuestion(
        category=CROSS_REFERENCE,
        kind=f"{CROSS_REFERENCE}/shared",
        wordings=[way[:1].upper() + way[1:] for way in wordings],
        reference=context.render_answer(other.thread, other.slot, value),
        evidence=sorted([one.fact.span, other.fact.span], key=lambda span: span.day),
        known_from=max(one.fact.learned, other.fact.learned),
        query={
            "op": "shared",
            "of": [[end.thread.key, end.slot] for end in (first, second)],
        },
        atoms=[value.text],
        aliases=context.list_aliases(value, other.fact.learned),
        distractors=context.list_distractors(value),
        is_synthesis=True,
        about=[one.thread.name, other.thread.name],
        is_authored=one.thread.is_authored and other.thread.is_authored,
    )
