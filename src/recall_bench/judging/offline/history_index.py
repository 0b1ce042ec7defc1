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
from recall_bench.judging.offline.atoms import DATE, MONTH, YEAR, ValueAtom
from recall_bench.judging.offline.literal import level_text
from recall_bench.judging.offline.values import find_values
from recall_bench.judging.offline.wording import Stems, normalise, split_sentences, split_words

_SESSION = re.compile(r"#{1,6}\s+session:\s*(\S+)\s*", re.IGNORECASE)
_PART = re.compile(r"[:;]\s")
_NO_SESSION = ""


class _FirstMentions:
    """The first day of every atom and every word of one session."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], int] = {}
        self.cores: dict[tuple[str, str], int] = {}
        self.words: dict[str, int] = {}

    def read(self, text: str, day: int) -> None:
        """Take in what was said on a day; days come in order."""
        for atom in find_values(text):
            self.values.setdefault((atom.kind, atom.value), day)
            self.cores.setdefault((atom.kind, atom.core), day)
            if atom.measure:
                self.values.setdefault((atom.kind, atom.measure), day)
        for word in split_words(text):
            self.words.setdefault(word, day)

    def add(self, other: "_FirstMentions") -> None:
        """Make another session's firsts part of these."""
        for mine, theirs in ((self.values, other.values), (self.cores, other.cores)):
            for key, day in theirs.items():
                mine[key] = min(day, mine.get(key, day))
        for word, day in other.words.items():
            self.words[word] = min(day, self.words.get(word, day))

    def is_known(self, atom: ValueAtom, days: int) -> bool:
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
        self._sessions: dict[str, _FirstMentions] = {}
        self._first_lines: dict[str, int] = {}
        seen: set[tuple[str, str]] = set()
        for episode in scenario.episodes:
            for session, line in _split_lines(episode.text):
                if (session, line) not in seen:
                    seen.add((session, line))
                    self._first_lines.setdefault(line, episode.day)
                    self._sessions.setdefault(session, _FirstMentions()).read(
                        normalise(line), episode.day
                    )
        self._all = _merge_mentions(
            (*self._sessions.values(), self._read_retold(scenario.retold or ()))
        )
        self._stems = Stems()

    def _read_retold(self, episodes: Iterable[Episode]) -> _FirstMentions:
        """What a system was told in another form: it may repeat that, and no session told it."""
        firsts = _FirstMentions()
        for episode in episodes:
            for _, line in _split_lines(episode.text):
                self._first_lines[line] = min(episode.day, self._first_lines.get(line, episode.day))
                firsts.read(normalise(line), episode.day)
        return firsts

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of what was told."""
        return not self._days

    def is_value_known(self, atom: ValueAtom, days: int) -> bool:
        """Whether the atom occurs in the first `days` days, or names one of them."""
        return self._all.is_known(atom, days) or self._is_story_date(atom, days)

    def is_word_known(self, word: str, days: int) -> bool:
        """Whether the word, in lower case here, occurs in the first `days` days."""
        return self._all.words.get(word, days + 1) <= days

    def is_stem_known(self, word: str, days: int) -> bool:
        """Whether the word, in lower case here, occurs by then in whatever inflection."""
        if self.is_word_known(word, days):
            return True
        stem = next(iter(self._stems.stem([word])), word)
        return self._first_stems.get(stem, days + 1) <= days

    @cached_property
    def _first_stems(self) -> dict[str, int]:
        firsts: dict[str, int] = {}
        for word, day in self._all.words.items():
            stem = next(iter(self._stems.stem([word])), word)
            firsts[stem] = min(day, firsts.get(stem, day))
        return firsts

    def is_sentence_known(self, sentence: str, days: int) -> bool:
        """Whether a plain sentence, or each part of it, stands in the first `days` days."""
        firsts = self._first_sentences
        if firsts.get(level_text(sentence), days + 1) <= days:
            return True
        return all(
            firsts.get(level_text(part), days + 1) <= days for part in _split_parts(sentence)
        )

    @cached_property
    def _first_sentences(self) -> dict[str, int]:
        firsts: dict[str, int] = {}
        for line, day in sorted(self._first_lines.items(), key=lambda first: first[1]):
            text = normalise(line)
            for told in (text, *split_sentences(text), *_split_parts(text)):
                firsts.setdefault(level_text(told), day)
        return firsts

    def find_value_sessions(self, atom: ValueAtom, days: int) -> set[str]:
        """The sessions that had told the atom by then; text outside any session is `''`."""
        return {name for name, firsts in self._sessions.items() if firsts.is_known(atom, days)}

    def find_word_sessions(self, word: str, days: int) -> set[str]:
        """The sessions that had said the word by then."""
        return {
            name
            for name, firsts in self._sessions.items()
            if firsts.words.get(word, days + 1) <= days
        }

    def _is_story_date(self, atom: ValueAtom, days: int) -> bool:
        told = bisect_right(self._days, days)
        if not told:
            return False
        first, last = self._dates[0], self._dates[told - 1]
        if atom.kind == DATE:
            years = [int(atom.value[6:])] if not atom.is_bare else range(first.year, last.year + 1)
            return any(
                first <= day <= last for year in years if (day := _make_day(atom.core, year))
            )
        if atom.kind == MONTH:
            month, year = map(int, atom.value.split("/"))
            return (first.year, first.month) <= (year, month) <= (last.year, last.month)
        return atom.kind == YEAR and first.year <= int(atom.value) <= last.year


def _merge_mentions(sessions: Iterable[_FirstMentions]) -> _FirstMentions:
    merged = _FirstMentions()
    for firsts in sessions:
        merged.add(firsts)
    return merged


def _split_parts(text: str) -> list[str]:
    """The parts of a text between full stops, colons and semicolons."""
    return [
        part for told in split_sentences(text) for part in _PART.split(told) if part.strip(" .")
    ]


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
