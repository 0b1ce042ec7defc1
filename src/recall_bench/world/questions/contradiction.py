"""Values that changed: the one that holds now, and the one that held on an earlier date."""

from collections.abc import Iterator
from itertools import pairwise

from recall_bench.world.ledger import Fact, Thread
from recall_bench.world.questions.draft import Desk, Draft, is_asked

CATEGORY = "contradiction-resolution"


def contradicted(thread: Thread, desk: Desk) -> Iterator[Draft]:
    """Both directions for every slot that changed."""
    for slot, facts in thread.facts.items():
        if len(facts) < 2 or not is_asked(thread, slot):
            continue
        if any(desk.is_isolated(fact.told.session) for fact in facts):
            continue
        for earlier, later in pairwise(facts):
            if later.true_until is None or later.true_until >= later.learned:
                yield _current(thread, slot, facts, later, desk)
            if thread.slots[slot].then and later.learned > earlier.learned + 1:
                yield _earlier(thread, slot, earlier, later, desk)


def _current(thread: Thread, slot: str, facts: list[Fact], fact: Fact, desk: Desk) -> Draft:
    earlier = [old.value.text for old in facts if old.learned < fact.learned]
    stale = [text for text in earlier if text != fact.value.text]
    return Draft(
        category=CATEGORY,
        kind=f"{CATEGORY}/now",
        wordings=desk.wordings(thread, thread.slots[slot].ask),
        reference=desk.answer(thread, slot, fact.value),
        evidence=[fact.told],
        known_from=fact.learned,
        known_until=fact.true_until,
        query={"op": "value", "thread": thread.key, "slot": slot},
        atoms=[fact.value.text],
        aliases=desk.aliases(fact.value, fact.learned),
        stale=stale,
        distractors=stale,
        about=[thread.name],
        is_authored=thread.is_authored,
    )


def _earlier(thread: Thread, slot: str, earlier: Fact, later: Fact, desk: Desk) -> Draft:
    day = desk.chance.between(earlier.learned, later.learned - 1)
    asks = thread.slots[slot].then
    return Draft(
        category=CATEGORY,
        kind=f"{CATEGORY}/then",
        wordings=desk.wordings(thread, asks, date=desk.stage.dates.shown(day)),
        reference=desk.answer(thread, slot, earlier.value),
        evidence=[earlier.told],
        known_from=later.learned,
        query={"op": "value", "thread": thread.key, "slot": slot, "as_of": day},
        atoms=[earlier.value.text],
        aliases=desk.aliases(earlier.value, earlier.learned),
        distractors=[later.value.text],
        about=[thread.name],
        is_authored=thread.is_authored,
    )
