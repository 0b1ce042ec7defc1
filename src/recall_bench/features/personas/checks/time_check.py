"""Whether a question says what time it means, and whether a later day changes its answer.

Day numbers are internal to the benchmark; they can be replaced by dates. Values are repeated in the
same words: `Walkaway floor: $490M EV`, and one day `Walkaway floor: $650M EV`. Where the words stay
and the value differs, and the old value is not stated any more, the answer has changed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from recall_bench.core.scenario import Disclosure
from recall_bench.features.personas.checks.check_result import ProblemKind, QuestionProblem
from recall_bench.stories.lint.history_checks import is_superseded, list_corrections
from recall_bench.stories.lint.lint_corpus import LintCorpus
from recall_bench.stories.lint.question_checks import is_dated
from recall_bench.stories.lint.value_index import LintQuestion, SentenceMention
from recall_bench.text.text_values import (
    CODE,
    MONEY,
    NAME,
    NUMBER,
    PERCENT,
    TIME,
    TextValue,
    collect_topics,
    find_claims,
    find_text_values,
    measure_likeness,
    normalise_text,
    remove_values,
)

_MIN_TOPICS = 2
"""Content words that a question needs."""
_NUMBER = r"#?(\d{1,5})(?![.,]*\d)"
_TO = r"\s?(?:[-–]|to|through|until)\s?(?:day\s)?"
_AND = r"\s?(?:,? and|,? or|,)\s?(?:days?\s)?"
_DAYS = re.compile(
    rf"(?<!\d[ -])\bdays?[ \u00a0]{_NUMBER}(?:(?:{_TO}|{_AND}){_NUMBER})*(?P<of>\sof\b)?",
    re.IGNORECASE,
)
"""With `of` after it, it counts days of something else."""
_EACH = re.compile(rf"(?:days?[ \u00a0])?{_NUMBER}", re.IGNORECASE)
_ISO = r"\d{4}-\d\d-\d\d"
_DASH = re.compile(rf"(?<=\d)\s?[-–]\s?(?={_ISO})")
_SPAN = re.compile(
    rf"\b(?P<word>on|in|during|throughout|across|over|within) (?P<first>{_ISO}) "
    rf"(?:to|through) (?P<last>{_ISO})",
    re.IGNORECASE,
)
"""A span of days after its numbers were replaced by dates."""


def check_anchor(asked: LintQuestion) -> Iterator[QuestionProblem]:
    """A question without date, value and name, and almost without content words."""
    text = asked.item.text
    if len(asked.topics) < _MIN_TOPICS and not is_dated(text) and not find_claims(text):
        yield QuestionProblem(
            kind=ProblemKind.VAGUENESS,
            message="it names nothing by which somebody could tell what is meant; "
            "name the person, the thing or the date",
        )


def is_numbering_days(text: str) -> bool:
    """Whether a text uses day numbers."""
    return _DAYS.search(text) is not None


def replace_day_numbers(corpus: LintCorpus, text: str) -> str | None:
    """The text with every day number replaced by its date; None if one is no day."""
    is_whole = True

    def replace_day(match: re.Match[str]) -> str:
        nonlocal is_whole
        at = corpus.text_dates.get(int(match[1]))
        is_whole = is_whole and at is not None
        return match[0] if at is None else at.isoformat()

    def replace_days(match: re.Match[str]) -> str:
        nonlocal is_whole
        is_whole = is_whole and not match["of"]
        return _DASH.sub(" to ", _EACH.sub(replace_day, match[0]))

    dated = _DAYS.sub(replace_days, text)
    return _SPAN.sub(_format_span, dated) if is_whole and dated != text else None


def _format_span(match: re.Match[str]) -> str:
    start = "From" if match["word"][0].isupper() else "from"
    return f"{start} {match['first']} to {match['last']}"


_KINDS = (MONEY, PERCENT, NUMBER, TIME)
_SAME_MATTER = 3
"""Words that a sentence with its headings shares with a question about it."""
_LABEL = 2
"""Words that both sentences and the question share."""
_WITHIN = 3 / 4
"""The share of the shorter sentence's words that the longer one has."""
_ALIKE = 2 / 5
_PAST = re.compile(
    r"\b(?:initial\w*|original\w*|first|before|earlier|previous\w*|old|prior|former\w*|start\w*"
    r"|beg[aiu]n\w*|at the time)\b",
    re.IGNORECASE,
)
"""Marks a question about the past."""


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """The day from which another answer holds."""

    day: int
    old: str
    new: str
    """A value, or the sentence with it."""

    @property
    def message(self) -> str:
        """The change and what to do about it."""
        return (
            f"{self.old} holds until day {self.day}, which says “{self.new}”; "
            f"set irrelevant_after to {self.day - 1}, or ask as of a date"
        )


@dataclass(eq=False, slots=True)
class _ValueLine:
    """A sentence with values of one kind, and all days of a session with it."""

    said: SentenceMention
    """Its first occurrence."""
    label: frozenset[str]
    """Its words without the values."""
    days: set[int] = field(default_factory=set)
    values: set[str] = field(default_factory=set)


