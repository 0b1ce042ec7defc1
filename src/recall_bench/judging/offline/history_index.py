"""An index of a history: when each word, value and sentence was first said, and in which session.

Most lines of a long log repeat an earlier one, so a line is read once for each session it occurs
in.
"""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from datetime import date
from functools import cached_property, lru_cache
from itertools import islice
from typing import Generic, Protocol, TypeVar

from recall_bench.core.runtime import pause_collector
from recall_bench.core.scenario import Scenario
from recall_bench.judging.offline.contents import level_text
from recall_bench.text.relative_dates import expand_relative_dates, has_relative_date
from recall_bench.text.text import Stems, normalise, split_normalised, split_words
from recall_bench.text.values import DATE, MONTH, QUANTITY, YEAR, ValueAtom, find_values, negate

_SESSION = re.compile(r"#{1,6}\s+session:\s*(\S+)\s*", re.IGNORECASE)
_PART = re.compile(r"[:;]\s|(?<=[.!?])\s-\s")
_NO_SESSION = ""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class _DatedLines:
    """Lines in the order of their days, prepared by a function when an index reads them."""

    def __init__(
        self, prepare: Callable[[str], str], lines: Iterable[tuple[int, str]] = ()
    ) -> None:
        self._prepare = prepare
        self._lines = [*lines]

    def add(self, day: int, line: str) -> None:
        """Add a line that is not earlier than the last."""
        self._lines.append((day, line))

    def read(self, start: int, days: int) -> Iterator[tuple[int, str]]:
        """Yield the lines of the first `days` days from a place on."""
        for day, line in islice(self._lines, start, None):
            if day > days:
                return
            yield day, self._prepare(line)


class _DatedTexts(Protocol):
    """Lines or words in the order of their days."""

    def read(self, start: int, days: int) -> Iterator[tuple[int, str]]:
        """Yield those of the first `days` days from a place on."""


class _FirstDays(Generic[K]):
    """The first day of every key that dated texts hold; a day is read when it is asked about."""

    def __init__(self, texts: _DatedTexts, read: Callable[[str], Iterable[K]]) -> None:
        self._texts = texts
        self._read = read
        self._next = 0
        self._days = 0
        """The days that have been read."""
        self._firsts: dict[K, int] = {}

    def read(self, start: int, days: int) -> Iterator[tuple[int, K]]:
        """Yield the keys of the first `days` days from a place on, each with its first day."""
        if days > self._days:
            self._read_days(days)
        for key, day in islice(self._firsts.items(), start, None):
            if day > days:
                return
            yield day, key

    def is_known(self, key: K, days: int) -> bool:
        """Whether a line of the first `days` days holds the key."""
        if days > self._days:
            self._read_days(days)
        return self._firsts.get(key, days + 1) <= days

    @pause_collector()
    def _read_days(self, days: int) -> None:
        firsts = self._firsts
        for day, text in self._texts.read(self._next, days):
            # Most of what a line holds is known, and sets find the rest fastest.
            for each in set(self._read(text)).difference(firsts):
                firsts[each] = day
            self._next += 1
        self._days = days


class _Mentions:
    """What one session mentions, and from which day on; its lines come in the order of days."""

    def __init__(self, prepare: Callable[[str], str], stems: Stems) -> None:
        self._lines = _DatedLines(prepare)
        self.words = _FirstDays(self._lines, split_words)
        """Each lower-case word with its first day."""
        self._stems = _FirstDays(self.words, lambda word: stems.stem([word]))
        self._values = _FirstDays(self._lines, _read_values)

    def add_line(self, line: str, day: int) -> None:
        """Add a line of a day."""
        self._lines.add(day, line)

    def is_word_known(self, word: str, days: int) -> bool:
        """Whether the lower-case word occurs by then."""
        return self.words.is_known(word, days)

    def is_stem_known(self, stem: str, days: int) -> bool:
        """Whether a word with the stem occurs by then."""
        return self._stems.is_known(stem, days)

    def is_value_known(self, atom: ValueAtom, days: int) -> bool:
        """Whether the value, or a compatible spelling, occurs by then."""
        if self._is_stated(atom, days):
            return True
        return atom.kind == QUANTITY and self._is_stated(negate(atom), days)

    def _is_stated(self, atom: ValueAtom, days: int) -> bool:
        if atom.is_bare:
            return self._values.is_known((f"core {atom.kind}", atom.core), days)
        spellings = (atom.value, atom.core, atom.measure)
        return any(self._values.is_known((atom.kind, spelling), days) for spelling in spellings)


