"""One value told on one day: factual recall, decisions, who said what, and the long silence."""

from collections.abc import Iterator

from recall_bench.world.ledger import LedgerFact, Thread
from recall_bench.world.questions.draft import LedgerQuestion, QuestionContext, is_askable

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