class ChangeFinder:
    """Finds changes of answers, from every sentence of a story with a value."""

    def __init__(self, corpus: LintCorpus) -> None:
        self._corpus = corpus

    def find_change(self, asked: LintQuestion) -> AnswerChange | None:
        """The first change of the answer that the question does not account for."""
        text = asked.item.text
        if is_dated(text) or is_numbering_days(text) or _PAST.search(text):
            return None
        if asked.item.truth.disclosure is Disclosure.REFUSE:
            return None
        results = [*self._find_corrections(asked), *self._find_new_values(asked)]
        until = asked.item.known_until
        open_ones = (item for item in results if until is None or item.day <= until)
        return min(open_ones, key=lambda change: change.day, default=None)

    def _find_corrections(self, asked: LintQuestion) -> Iterator[AnswerChange]:
        """Corrections of the story that the days tell."""
        answer = {(atom.kind, atom.core) for atom in asked.exact}
        for correction in list_corrections(self._corpus):
            wrong = [atom for atom in correction.wrong if (atom.kind, atom.core) in answer]
            is_right = any((atom.kind, atom.core) in answer for atom in correction.right)
            if not wrong or is_right or not correction.about & asked.topics:
                continue
            days = {
                mention.day
                for _, mention in correction.find_mentions(self._corpus, correction.right)
            }
            later = [day for day in days if day > asked.opens]
            if later and min(days) == min(later):
                right = ", ".join(atom.shown for atom in correction.right)
                yield AnswerChange(min(later), wrong[0].shown, right)

    def _find_new_values(self, asked: LintQuestion) -> Iterator[AnswerChange]:
        for atom in asked.exact:
            if atom.kind in _KINDS:
                lines = self._find_related_lines(asked, atom.kind)
                yield from _find_changes(asked, atom, lines)

    def _find_related_lines(self, asked: LintQuestion, kind: str) -> list[_ValueLine]:
        """The lines that share enough words with the question, in story order."""
        least = min(_SAME_MATTER, len(asked.topics))
        own = asked.topics | collect_topics(asked.reference)
        shared = Counter(number for word in own for number in self._places[kind].get(word, ()))
        lines = self._lines[kind]
        return [
            lines[number]
            for number, count in sorted(shared.items())
            if count >= _LABEL and len(lines[number].said.topics & asked.topics) >= least
        ]

    @cached_property
    def _lines(self) -> dict[str, list[_ValueLine]]:
        results: dict[str, dict[tuple[str, str], _ValueLine]] = {kind: {} for kind in _KINDS}
        for kind, lines in results.items():
            for value, mention in self._corpus.index.find_kind(kind):
                line = lines.get((mention.session, mention.text))
                if line is None:
                    label = collect_topics(remove_values(mention.text))
                    line = lines[mention.session, mention.text] = _ValueLine(mention, label)
                line.days.add(mention.day)
                line.values.add(value)
        return {kind: list(lines.values()) for kind, lines in results.items()}

    @cached_property
    def _places(self) -> dict[str, dict[str, list[int]]]:
        """The lines of each kind by their words."""
        places: dict[str, dict[str, list[int]]] = {kind: defaultdict(list) for kind in _KINDS}
        for kind, lines in self._lines.items():
            for number, line in enumerate(lines):
                for word in line.label:
                    places[kind][word].append(number)
        return places


def _find_changes(
    asked: LintQuestion, atom: TextValue, lines: list[_ValueLine]
) -> Iterator[AnswerChange]:
    holding = [line for line in lines if atom.value in line.values]
    telling = [line for line in holding if not line.days.isdisjoint(asked.days)]
    if not telling:
        return
    current = [line for line in holding if not is_superseded(atom, line.said)]
    last = max((day for line in current for day in line.days), default=0)
    own = asked.topics | collect_topics(asked.reference)
    existing = {v for line in lines if min(line.days) <= asked.days[-1] for v in line.values}
    for line in lines:
        day = min((day for day in line.days if day > max(last, asked.days[-1])), default=None)
        if day is None or not line.values.isdisjoint(existing):
            continue
        if not all(_extract_unit(value) == _extract_unit(atom.value) for value in line.values):
            continue
        if any(
            _is_other(line, source, own) and _is_same_thing(asked, line, source)
            for source in telling
        ):
            yield AnswerChange(day, atom.shown, " ".join(normalise_text(line.said.text).split()))


def _is_other(line: _ValueLine, source: _ValueLine, own: frozenset[str]) -> bool:
    """Whether a line gives other values for the same thing as the source line."""
    if line.said.session != source.said.session or len(line.values) != len(source.values):
        return False
    if not line.values.isdisjoint(source.values):
        return False
    both = line.label & source.label
    shorter = min(len(line.label), len(source.label))
    return (
        len(both & own) >= _LABEL
        and len(both) >= _WITHIN * shorter
        and measure_likeness(line.label, source.label) >= _ALIKE
    )


def _is_same_thing(asked: LintQuestion, line: _ValueLine, source: _ValueLine) -> bool:
    """Whether a line has the question's codes and the source line's people.

    Similar things are described in the same words: each culture has its viability.
    """
    text = normalise_text(asked.item.text)
    codes = {atom.core for atom in find_text_values(text) if atom.kind == CODE}
    here = {
        atom.core
        for atom in find_text_values(normalise_text(f"{line.said.under} {line.said.text}"))
    }
    names = collect_topics(" ".join(atom.value for atom in find_claims(text) if atom.kind == NAME))
    return codes <= here and names & source.said.topics <= line.said.topics


def _extract_unit(value: str) -> str:
    """The unit of a value: its words without digits."""
    return " ".join(word for word in value.split() if not word[0].isdigit())
