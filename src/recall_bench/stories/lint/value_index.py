"""Questions, days and their values as the lints see them.

The index first collects the values that any question or correction needs, then reads each day once
and keeps only those. Without known questions it keeps all values.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from recall_bench.core.scenario import (
    PRINCIPAL,
    Disclosure,
    Episode,
    Item,
    Scenario,
    compute_story_date,
)
from recall_bench.stories.persona_story import EPOCH
from recall_bench.text.multilingual_cues import OPENERS
from recall_bench.text.number_words import spell_number
from recall_bench.text.sentences import Sentence, read_sentences
from recall_bench.text.text_values import (
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
    find_text_values,
    list_words,
    normalise_text,
)

_DENIAL = re.compile(
    r"\W*(?:no|none|not|never|nothing|neither|nobody|nowhere|nor)\b", re.IGNORECASE
)
_YES = re.compile(r"\W*yes\b", re.IGNORECASE)


@dataclass(frozen=True)
class LintQuestion:
    """One question, its line in the file, and the keys beyond the public format."""

    item: Item
    line: int | None
    """Its line in the file; None if it is not in a file yet."""
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def category(self) -> str:
        """One of the ten categories."""
        return self.item.truth.category

    @property
    def reference(self) -> str:
        """The right answer."""
        return self.item.truth.reference

    @property
    def session(self) -> str:
        """The session it is asked from."""
        return self.item.session or PRINCIPAL

    @cached_property
    def days(self) -> tuple[int, ...]:
        """The days of its evidence, ascending."""
        return tuple(sorted({cited.day for cited in self.item.truth.evidence}))

    @cached_property
    def opens(self) -> int:
        """The first day on which it can be asked."""
        stated_day = self.extra.get("answerable_from")
        return max(self.item.known_from, stated_day if isinstance(stated_day, int) else 0)

    @property
    def denies(self) -> bool:
        """Whether its answer begins with a no, in any language that is known."""
        opener = OPENERS.match(self.reference)
        is_foreign = opener is not None and opener["yes"] is None
        return is_foreign or _DENIAL.match(self.reference) is not None

    @property
    def affirms(self) -> bool:
        """Whether its answer begins with a yes, in any language that is known."""
        opener = OPENERS.match(self.reference)
        is_foreign = opener is not None and opener["yes"] is not None
        return is_foreign or _YES.match(self.reference) is not None

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of the question's words with content."""
        return collect_stems(self.item.text)

    @cached_property
    def topics(self) -> frozenset[str]:
        """The topics of the question."""
        return collect_topics(self.item.text)

    @cached_property
    def atoms(self) -> tuple[TextValue, ...]:
        """The values that its answer must contain, without those in the question."""
        if not self.days:
            return ()  # That nothing is on record has no place of its own.
        demanded = "; ".join(self.list_texts("atoms"))
        return exclude_known(find_claims(demanded or self.reference), self.item.text)

    @cached_property
    def exact(self) -> tuple[TextValue, ...]:
        """The values that are unlikely to match by chance."""
        return tuple(value for value in self.atoms if value.is_exact)

    def list_texts(self, key: str) -> tuple[str, ...]:
        """Return the texts listed under an extra key; none if it is absent or no list."""
        value = self.extra.get(key)
        return (
            tuple(part for part in value if isinstance(part, str))
            if isinstance(value, list)
            else ()
        )

    def is_open_with(self, other: "LintQuestion") -> bool:
        """Whether there is a day on which both can be asked."""
        ends = [end for a in (self, other) if (end := a.item.known_until) is not None]
        return max(self.opens, other.opens) <= min(ends, default=max(self.opens, other.opens))


NO_SESSION = ""
"""The session of text before the first session heading."""

