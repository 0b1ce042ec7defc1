"""Values that changed: the one that holds now, and the one that held on an earlier date."""

from collections.abc import Iterator
from itertools import pairwise

from recall_bench.world.ledger import LedgerFact, Thread
from recall_bench.world.questions.draft import LedgerQuestion, QuestionContext, is_askable

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
