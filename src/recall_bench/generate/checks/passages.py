"""What a model is shown of the days to judge a question: the sections that bear on it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recall_bench.generate.checks.staleness import ChangeFinder
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.atoms import find_values
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.words import collect_topics, normalise_text

MAX_CHARACTERS = 24_000
"""Characters of the days in one prompt."""
DAYS_AROUND = 3
"""Days before the first relevant day and after the last that are looked at too."""

_HEADING = re.compile(r"^(?=#{2,6}[ \t])", re.MULTILINE)
_SHARES = (0.6, 0.25, 1.0)
"""How much of the budget the relevant days, the later day and the days around may fill."""


@dataclass(frozen=True, slots=True)
class _DaySection:
    """What stands under one heading of one session of a day."""

    day: int
    place: int
    session: str
    text: str


def select_passages(corpus: LintCorpus, changes: ChangeFinder, asked: LintQuestion) -> str:
    """The sections of the relevant days, of those around and of a later one, in story order.

    The latest later day that shares an exact value with the answer is the one that would show a
    change. Of each group the sections that share most words with the question come first.
    """
    relevant = set(asked.days)
    later = _find_later_days(corpus, changes, asked)
    around = {
        day
        for day in range(asked.days[0] - DAYS_AROUND, asked.days[-1] + DAYS_AROUND + 1)
        if day in corpus.by_number
    }
    chosen: list[_DaySection] = []
    left = MAX_CHARACTERS
    groups = (relevant, later - relevant, around - relevant - later)
    for days, share in zip(groups, _SHARES, strict=True):
        taken = _take_sections(corpus, asked, days, min(left, int(MAX_CHARACTERS * share)))
        left -= sum(len(section.text) for section in taken)
        chosen += taken
    return "\n\n".join(_render_sections(corpus, chosen))


def _find_later_days(corpus: LintCorpus, changes: ChangeFinder, asked: LintQuestion) -> set[int]:
    stated = {day for atom in asked.exact for day in corpus.index.find_days(atom)}
    latest = max((day for day in stated if day > asked.days[-1]), default=None)
    change = changes.find_change(asked)
    return {day for day in (latest, change.day if change else None) if day is not None}


def _take_sections(
    corpus: LintCorpus, asked: LintQuestion, days: Iterable[int], budget: int
) -> list[_DaySection]:
    scored = [
        (-_score_section(asked, section.text), section.day, section.place, section)
        for day in sorted(days)
        for section in _split_sections(corpus, day)
    ]
    taken = []
    for score, _, _, section in sorted(scored, key=lambda each: each[:3]):
        if score and len(section.text) <= budget:
            budget -= len(section.text)
            taken.append(section)
    return taken


def _score_section(asked: LintQuestion, text: str) -> int:
    """How much a text has to do with a question: the words and the exact values they share."""
    about = asked.topics | collect_topics(asked.reference)
    exact = {(atom.kind, atom.core) for atom in asked.exact}
    held = {(atom.kind, atom.core) for atom in find_values(normalise_text(text))}
    return len(collect_topics(text) & about) + len(held & exact)


def _split_sections(corpus: LintCorpus, day: int) -> Iterator[_DaySection]:
    place = 0
    for session, text in corpus.by_number[day].split_sessions():
        for part in _HEADING.split(text):
            if part.strip():
                place += 1
                yield _DaySection(day, place, session, part.strip())


def _render_sections(corpus: LintCorpus, chosen: list[_DaySection]) -> Iterator[str]:
    for section in sorted(chosen, key=lambda each: (each.day, each.place)):
        where = f", session {section.session}" if section.session else ""
        at = corpus.text_dates[section.day]
        yield f"[day {section.day}, {at}{where}]\n{section.text}"