_SESSION = re.compile(r"^# session:[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t\r]*\n.*?\n---[ \t\r]*(?:\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class DayLog:
    """One day's log."""

    number: int
    name: str
    """Its file, for remarks."""
    text: str

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Every sentence, with its session and headings."""
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
            value.core
            for value in find_text_values(normalise_text(self.body))
            if value.kind == DATE
        )

    @cached_property
    def session_headings(self) -> tuple[str, ...]:
        """The sessions of its headings, in order."""
        return tuple(_SESSION.findall(self.body))

    def split_sessions(self) -> Iterator[tuple[str, str]]:
        """Yield each session with its text; `NO_SESSION` is the text before the first heading."""
        yield from self._parts

    @cached_property
    def _parts(self) -> tuple[tuple[str, str], ...]:
        before, *rest = _SESSION.split(self.body)
        first = [(NO_SESSION, before)] if before.strip() else []
        return (*first, *zip(rest[::2], rest[1::2], strict=True))

    def has_pattern(self, pattern: str) -> bool:
        """Whether its text matches, in any case, apart from session headings."""
        is_found = self._patterns.get(pattern)
        if is_found is None:
            compiled = re.compile(pattern, re.IGNORECASE)
            is_found = any(compiled.search(part) for _, part in self._parts)
            self._patterns[pattern] = is_found
        return is_found

    @cached_property
    def _patterns(self) -> dict[str, bool]:
        """The patterns looked for so far: many questions about a day have the same words."""
        return {}


Spot = tuple[int, str]
"""A day and one of its sessions."""

NUMBER_WORDS = {
    str(number): spell_number(number) for number in (*range(1, 21), *range(30, 100, 10))
}
"""Number words by figure."""


@dataclass(frozen=True, eq=False)
class SentenceMention:
    """A sentence or heading with a value, and its place."""

    day: int
    session: str
    text: str
    under: str
    """Its headings, and the line before its list."""

    @cached_property
    def topics(self) -> frozenset[str]:
        """Its topics, by its words and its headings."""
        return collect_topics(f"{self.under} {self.text}")


class ValueIndex:
    """Finds the mentions of the wanted values, or of all values."""

    def __init__(self, days: Iterable[DayLog], wanted: Iterable[TextValue] | None) -> None:
        self._keys: set[tuple[str, str]] | None = None
        self._needed: set[str] | None = None
        if wanted is not None:
            sought = tuple(wanted)
            self._keys = {key for value in sought for key in _list_keys(value)}
            self._needed = {word for value in sought for word in _list_words(value)}
        self._mentions: dict[tuple[str, str], list[tuple[str, SentenceMention]]] = defaultdict(list)
        self._words: dict[str, set[Spot]] = defaultdict(set)
        self._parts: dict[Spot, str] = {}
        self._flat: dict[Spot, str] = {}
        by_text: dict[str, tuple[TextValue, ...]] = {}
        for day in days:
            self._read_words(day)
            for session, text, under in _list_lines(day):
                values = by_text.get(text)
                if values is None:
                    values = by_text[text] = self._select_values(text)
                if values:
                    mention = SentenceMention(day.number, session, text, under)
                    for value in values:
                        self._mentions[value.kind, value.core].append((value.value, mention))

    def find_mentions(self, value: TextValue) -> list[SentenceMention]:
        """Return the sentences with this exact value; none for names and quotations."""
        pairs = self._mentions.get((value.kind, value.core), [])
        return [mention for other, mention in pairs if _is_same(value, other)]

    def find_kind(self, kind: str) -> Iterator[tuple[str, SentenceMention]]:
        """Yield every amount, date, time or code of this kind with its sentence."""
        for (value_kind, _), pairs in self._mentions.items():
            if value_kind == kind:
                yield from pairs

    def find_spots(self, value: TextValue) -> set[Spot]:
        """Return the places of this exact value, name or quotation."""
        if value.kind == NAME:
            return self._intersect_words(value.words)
        if value.kind == QUOTE:
            return {
                spot
                for spot in self._intersect_words(value.words)
                if value.value in self._flatten_text(spot)
            }
        return {(mention.day, mention.session) for mention in self.find_mentions(value)}

    def find_days(self, value: TextValue) -> set[int]:
        """Return the days that contain it."""
        return {day for day, _ in self.find_spots(value)}

    def find_loose_days(self, value: TextValue) -> set[int]:
        """Return the days that contain it or a possible other spelling."""
        days = self.find_days(value)
        if value.kind == NAME:
            days |= {day for word in value.words for day, _ in self._words.get(word, ())}
        elif value.kind == QUOTE:
            days |= {day for day, _ in self._intersect_words(value.words)}
        else:
            days |= {
                mention.day
                for key in _list_keys(value)
                for _, mention in self._mentions.get(key, ())
            }
            days |= {day for day, _ in self._words.get(NUMBER_WORDS.get(value.core, ""), ())}
        return days

    def _select_values(self, text: str) -> tuple[TextValue, ...]:
        values = find_text_values(normalise_text(text))
        if self._keys is None:
            return tuple(values)
        return tuple(value for value in values if (value.kind, value.core) in self._keys)

    def _read_words(self, day: DayLog) -> None:
        for session, text in day.split_sessions():
            spot = (day.number, session)
            self._parts[spot] = text
            words = set(list_words(text))
            for word in words if self._needed is None else self._needed & words:
                self._words[word].add(spot)

    def _intersect_words(self, words: tuple[str, ...]) -> set[Spot]:
        if not words:
            return set()
        first, *rest = sorted((self._words.get(word, set()) for word in words), key=len)
        return first.intersection(*rest)

    def _flatten_text(self, spot: Spot) -> str:
        flat = self._flat.get(spot)
        if flat is None:
            flat = self._flat[spot] = " ".join(normalise_text(self._parts[spot]).lower().split())
        return flat


def _list_keys(value: TextValue) -> Iterator[tuple[str, str]]:
    if value.kind in {NAME, QUOTE}:
        return
    yield value.kind, value.core
    if value.kind in {MONEY, PERCENT}:
        yield NUMBER, value.core


def _list_words(value: TextValue) -> Iterator[str]:
    if value.kind in {NAME, QUOTE}:
        yield from value.words
    elif value.core in NUMBER_WORDS:
        yield NUMBER_WORDS[value.core]


def _is_same(value: TextValue, other: str) -> bool:
    """Whether a value of equal core is this one: year and half of the day may be left out."""
    if other == value.value:
        return True
    return value.value == value.core or (value.kind in {DATE, TIME} and other == value.core)


def _list_lines(day: DayLog) -> Iterator[tuple[str, str, str]]:
    """Yield session, text and headings of every sentence, and every heading once."""
    last = ""
    for sentence in day.sentences:
        session = sentence.session or NO_SESSION
        if sentence.heading != last:
            last = sentence.heading
            yield session, last, ""
        yield session, sentence.text, f"{last} {sentence.lead}"


def find_lost_questions(scenario: Scenario) -> tuple[Item, ...]:
    """Return the questions with an exact value that the transcripts lack.

    The logs of their evidence days contain it; the transcripts up to the last of these days do
    not, in any spelling. The date of an evidence day is not lost if that day is ingested.
    """
    if scenario.retold is None:
        return ()
    questions = [
        LintQuestion(item, None, {"atoms": list(item.truth.atoms)})
        for item in scenario.items
        if _is_answerable(item)
    ]
    values = [value for each in questions for value in each.exact]
    cited = {day for each in questions if each.exact for day in each.days}
    logged = ValueIndex(
        _make_day_logs(episode for episode in scenario.episodes if episode.day in cited), values
    )
    fed = ValueIndex(_make_day_logs(iter(scenario.retold)), values)
    dates = {each.day: f"{each.at:%m-%d}" for each in scenario.retold}

    def is_lost(value: TextValue, days: tuple[int, ...]) -> bool:
        if logged.find_days(value).isdisjoint(days):
            return False
        if value.kind == DATE and value.core in map(dates.get, days):
            return False
        return all(day > days[-1] for day in fed.find_loose_days(value))

    return tuple(
        question.item
        for question in questions
        if any(is_lost(value, question.days) for value in question.exact)
    )


def _is_answerable(item: Item) -> bool:
    truth = item.truth
    is_told = truth.disclosure in (None, Disclosure.ANSWER)
    return bool(truth.evidence) and truth.is_answerable and is_told


def _make_day_logs(episodes: Iterator[Episode]) -> Iterator[DayLog]:
    return (DayLog(episode.day, episode.id, episode.text) for episode in episodes)
