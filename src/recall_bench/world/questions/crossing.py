"""Two threads that share a person, a part, a cause. No block of a log names two threads."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from recall_bench.world.ledger import Fact, Thread
from recall_bench.world.questions.draft import Desk, Draft

CATEGORY = "cross-reference"


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a crossing."""

    thread: Thread
    slot: str
    fact: Fact


class Crossings:
    """Finds threads that share a value; remembers the latest ones that have each."""

    def __init__(self, depth: int = 5) -> None:
        self._depth = depth
        self._by_value: dict[tuple[str, str], deque[_End]] = {}

    def drafts(self, thread: Thread, desk: Desk) -> Iterator[Draft]:
        """A question for each value this thread shares with an earlier one of another kind."""
        for end in _ends(thread, desk):
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
                yield _crossing(desk.chance.one(fit), end, desk.links[link], desk)
            ends.append(end)


def _ends(thread: Thread, desk: Desk) -> Iterator[_End]:
    links = [spec.link for spec in thread.slots.values() if spec.link]
    for slot, facts in thread.facts.items():
        spec = thread.slots[slot]
        is_once = len(facts) == 1 and not facts[0].restated
        is_single = spec.link is not None and links.count(spec.link) == 1 and is_once
        is_open = not spec.secret and not desk.is_isolated(facts[0].told.session)
        if is_single and is_open and spec.cue and slot not in thread.forgotten:
            yield _End(thread, slot, facts[0])


def _crossing(one: _End, other: _End, asks: list[str], desk: Desk) -> Draft:
    value = other.fact.value
    first, second = desk.chance.shuffled([one, other])
    is_named = desk.chance.happens(1 - desk.distance)
    a, b = (
        end.thread.name if is_named else desk.chance.one(end.thread.called)
        for end in (first, second)
    )
    wordings = [ask.replace("{a}", a).replace("{b}", b) for ask in asks]
    return Draft(
        category=CATEGORY,
        kind=f"{CATEGORY}/shared",
        wordings=[way[:1].upper() + way[1:] for way in wordings],
        reference=desk.answer(other.thread, other.slot, value),
        evidence=sorted([one.fact.told, other.fact.told], key=lambda span: span.day),
        known_from=max(one.fact.learned, other.fact.learned),
        query={
            "op": "shared",
            "of": [[end.thread.key, end.slot] for end in (first, second)],
        },
        atoms=[value.text],
        aliases=desk.aliases(value, other.fact.learned),
        distractors=desk.distractors(value),
        is_synthesis=True,
        about=[one.thread.name, other.thread.name],
        is_authored=one.thread.is_authored and other.thread.is_authored,
    )
