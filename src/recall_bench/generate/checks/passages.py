"""What a model is shown of the days to judge a question: the sections that bear on it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recall_bench.generate.checks.staleness import Changes
from recall_bench.lint.asked import Asked
from recall_bench.lint.atoms import values
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.words import plain, topics

BUDGET = 24_000
"""Characters of the days in one prompt."""
AROUND = 3
"""Days before the first relevant day and after the last that are looked at too."""

_HEADING = re.compile(r"^(?=#{2,6}[ \t])", re.MULTILINE)
_SHARES = (0.6, 0.25, 1.0)
"""How much of the budget the relevant days, the later day and the days around may fill."""


@dataclass(frozen=True, slots=True)
class _Section:
    """What stands under one heading of one session of a day."""

    day: int
    place: int
    session: str
    text: str


def passages(corpus: Corpus, changes: Changes, asked: Asked) -> str:
    """The sections of the relevant days, of those around and of a later one, in story order.

    The latest later day that shares an exact value with the answer is the one that would show a
    change. Of each group the sections that share most words with the question come first.
    """
    relevant = set(asked.days)
    later = _later(corpus, changes, asked)
    around = {
        day
        for day in range(asked.days[0] - AROUND, asked.days[-1] + AROUND + 1)
        if day in corpus.by_number
    }
    chosen: list[_Section] = []
    left = BUDGET
    groups = (relevant, later - relevant, around - relevant - later)
    for days, share in zip(groups, _SHARES, strict=True):
        taken = _taken(corpus, asked, days, min(left, int(BUDGET * share)))
        left -= sum(len(section.text) for section in taken)
        chosen += taken
    return "\n\n".join(_shown(corpus, chosen))


def _later(corpus: Corpus, changes: Changes, asked: Asked) -> set[int]:
    stated = {day for atom in asked.exact for day in corpus.index.days(atom)}
    latest = max((day for day in stated if day > asked.days[-1]), default=None)
    change = changes.of(asked)
    return {day for day in (latest, change.day if change else None) if day is not None}


def _taken(corpus: Corpus, asked: Asked, days: Iterable[int], budget: int) -> list[_Section]:
    scored = [
        (-_bearing(asked, section.text), section.day, section.place, section)
        for day in sorted(days)
        for section in _sections(corpus, day)
    ]
    taken = []
    for score, _, _, section in sorted(scored, key=lambda each: each[:3]):
        if score and len(section.text) <= budget:
            budget -= len(section.text)
            taken.append(section)
    return taken


def _bearing(asked: Asked, text: str) -> int:
    """How much a text has to do with a question: the words and the exact values they share."""
    about = asked.topics | topics(asked.reference)
    exact = {(atom.kind, atom.core) for atom in asked.exact}
    held = {(atom.kind, atom.core) for atom in values(plain(text))}
    return len(topics(text) & about) + len(held & exact)


def _sections(corpus: Corpus, day: int) -> Iterator[_Section]:
    place = 0
    for session, text in corpus.by_number[day].parts():
        for part in _HEADING.split(text):
            if part.strip():
                place += 1
                yield _Section(day, place, session, part.strip())


def _shown(corpus: Corpus, chosen: list[_Section]) -> Iterator[str]:
    for section in sorted(chosen, key=lambda each: (each.day, each.place)):
        where = f", session {section.session}" if section.session else ""
        at = corpus.text_dates[section.day]
        yield f"[day {section.day}, {at}{where}]\n{section.text}"
