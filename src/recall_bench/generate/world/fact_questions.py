"""One value told on one day: factual recall, decisions, who said what, and the long silence."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from recall_bench.generate.world.fact_values import format_date
from recall_bench.generate.world.ledger import LedgerFact, Thread
from recall_bench.generate.world.question_draft import (
    LedgerQuestion,
    QuestionContext,
    format_sentence,
    is_askable,
    is_traceable,
)

SILENCE = 120
"""Days a fact must have gone unmentioned before it tests resistance to the recent."""

_OWN = frozenset({"decision-tracking", "group-session-attribution"})


def ask_values(thread: Thread, desk: QuestionContext) -> Iterator[LedgerQuestion]:
    """A question for each value that was told once and has not changed."""
    for slot, facts in thread.facts.items():
        if len(facts) == 1 and is_askable(thread, slot) and not _is_private(facts[0], desk):
            category = thread.slots[slot].category or "factual-recall"
            yield _draft_value(thread, slot, facts[0], desk, category)


def ask_old_values(thread: Thread, desk: QuestionContext) -> Iterator[LedgerQuestion]:
    """The same for threads nobody has spoken of for a long time; asked only after that."""
    for slot, facts in thread.facts.items():
        spec = thread.slots[slot]
        if len(facts) > 1 or facts[0].restated or spec.category in _OWN:
            continue
        if is_askable(thread, slot) and not _is_private(facts[0], desk):
            draft = _draft_value(thread, slot, facts[0], desk, "recency-bias-resistance")
            draft.known_from = thread.last_named + SILENCE
            yield draft


def _is_private(fact: LedgerFact, desk: QuestionContext) -> bool:
    return desk.is_isolated(fact.told.session)


def _draft_value(
    thread: Thread, slot: str, fact: LedgerFact, desk: QuestionContext, category: str
) -> LedgerQuestion:
    value = fact.value
    return LedgerQuestion(
        category=category,
        kind=f"{category}/{value.kind}",
        wordings=desk.render_wordings(thread, thread.slots[slot].ask),
        reference=desk.render_answer(thread, slot, value),
        evidence=[fact.told],
        known_from=fact.learned,
        query={"op": "value", "thread": thread.key, "slot": slot},
        atoms=[value.text],
        aliases=desk.list_aliases(value, fact.learned),
        distractors=desk.list_distractors(value),
        about=[thread.name],
        is_authored=thread.is_authored,
    )


CONTRADICTION = "contradiction-resolution"


def ask_changed_values(thread: Thread, desk: QuestionContext) -> Iterator[LedgerQuestion]:
    """Both directions for every slot that changed."""
    for slot, facts in thread.facts.items():
        if len(facts) < 2 or not is_askable(thread, slot):
            continue
        if any(desk.is_isolated(fact.told.session) for fact in facts):
            continue
        for earlier, later in pairwise(facts):
            if later.true_until is None or later.true_until >= later.learned:
                yield _draft_current(thread, slot, facts, later, desk)
            if thread.slots[slot].then and later.learned > earlier.learned + 1:
                yield _draft_earlier(thread, slot, earlier, later, desk)


def _draft_current(
    thread: Thread, slot: str, facts: list[LedgerFact], fact: LedgerFact, desk: QuestionContext
) -> LedgerQuestion:
    earlier = [old.value.text for old in facts if old.learned < fact.learned]
    stale = [text for text in earlier if text != fact.value.text]
    return LedgerQuestion(
        category=CONTRADICTION,
        kind=f"{CONTRADICTION}/now",
        wordings=desk.render_wordings(thread, thread.slots[slot].ask),
        reference=desk.render_answer(thread, slot, fact.value),
        evidence=[fact.told],
        known_from=fact.learned,
        known_until=fact.true_until,
        query={"op": "value", "thread": thread.key, "slot": slot},
        atoms=[fact.value.text],
        aliases=desk.list_aliases(fact.value, fact.learned),
        stale=stale,
        distractors=stale,
        about=[thread.name],
        is_authored=thread.is_authored,
    )


def _draft_earlier(
    thread: Thread, slot: str, earlier: LedgerFact, later: LedgerFact, desk: QuestionContext
) -> LedgerQuestion:
    day = desk.chance.draw_between(earlier.learned, later.learned - 1)
    asks = thread.slots[slot].then
    return LedgerQuestion(
        category=CONTRADICTION,
        kind=f"{CONTRADICTION}/then",
        wordings=desk.render_wordings(thread, asks, date=desk.stage.dates.format_day(day)),
        reference=desk.render_answer(thread, slot, earlier.value),
        evidence=[earlier.told],
        known_from=later.learned,
        query={"op": "value", "thread": thread.key, "slot": slot, "as_of": day},
        atoms=[earlier.value.text],
        aliases=desk.list_aliases(earlier.value, earlier.learned),
        distractors=[later.value.text],
        about=[thread.name],
        is_authored=thread.is_authored,
    )


NEGATIVE = "negative-recall"


def ask_optional_steps(thread: Thread, desk: QuestionContext) -> Iterator[LedgerQuestion]:
    """For each optional step of a thread that has ended: whether it came to pass."""
    for step, spec in thread.optional.items():
        happening = thread.happenings.get(step)
        session = happening.told.session if happening else thread.session
        if desk.is_isolated(session) or not is_traceable(thread, step):
            continue
        if happening is None and not thread.is_over:
            continue
        wordings = desk.render_wordings(thread, spec.did)
        query = {"op": "did", "thread": thread.key, "step": step}
        if happening is not None:
            value = format_date(happening.day, desk.stage.dates)
            yield LedgerQuestion(
                category=NEGATIVE,
                kind=f"{NEGATIVE}/yes",
                wordings=wordings,
                reference=format_sentence(f"Yes, on {value.text}"),
                evidence=[happening.told],
                known_from=happening.day,
                query=dict(query),
                atoms=["Yes", value.text],
                aliases=["Yes"],
                distractors=["No"],
                about=[thread.name],
            )
        else:
            told = sorted(thread.happenings.values(), key=lambda happening: happening.day)
            yield LedgerQuestion(
                category=NEGATIVE,
                kind=f"{NEGATIVE}/no",
                wordings=wordings,
                reference=format_sentence(spec.no),
                evidence=list(dict.fromkeys([told[0].told, told[-1].told])),
                known_from=told[-1].day,
                query=dict(query),
                atoms=["No"],
                distractors=["Yes"],
                about=[thread.name],
            )


CROSS_REFERENCE = "cross-reference"


@dataclass(frozen=True, slots=True)
class _SharedSlot:
    """One end of a crossing."""

    thread: Thread
    slot: str
    fact: LedgerFact


class SharedValueQuestions:
    """Finds threads that share a value; remembers the latest ones that have each."""

    def __init__(self, depth: int = 5) -> None:
        self._depth = depth
        self._by_value: dict[tuple[str, str], deque[_SharedSlot]] = {}

    def ask_shared_values(self, thread: Thread, desk: QuestionContext) -> Iterator[LedgerQuestion]:
        """A question for each value this thread shares with an earlier one of another kind."""
        for end in _find_shared_slots(thread, desk):
            link = thread.slots[end.slot].link or ""
            ends = self._by_value.setdefault((link, end.fact.value.text), deque(maxlen=self._depth))
            fit = [
                other
                for other in ends
                if other.thread.source != thread.source
                and other.fact.learned != end.fact.learned
                and not other.fact.restated
            ]
            if fit and desk.links.get(link):
                yield _draft_shared_value(desk.chance.choose(fit), end, desk.links[link], desk)
            ends.append(end)


def _find_shared_slots(thread: Thread, desk: QuestionContext) -> Iterator[_SharedSlot]:
    links = [spec.link for spec in thread.slots.values() if spec.link]
    for slot, facts in thread.facts.items():
        spec = thread.slots[slot]
        is_once = len(facts) == 1 and not facts[0].restated
        is_single = spec.link is not None and links.count(spec.link) == 1 and is_once
        is_open = not spec.secret and not desk.is_isolated(facts[0].told.session)
        if is_single and is_open and spec.cue and slot not in thread.forgotten:
            yield _SharedSlot(thread, slot, facts[0])


def _draft_shared_value(
    one: _SharedSlot, other: _SharedSlot, asks: list[str], desk: QuestionContext
) -> LedgerQuestion:
    value = other.fact.value
    first, second = desk.chance.shuffle([one, other])
    is_named = desk.chance.is_hit(1 - desk.distance)
    a, b = (
        end.thread.name if is_named else desk.chance.choose(end.thread.called)
        for end in (first, second)
    )
    wordings = [ask.replace("{a}", a).replace("{b}", b) for ask in asks]
    return LedgerQuestion(
        category=CROSS_REFERENCE,
        kind=f"{CROSS_REFERENCE}/shared",
        wordings=[way[:1].upper() + way[1:] for way in wordings],
        reference=desk.render_answer(other.thread, other.slot, value),
        evidence=sorted([one.fact.told, other.fact.told], key=lambda span: span.day),
        known_from=max(one.fact.learned, other.fact.learned),
        query={
            "op": "shared",
            "of": [[end.thread.key, end.slot] for end in (first, second)],
        },
        atoms=[value.text],
        aliases=desk.list_aliases(value, other.fact.learned),
        distractors=desk.list_distractors(value),
        is_synthesis=True,
        about=[one.thread.name, other.thread.name],
        is_authored=one.thread.is_authored and other.thread.is_authored,
    )
