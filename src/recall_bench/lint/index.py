"""Where the days say what the questions are about.

Everything any question or correction needs is collected first; then each day is read once, and
only that is remembered. Where the questions are not known yet, everything is.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from recall_bench.lint.atoms import (
    DATE,
    MONEY,
    NAME,
    NUMBER,
    PERCENT,
    QUOTE,
    TIME,
    TextValue,
    find_values,
)
from recall_bench.lint.day import NO_SESSION, DayLog
from recall_bench.lint.words import collect_topics, normalise_text, split_words

Spot = tuple[int, str]
"""A day and one of its sessions."""

NUMBER_WORDS = dict(
    zip(
        map(str, (*range(1, 21), *range(30, 100, 10))),
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
        " sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty"
        " ninety".split(),
        strict=True,
    )
)
"""Numbers as figures and as words."""


@dataclass(frozen=True, eq=False)
class SentenceMention:
    """A sentence or a heading that holds a value, and where it stands."""

    day: int
    session: str
    text: str
    under: str
    """The headings it stands under and the line a list hangs from."""

    @cached_property
    def topics(self) -> frozenset[str]:
        """What it is about, by its words and those it stands under."""
        return collect_topics(f"{self.under} {self.text}")


class ValueIndex:
    """Knows where the wanted atoms are said, or every atom if none are named."""

    def __init__(self, days: Iterable[DayLog], wanted: Iterable[TextValue] | None) -> None:
        self._keys: set[tuple[str, str]] | None = None
        self._needed: set[str] | None = None
        if wanted is not None:
            sought = tuple(wanted)
            self._keys = {key for atom in sought for key in _list_keys(atom)}
            self._needed = {word for atom in sought for word in _list_words(atom)}
        self._said: dict[tuple[str, str], list[tuple[str, SentenceMention]]] = defaultdict(list)
        self._words: dict[str, set[Spot]] = defaultdict(set)
        self._parts: dict[Spot, str] = {}
        self._flat: dict[Spot, str] = {}
        known: dict[str, tuple[TextValue, ...]] = {}
        for day in days:
            self._read_words(day)
            for session, text, under in _list_lines(day):
                found = known.get(text)
                if found is None:
                    found = known[text] = self._select_values(text)
                if found:
                    said = SentenceMention(day.number, session, text, under)
                    for atom in found:
                        self._said[atom.kind, atom.core].append((atom.value, said))

    def find_mentions(self, atom: TextValue) -> list[SentenceMention]:
        """The sentences that hold this very value; none for names and quotations."""
        pairs = self._said.get((atom.kind, atom.core), [])
        return [said for value, said in pairs if _is_same(atom, value)]

    def find_kind(self, kind: str) -> Iterator[tuple[str, SentenceMention]]:
        """Every amount, date, time or code of this kind, and the sentence that holds it."""
        for (found, _), pairs in self._said.items():
            if found == kind:
                yield from pairs

    def find_spots(self, atom: TextValue) -> set[Spot]:
        """Where this very value, the whole name or the quotation is said."""
        if atom.kind == NAME:
            return self._intersect_words(atom.words)
        if atom.kind == QUOTE:
            return {
                spot
                for spot in self._intersect_words(atom.words)
                if atom.value in self._flatten_text(spot)
            }
        return {(said.day, said.session) for said in self.find_mentions(atom)}

    def find_days(self, atom: TextValue) -> set[int]:
        """The days on which it is said."""
        return {day for day, _ in self.find_spots(atom)}

    def find_loose_days(self, atom: TextValue) -> set[int]:
        """The days on which it is said, or what may be another spelling of it."""
        found = self.find_days(atom)
        if atom.kind == NAME:
            found |= {day for word in atom.words for day, _ in self._words.get(word, ())}
        elif atom.kind == QUOTE:
            found |= {day for day, _ in self._intersect_words(atom.words)}
        else:
            found |= {said.day for key in _list_keys(atom) for _, said in self._said.get(key, ())}
            found |= {day for day, _ in self._words.get(NUMBER_WORDS.get(atom.core, ""), ())}
        return found

    def _select_values(self, text: str) -> tuple[TextValue, ...]:
        found = find_values(normalise_text(text))
        if self._keys is None:
            return tuple(found)
        return tuple(atom for atom in found if (atom.kind, atom.core) in self._keys)

    def _read_words(self, day: DayLog) -> None:
        for session, text in day.split_sessions():
            spot = (day.number, session)
            self._parts[spot] = text
            held = set(split_words(text))
            for word in held if self._needed is None else self._needed & held:
                self._words[word].add(spot)

    def _intersect_words(self, several: tuple[str, ...]) -> set[Spot]:
        if not several:
            return set()
        first, *rest = sorted((self._words.get(word, set()) for word in several), key=len)
        return first.intersection(*rest)

    def _flatten_text(self, spot: Spot) -> str:
        flat = self._flat.get(spot)
        if flat is None:
            flat = self._flat[spot] = " ".join(normalise_text(self._parts[spot]).lower().split())
        return flat


def _list_keys(atom: TextValue) -> Iterator[tuple[str, str]]:
    if atom.kind in {NAME, QUOTE}:
        return
    yield atom.kind, atom.core
    if atom.kind in {MONEY, PERCENT}:
        yield NUMBER, atom.core


def _list_words(atom: TextValue) -> Iterator[str]:
    if atom.kind in {NAME, QUOTE}:
        yield from atom.words
    elif atom.core in NUMBER_WORDS:
        yield NUMBER_WORDS[atom.core]


def _is_same(atom: TextValue, value: str) -> bool:
    """Whether a value of equal core is this one: people leave out the year and the half day."""
    if value == atom.value:
        return True
    return atom.value == atom.core or (atom.kind in {DATE, TIME} and value == atom.core)


def _list_lines(day: DayLog) -> Iterator[tuple[str, str, str]]:
    """Session, text and surroundings of every sentence, and of every heading once."""
    last = ""
    for sentence in day.sentences:
        session = sentence.session or NO_SESSION
        if sentence.heading != last:
            last = sentence.heading
            yield session, last, ""
        yield session, sentence.text, f"{last} {sentence.lead}"
