"""Two threads that share a person, a part, a cause. No block of a log names two threads."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from recall_bench.world.ledger import LedgerFact, Thread
from recall_bench.world.questions.draft import LedgerQuestion, QuestionContext

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
