"""One value told on one day: factual recall, decisions, who said what, and the long silence."""

from collections.abc import Iterator

from recall_bench.world.ledger import Fact, Thread
from recall_bench.world.questions.draft import Desk, Draft, is_asked

SILENCE = 120
"""Days a fact must have gone unmentioned before it tests resistance to the recent."""

_OWN = frozenset({"decision-tracking", "group-session-attribution"})


def recalled(thread: Thread, desk: Desk) -> Iterator[Draft]:
    """A question for each value that was told once and has not changed."""
    for slot, facts in thread.facts.items():
        if len(facts) == 1 and is_asked(thread, slot) and not _is_closed(facts[0], desk):
            category = thread.slots[slot].category or "factual-recall"
            yield _draft(thread, slot, facts[0], desk, category)


def long_ago(thread: Thread, desk: Desk) -> Iterator[Draft]:
    """The same for threads nobody has spoken of for a long time; asked only after that."""
    for slot, facts in thread.facts.items():
        spec = thread.slots[slot]
        if len(facts) > 1 or facts[0].restated or spec.category in _OWN:
            continue
        if is_asked(thread, slot) and not _is_closed(facts[0], desk):
            draft = _draft(thread, slot, facts[0], desk, "recency-bias-resistance")
            draft.known_from = thread.last_named + SILENCE
            yield draft


def _is_closed(fact: Fact, desk: Desk) -> bool:
    return desk.is_isolated(fact.told.session)


def _draft(thread: Thread, slot: str, fact: Fact, desk: Desk, category: str) -> Draft:
    value = fact.value
    return Draft(
        category=category,
        kind=f"{category}/{value.kind}",
        wordings=desk.wordings(thread, thread.slots[slot].ask),
        reference=desk.answer(thread, slot, value),
        evidence=[fact.told],
        known_from=fact.learned,
        query={"op": "value", "thread": thread.key, "slot": slot},
        atoms=[value.text],
        aliases=desk.aliases(value, fact.learned),
        distractors=desk.distractors(value),
        about=[thread.name],
        is_authored=thread.is_authored,
    )