def _read_values(line: str) -> Iterator[tuple[str, str]]:
    """The values of a line, by their kinds and their spellings."""
    for atom in find_values(line):
        yield atom.kind, atom.value
        yield f"core {atom.kind}", atom.core
        if atom.measure:
            yield atom.kind, atom.measure


def _read_sentences(line: str) -> Iterator[str]:
    """A line, its sentences and their parts, levelled."""
    sentences = split_normalised(line)
    parts = dict.fromkeys((*sentences, *_split_parts(sentences)))
    parts.pop(line, None)
    yield level_text(line)
    yield from map(level_text, parts)


class HistoryIndex:
    """What the history had said by a given day, and in which sessions."""

    def __init__(self, scenario: Scenario) -> None:
        self._days = [episode.day for episode in scenario.episodes]
        self._dates = [episode.at.date() for episode in scenario.episodes]
        self._stems = Stems()
        self._normalise = lru_cache(maxsize=4096)(normalise)
        """Several indexes read the same lines, each once and soon after another."""
        self._sessions: dict[str, _Mentions] = {}
        self._retold = _Mentions(self._normalise, self._stems)
        self._first_lines: dict[str, int] = {}
        self._texts = {
            f"{episode.at:%Y-%m-%d}": (episode.day, episode.text)
            for episode in (*scenario.episodes, *(scenario.retold or ()))
        }
        self._parts = lru_cache(maxsize=2048)(self._split_sessions)
        seen: set[tuple[str, str]] = set()
        for episode in scenario.episodes:
            for session, line in _split_lines(episode.text):
                if (session, line) not in seen:
                    seen.add((session, line))
                    self._first_lines.setdefault(line, episode.day)
                    if session not in self._sessions:
                        self._sessions[session] = _Mentions(self._normalise, self._stems)
                    self._sessions[session].add_line(line, episode.day)
        for episode in sorted(scenario.retold or (), key=lambda episode: episode.day):
            for _, line in _split_lines(episode.text):
                self._first_lines[line] = min(episode.day, self._first_lines.get(line, episode.day))
                self._retold.add_line(line, episode.day)
        self._dates_of_days = {day: date for date, (day, _) in self._texts.items()}
        dated = sorted((day, line) for line, day in self._first_lines.items())
        self._sentences = _FirstDays(_DatedLines(self._normalise, dated), _read_sentences)
        self._relative_dates = _FirstDays(_DatedLines(str, dated), self._read_relative_dates)
        self._all = (*self._sessions.values(), self._retold)
        self._words = [mentions.words for mentions in self._all]

    def _split_sessions(self, date: str) -> dict[str, str]:
        """The normalised text of each session of one day."""
        parts: dict[str, list[str]] = defaultdict(list)
        for session, line in _split_lines(self._texts[date][1]):
            parts[session].append(line)
        return {session: normalise("\n".join(lines)) for session, lines in parts.items()}

    def find_quoted_sessions(
        self, date: str, sentences: Iterable[str], days: int
    ) -> frozenset[str] | None:
        """The sessions that some sentences are quoted from, by the date of a day up to `days`.

        None if one of them is not in the text of that day.
        """
        if date not in self._texts or self._texts[date][0] > days:
            return None
        found: set[str] = set()
        for sentence in sentences:
            session = next((s for s, text in self._parts(date).items() if sentence in text), None)
            if session is None:
                return None
            found.add(session)
        return frozenset(found)

    def is_recitation(self, text: str) -> bool:
        """Whether most lines of a text are lines of the history, with or without a date before."""
        lines = [line for line in text.splitlines() if line.strip()]
        known = sum(
            line in self._first_lines or line.partition(": ")[2] in self._first_lines
            for line in lines
        )
        return 2 * known > len(lines)

    @property
    def is_empty(self) -> bool:
        """Whether there is no history."""
        return not self._days

    def is_value_known(self, atom: ValueAtom, days: int) -> bool:
        """Whether the value occurs in the first `days` days, or is the date of one of them."""
        if self._is_story_date(atom, days):
            return True
        if any(mentions.is_value_known(atom, days) for mentions in self._all):
            return True
        return atom.kind == DATE and self._relative_dates.is_known(atom.value, days)

    def _read_relative_dates(self, line: str) -> Iterator[str]:
        """The dates that a line means by "tomorrow" or "the 6th", as of its own day."""
        normalised = self._normalise(line)
        # A date before the line makes no other date of it, and changes how it is normalised only
        # where that is not the line itself.
        if normalised == line and line.isascii() and not has_relative_date(line):
            return
        said_on = self._dates_of_days[self._first_lines[line]]
        dated = normalise(f"{said_on}: {line}")
        expanded = expand_relative_dates(dated, date.fromisoformat(said_on))
        for atom in find_values(expanded) if expanded != dated else ():
            if atom.kind == DATE:
                yield atom.value
                yield atom.core

    def is_word_known(self, word: str, days: int) -> bool:
        """Whether the lower-case word occurs in the first `days` days."""
        for words in self._words:  # noqa: SIM110 - twice as fast as any()
            if words.is_known(word, days):
                return True
        return False

    def is_stem_known(self, word: str, days: int) -> bool:
        """Whether the lower-case word occurs by then in any inflection."""
        if self.is_word_known(word, days):
            return True
        stem = next(iter(self._stems.stem([word])), word)
        return any(mentions.is_stem_known(stem, days) for mentions in self._all)

    def is_sentence_known(self, sentence: str, days: int) -> bool:
        """Whether a sentence, or each part of it, occurs in the first `days` days.

        The heading of a session claims nothing.
        """
        heading = _SESSION.fullmatch(sentence)
        if heading and heading[1] in self._sessions:
            return True
        is_known = self._sentences.is_known
        return is_known(level_text(sentence), days) or all(
            is_known(level_text(part), days) for part in _split_parts(split_normalised(sentence))
        )

    def is_excerpt_known(self, excerpt: str, days: int) -> bool:
        """Whether the words of an excerpt occur in a row in the first `days` days."""
        starts, text = self._running_text
        place = text.find(level_text(excerpt))
        return place >= 0 and starts[bisect_right(starts, (place, math.inf)) - 1][1] <= days

    @cached_property
    def _running_text(self) -> tuple[list[tuple[int, float]], str]:
        """All lines, levelled, in the order of their days; and where the lines of a day begin."""
        starts: list[tuple[int, float]] = []
        lines: list[str] = []
        place = 0
        for line, day in sorted(self._first_lines.items(), key=lambda pair: pair[1]):
            if not starts or starts[-1][1] != day:
                starts.append((place, day))
            lines.append(f"{level_text(self._normalise(line))}\n")
            place += len(lines[-1])
        return starts, "".join(lines)

    def find_value_sessions(self, atom: ValueAtom, days: int) -> set[str]:
        """The sessions that had mentioned the value by then; text outside any session is `''`."""
        return {
            name for name, mentions in self._sessions.items() if mentions.is_value_known(atom, days)
        }

    def find_word_sessions(self, word: str, days: int) -> set[str]:
        """The sessions that had used the word by then."""
        return {
            name for name, mentions in self._sessions.items() if mentions.is_word_known(word, days)
        }

    def _is_story_date(self, atom: ValueAtom, days: int) -> bool:
        count = bisect_right(self._days, days)
        if not count:
            return False
        first, last = self._dates[0], self._dates[count - 1]
        if atom.kind == DATE:
            years = [int(atom.value[6:])] if not atom.is_bare else range(first.year, last.year + 1)
            return any(
                first <= day <= last for year in years if (day := _make_day(atom.core, year))
            )
        if atom.kind == MONTH:
            month, year = map(int, atom.value.split("/"))
            return (first.year, first.month) <= (year, month) <= (last.year, last.month)
        return atom.kind == YEAR and first.year <= int(atom.value) <= last.year


