"""When, and in which session, a history first said each word and each atom.

Most lines of a long log repeat an earlier one, so a line is read once for each session it is
said in, and never again.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cached_property

from recall_bench.core.history import Episode
from recall_bench.core.question import Scenario
from recall_bench.judging.offline.atoms import DATE, MONTH, YEAR, Atom
from recall_bench.judging.offline.literal import levelled
from recall_bench.judging.offline.values import values
from recall_bench.judging.offline.wording import Stems, plain, sentences, words

_SESSION = re.compile(r"#{1,6}\s+session:\s*(\S+)\s*", re.IGNORECASE)
_PART = re.compile(r"[:;]\s")
_OPEN = ""


class _Firsts:
    """The first day of every atom and every word of one session."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], int] = {}
        self.cores: dict[tuple[str, str], int] = {}
        self.words: dict[str, int] = {}

    def read(self, text: str, day: int) -> None:
        """Take in what was said on a day; days come in order."""
        for atom in values(text):
            self.values.setdefault((atom.kind, atom.value), day)
            self.cores.setdefault((atom.kind, atom.core), day)
            if atom.measure:
                self.values.setdefault((atom.kind, atom.measure), day)
        for word in words(text):
            self.words.setdefault(word, day)

    def add(self, other: "_Firsts") -> None:
        """Make another session's firsts part of these."""
        for mine, theirs in ((self.values, other.values), (self.cores, other.cores)):
            for key, day in theirs.items():
                mine[key] = min(day, mine.get(key, day))
        for word, day in other.words.items():
            self.words[word] = min(day, self.words.get(word, day))

    def tells(self, atom: Atom, days: int) -> bool:
        """Whether the atom, or a spelling of it that leaves nothing contrary, occurs by then."""
        if atom.is_bare:
            return self.cores.get((atom.kind, atom.core), days + 1) <= days
        spellings = (atom.value, atom.core, atom.measure)
        return any(self.values.get((atom.kind, each), days + 1) <= days for each in spellings)


class HistoryIndex:
    """Knows what had been told by a given day, and what only in certain sessions."""

    def __init__(self, scenario: Scenario) -> None:
        self._days = [episode.day for episode in scenario.episodes]
        self._dates = [episode.at.date() for episode in scenario.episodes]
        self._sessions: dict[str, _Firsts] = {}
        self._first_lines: dict[str, int] = {}
        seen: set[tuple[str, str]] = set()
        for episode in scenario.episodes:
            for session, line in _lines(episode.text):
                if (session, line) not in seen:
                    seen.add((session, line))
                    self._first_lines.setdefault(line, episode.day)
                    self._sessions.setdefault(session, _Firsts()).read(plain(line), episode.day)
        self._all = _merged((*self._sessions.values(), self._retold(scenario.retold or ())))
        self._stems = Stems()

    def _retold(self, episodes: Iterable[Episode]) -> _Firsts:
        """What a system was told in another form: it may repeat that, and no session told it."""
        firsts = _Firsts()
        for episode in episodes:
            for _, line in _lines(episode.text):
                self._first_lines[line] = min(episode.day, self._first_lines.get(line, episode.day))
                firsts.read(plain(line), episode.day)
        return firsts

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of what was told."""
        return not self._days

    def has_told(self, atom: Atom, days: int) -> bool:
        """Whether the atom occurs in the first `days` days, or names one of them."""
        return self._all.tells(atom, days) or self._is_lived(atom, days)

    def has_said(self, word: str, days: int) -> bool:
        """Whether the word, in lower case here, occurs in the first `days` days."""
        return self._all.words.get(word, days + 1) <= days

    def has_put(self, word: str, days: int) -> bool:
        """Whether the word, in lower case here, occurs by then in whatever inflection."""
        if self.has_said(word, days):
            return True
        stem = next(iter(self._stems.of([word])), word)
        return self._first_stems.get(stem, days + 1) <= days

    @cached_property
    def _first_stems(self) -> dict[str, int]:
        firsts: dict[str, int] = {}
        for word, day in self._all.words.items():
            stem = next(iter(self._stems.of([word])), word)
            firsts[stem] = min(day, firsts.get(stem, day))
        return firsts

    def has_quoted(self, sentence: str, days: int) -> bool:
        """Whether a plain sentence, or each part of it, stands in the first `days` days."""
        firsts = self._first_sentences
        if firsts.get(levelled(sentence), days + 1) <= days:
            return True
        return all(firsts.get(levelled(part), days + 1) <= days for part in _parts(sentence))

    @cached_property
    def _first_sentences(self) -> dict[str, int]:
        firsts: dict[str, int] = {}
        for line, day in sorted(self._first_lines.items(), key=lambda first: first[1]):
            text = plain(line)
            for told in (text, *sentences(text), *_parts(text)):
                firsts.setdefault(levelled(told), day)
        return firsts

    def telling(self, atom: Atom, days: int) -> set[str]:
        """The sessions that had told the atom by then; text outside any session is `''`."""
        return {name for name, firsts in self._sessions.items() if firsts.tells(atom, days)}

    def saying(self, word: str, days: int) -> set[str]:
        """The sessions that had said the word by then."""
        return {
            name
            for name, firsts in self._sessions.items()
            if firsts.words.get(word, days + 1) <= days
        }

    def _is_lived(self, atom: Atom, days: int) -> bool:
        told = bisect_right(self._days, days)
        if not told:
            return False
        first, last = self._dates[0], self._dates[told - 1]
        if atom.kind == DATE:
            years = [int(atom.value[6:])] if not atom.is_bare else range(first.year, last.year + 1)
            return any(first <= day <= last for year in years if (day := _day(atom.core, year)))
        if atom.kind == MONTH:
            month, year = map(int, atom.value.split("/"))
            return (first.year, first.month) <= (year, month) <= (last.year, last.month)
        return atom.kind == YEAR and first.year <= int(atom.value) <= last.year


def _merged(sessions: Iterable[_Firsts]) -> _Firsts:
    merged = _Firsts()
    for firsts in sessions:
        merged.add(firsts)
    return merged


def _parts(text: str) -> list[str]:
    """The parts of a text between full stops, colons and semicolons."""
    return [part for told in sentences(text) for part in _PART.split(told) if part.strip(" .")]


def _lines(text: str) -> Iterator[tuple[str, str]]:
    session = _OPEN
    for line in text.splitlines():
        heading = _SESSION.fullmatch(line)
        if heading:
            session = heading[1]
        elif line:
            yield session, line


def _day(core: str, year: int) -> date | None:
    try:
        return date(year, int(core[:2]), int(core[3:]))
    except ValueError:
        return None
