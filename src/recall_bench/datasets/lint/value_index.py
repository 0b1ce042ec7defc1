"""One question as the lints see it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from recall_bench.core.scenario import (
    PRINCIPAL,
    Disclosure,
    Episode,
    Expects,
    Item,
    Scenario,
    compute_story_date,
)
from recall_bench.core.sentences import Sentence, read_sentences
from recall_bench.core.text_values import (
    DATE,
    MONEY,
    NAME,
    NUMBER,
    PERCENT,
    QUOTE,
    TIME,
    TextValue,
    collect_stems,
    collect_topics,
    exclude_known,
    find_claims,
    find_values,
    normalise_text,
    split_words,
)
from recall_bench.core.values import spell_number
from recall_bench.datasets.persona_story import EPOCH

_DENIAL = re.compile(
    r"\W*(?:no|none|not|never|nothing|neither|nobody|nowhere|nor)\b", re.IGNORECASE
)
_YES = re.compile(r"\W*yes\b", re.IGNORECASE)


@dataclass(frozen=True)
class LintQuestion:
    """One question, its place in the file, and the keys beyond the public format."""

    item: Item
    line: int | None
    """Where it stands in its file; None if it stands in none yet."""
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def category(self) -> str:
        """One of the ten."""
        return self.item.truth.category

    @property
    def reference(self) -> str:
        """The right answer."""
        return self.item.truth.reference

    @property
    def session(self) -> str:
        """Where it is asked from."""
        return self.item.session or PRINCIPAL

    @cached_property
    def days(self) -> tuple[int, ...]:
        """The days its answer rests on, ascending."""
        return tuple(sorted({cited.day for cited in self.item.truth.evidence}))

    @cached_property
    def opens(self) -> int:
        """The first day on which it may be asked."""
        given = self.extra.get("answerable_from")
        return max(self.item.known_from, given if isinstance(given, int) else 0)

    @property
    def denies(self) -> bool:
        """Whether its answer opens with a no."""
        return _DENIAL.match(self.reference) is not None

    @property
    def affirms(self) -> bool:
        """Whether its answer opens with a yes."""
        return _YES.match(self.reference) is not None

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of the question's words with content."""
        return collect_stems(self.item.text)

    @cached_property
    def topics(self) -> frozenset[str]:
        """What the question is about."""
        return collect_topics(self.item.text)

    @cached_property
    def atoms(self) -> tuple[TextValue, ...]:
        """What its answer must hold and the question does not give away."""
        demanded = "; ".join(self.list_texts("atoms"))
        return exclude_known(find_claims(demanded or self.reference), self.item.text)

    @cached_property
    def exact(self) -> tuple[TextValue, ...]:
        """Those of its atoms that are not met by chance."""
        return tuple(atom for atom in self.atoms if atom.is_exact)

    def list_texts(self, key: str) -> tuple[str, ...]:
        """The texts an extra key lists; none where it is absent or something else."""
        value = self.extra.get(key)
        return (
            tuple(part for part in value if isinstance(part, str))
            if isinstance(value, list)
            else ()
        )

    def is_open_with(self, other: "LintQuestion") -> bool:
        """Whether there is a day on which both may be asked."""
        ends = [end for a in (self, other) if (end := a.item.known_until) is not None]
        return max(self.opens, other.opens) <= min(ends, default=max(self.opens, other.opens))


NO_SESSION = ""
"""Where text stands that no session heading precedes."""

_SESSION = re.compile(r"^# session:[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t\r]*\n.*?\n---[ \t\r]*(?:\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class DayLog:
    """One day's log."""

    number: int
    name: str
    """Its file, as remarks show it."""
    text: str

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Every sentence, with the session and the headings it stands under."""
        at = compute_story_date(EPOCH, 1)
        return read_sentences(Episode(id=self.name, day=self.number, at=at, text=self.text))

    @cached_property
    def body(self) -> str:
        """The text without its front matter."""
        return _FRONT_MATTER.sub("", self.text.lstrip("\ufeff"), count=1)

    @cached_property
    def dates(self) -> frozenset[str]:
        """Every calendar date it names, as month and day."""
        return frozenset(
            atom.core for atom in find_values(normalise_text(self.body)) if atom.kind == DATE
        )

    @cached_property
    def session_headings(self) -> tuple[str, ...]:
        """The sessions it has a heading for, in order."""
        return tuple(_SESSION.findall(self.body))

    def split_sessions(self) -> Iterator[tuple[str, str]]:
        """Each session's text; what comes before the first session is under `NO_SESSION`."""
        before, *rest = _SESSION.split(self.body)
        if before.strip():
            yield NO_SESSION, before
        yield from zip(rest[::2], rest[1::2], strict=True)


Spot = tuple[int, str]
"""A day and one of its sessions."""

NUMBER_WORDS = {
    str(number): spell_number(number) for number in (*range(1, 21), *range(30, 100, 10))
}
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


def find_lost_questions(scenario: Scenario) -> tuple[Item, ...]:
    """The questions with an exact value that gets lost on the way.

    Their evidence days log it; what a system is fed up to the last of these days does not hold it,
    in whatever spelling. The date of an evidence day is not lost if that day is fed.
    """
    if scenario.retold is None:
        return ()
    asked = [
        LintQuestion(item, None, _read_demands(item))
        for item in scenario.items
        if _is_answerable(item)
    ]
    wanted = [atom for each in asked for atom in each.exact]
    cited = {day for each in asked if each.exact for day in each.days}
    logged = ValueIndex(
        _make_day_logs(each for each in scenario.episodes if each.day in cited), wanted
    )
    fed = ValueIndex(_make_day_logs(iter(scenario.retold)), wanted)
    dates = {each.day: f"{each.at:%m-%d}" for each in scenario.retold}

    def is_lost(atom: TextValue, days: tuple[int, ...]) -> bool:
        if logged.find_days(atom).isdisjoint(days):
            return False
        if atom.kind == DATE and atom.core in map(dates.get, days):
            return False
        return all(day > days[-1] for day in fed.find_loose_days(atom))

    return tuple(
        each.item for each in asked if any(is_lost(atom, each.days) for atom in each.exact)
    )


def _is_answerable(item: Item) -> bool:
    truth = item.truth
    is_told = truth.disclosure in (None, Disclosure.ANSWER)
    return bool(truth.evidence) and truth.expects is Expects.ANSWER and is_told


def _read_demands(item: Item) -> dict[str, object]:
    return {"atoms": list(item.truth.atoms)}


def _make_day_logs(episodes: Iterator[Episode]) -> Iterator[DayLog]:
    return (DayLog(each.day, each.id, each.text) for each in episodes)
