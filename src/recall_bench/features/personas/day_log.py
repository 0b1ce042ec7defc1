"""The day files of a story, split by session and topic."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from recall_bench.core.errors import BenchError, Problems, UsageError
from recall_bench.core.scenario import compute_story_date
from recall_bench.stories.lint.value_index import NO_SESSION, DayLog
from recall_bench.stories.persona_files import DayFile, Layout, list_days
from recall_bench.stories.persona_story import Story
from recall_bench.text.number_words import spell_number
from recall_bench.text.text_values import (
    QUOTE,
    TextValue,
    find_claims,
    find_text_values,
    list_words,
    normalise_text,
)

_TOPIC = re.compile(r"^###[ \t]+(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LogTopic:
    """A topic of a session: its heading, if any, and its text."""

    session: str | None
    """None before the first session."""
    heading: str | None
    text: str


@dataclass(frozen=True)
class StoryDay:
    """A day's log."""

    number: int
    date: date
    text: str

    @property
    def weekday(self) -> str:
        """The name of the weekday."""
        return f"{self.date:%A}"

    @property
    def date_text(self) -> str:
        """The date with its weekday."""
        return format_date(self.date)

    @cached_property
    def topics(self) -> tuple[LogTopic, ...]:
        """All topics in order."""
        return tuple(
            topic
            for session, text in self._day.split_sessions()
            for topic in _split_topics(session, text)
        )

    @cached_property
    def sessions(self) -> tuple[str, ...]:
        """Its sessions in order."""
        named = (topic.session for topic in self.topics)
        return tuple(dict.fromkeys(session for session in named if session is not None))

    @cached_property
    def values(self) -> frozenset[str]:
        """The cores of its exact values."""
        return frozenset(atom.core for atom in find_exact_values(self._day.body))

    @cached_property
    def values_by_session(self) -> Mapping[str, frozenset[str]]:
        """The cores of the exact values in each session."""
        results: dict[str, frozenset[str]] = dict.fromkeys(self.sessions, frozenset())
        for name, text in self._day.split_sessions():
            if name in results:
                results[name] |= {atom.core for atom in find_exact_values(text)}
        return results

    @cached_property
    def known_values(self) -> frozenset[str]:
        """The cores of all values that a retelling may state."""
        return list_known_values(self._day.body)

    @cached_property
    def known_by_session(self) -> Mapping[str, frozenset[str]]:
        """The cores of all values that a retelling may state as said in each session."""
        results: dict[str, frozenset[str]] = dict.fromkeys(self.sessions, frozenset())
        for name, text in self._day.split_sessions():
            if name in results:
                results[name] |= list_known_values(text)
        return results

    @property
    def body(self) -> str:
        """The log without its front matter."""
        return self._day.body.strip()

    @cached_property
    def _day(self) -> DayLog:
        return DayLog(self.number, f"day {self.number}", self.text)


def format_date(at: date) -> str:
    """A date with its weekday, for prompts and messages."""
    return f"{at:%A}, {at.day} {at:%B %Y}"


def find_exact_values(text: str) -> tuple[TextValue, ...]:
    """The exact values of a text: amounts, dates, times and codes, but no names."""
    return tuple(atom for atom in find_claims(text) if atom.is_exact)


def find_added_values(text: str, existing: Collection[str]) -> list[str]:
    """The exact values of a text, as shown and each once, whose cores do not exist yet.

    Quotations are not checked: speakers may quote each other.
    """
    added = (
        atom.shown
        for atom in find_exact_values(text)
        if atom.core not in existing and atom.kind != QUOTE
    )
    return list(dict.fromkeys(added))


_LARGEST_SPELLED = 99
_SPELLED = {spell_number(number): str(number) for number in range(_LARGEST_SPELLED + 1)}
_SPELLED_NUMBER = re.compile(
    rf"\b(?:{'|'.join(sorted(_SPELLED, key=len, reverse=True))})\b", re.IGNORECASE
)


def list_known_values(text: str) -> frozenset[str]:
    """The cores of all values that a retelling of the text may state.

    These are more than its exact values: "exhibits, 76 of them" and "ten rooms" allow "76 exhibits"
    and "10 rooms".
    """
    level = normalise_text(text)
    spelled = (_SPELLED[word.lower()] for word in _SPELLED_NUMBER.findall(level))
    return frozenset(
        (*(atom.core for atom in (*find_text_values(level), *find_claims(text))), *spelled)
    )


UNREACHABLE_DAY = 10**6
"""A day number beyond any story: the existing days decide where a pass ends."""


def list_day_files(layout: Layout, wanted: range) -> tuple[DayFile, ...]:
    """The day files of a story within the wanted days; UsageError if there are none."""
    if not layout.memories.is_dir():
        raise UsageError(
            f"{layout.name(layout.memories)} does not exist; `recall-bench generate` writes it"
        )
    problems: list[BenchError] = []
    files = list_days(layout, problems, [])
    if problems:
        raise Problems(problems)
    day_files = tuple(file for file in files if file.day in wanted)
    if not day_files:
        raise UsageError(
            f"{layout.name(layout.memories)} holds no day from {wanted[0]} to {wanted[-1]}; "
            f"it ends on day {files[-1].day}"
        )
    return day_files


def read_day_log(file: DayFile, story: Story) -> StoryDay:
    """The log of a day; Malformed if it cannot be read."""
    return StoryDay(file.day, compute_story_date(story.epoch, file.day).date(), file.read())


def count_coverage(retold: str, day: StoryDay) -> tuple[int, int]:
    """How many of the day's exact values a text holds, and how many there are.

    In a dialogue words are spoken that the log quotes: they count without quotation marks.
    """
    coverage = {atom.core for atom in find_exact_values(retold)}
    spoken = " ".join(list_words(normalise_text(retold)))
    quoted = {
        atom.core
        for atom in find_exact_values(day.body)
        if atom.kind == QUOTE and " ".join(list_words(normalise_text(atom.shown))) in spoken
    }
    return len(day.values & (coverage | quoted)), len(day.values)


def _split_topics(session: str, text: str) -> list[LogTopic]:
    name = None if session == NO_SESSION else session
    before, *rest = _TOPIC.split(text)
    results = [LogTopic(name, None, before.strip())] if before.strip() else []
    for heading, body in zip(rest[::2], rest[1::2], strict=True):
        results.append(LogTopic(name, heading.strip(), body.strip()))
    return results