class HistoryAsOf:
    """The history up to a day, as the grading of one answer consults it.

    What was known on a day is known on every later one, so that only what was not known is looked
    up again before a grade is used for a later day.
    """

    __slots__ = ("_days", "_history", "_open", "_unknown")

    def __init__(self, history: HistoryIndex, days: int) -> None:
        self._history = history
        self._days = days
        self._open: list[tuple[Callable[..., object], tuple[object, ...], object]] = []
        self._unknown: dict[str, list[object]] = {}
        """What was not known, by the name of the function that looks it up."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no history."""
        return self._history.is_empty

    def holds_on(self, days: int) -> bool:
        """Whether every lookup so far has the same result on another day."""
        if days <= self._days:
            return days == self._days
        for name, keys in self._unknown.items():
            is_known = getattr(self._history, name)
            if any(is_known(key, days) for key in keys):
                return False
        return all(look_up(*keys, days) == found for look_up, keys, found in self._open)

    def look_up(self, function: Callable[[K, int], T], key: K) -> T:
        """What a function finds on this day; it may find more on a later one."""
        found = function(key, self._days)
        self._open.append((function, (key,), found))
        return found

    def is_recitation(self, text: str) -> bool:
        """Whether most lines of a text are lines of the whole history."""
        return self._history.is_recitation(text)

    def is_value_known(self, atom: ValueAtom) -> bool:
        """Whether the value was mentioned, or is the date of a day that has passed."""
        return self._history.is_value_known(atom, self._days) or self._note("is_value_known", atom)

    def is_word_known(self, word: str) -> bool:
        """Whether the lower-case word occurred."""
        return self._history.is_word_known(word, self._days) or self._note("is_word_known", word)

    def is_stem_known(self, word: str) -> bool:
        """Whether the lower-case word occurred in any inflection."""
        return self._history.is_stem_known(word, self._days) or self._note("is_stem_known", word)

    def is_sentence_known(self, sentence: str) -> bool:
        """Whether a sentence, or each part of it, occurred."""
        is_known = self._history.is_sentence_known(sentence, self._days)
        return is_known or self._note("is_sentence_known", sentence)

    def is_excerpt_known(self, excerpt: str) -> bool:
        """Whether the words of an excerpt occurred in a row."""
        is_known = self._history.is_excerpt_known(excerpt, self._days)
        return is_known or self._note("is_excerpt_known", excerpt)

    def find_quoted_sessions(self, date: str, sentences: tuple[str, ...]) -> frozenset[str] | None:
        """The sessions that some sentences are quoted from; None if one is not of that date."""
        quoted_sessions = self._history.find_quoted_sessions(date, sentences, self._days)
        if quoted_sessions is None:
            self._open.append((self._history.find_quoted_sessions, (date, sentences), None))
        return quoted_sessions

    def find_value_sessions(self, atom: ValueAtom) -> set[str]:
        """The sessions that had mentioned the value."""
        return self.look_up(self._history.find_value_sessions, atom)

    def find_word_sessions(self, word: str) -> set[str]:
        """The sessions that had used the word."""
        return self.look_up(self._history.find_word_sessions, word)

    def _note(self, name: str, key: object) -> bool:
        """Record what was not known."""
        keys = self._unknown.setdefault(name, [])
        if key not in keys:
            keys.append(key)
        return False


def _split_parts(sentences: Iterable[str]) -> list[str]:
    """The parts of sentences between colons and semicolons, and the points of a list in a row."""
    return [part for sentence in sentences for part in _PART.split(sentence) if part.strip(" .")]


def _split_lines(text: str) -> Iterator[tuple[str, str]]:
    session = _NO_SESSION
    for line in text.splitlines():
        heading = _SESSION.fullmatch(line)
        if heading:
            session = heading[1]
        elif line:
            yield session, line


def _make_day(core: str, year: int) -> date | None:
    try:
        return date(year, int(core[:2]), int(core[3:]))
    except ValueError:
        return None
