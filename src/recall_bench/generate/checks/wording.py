"""Whether a question can be understood by somebody who was there: beyond what the lints look for.

Day numbers are the benchmark's own, and the one vague thing that can be put right without
judgement: each is a date.
"""

import re
from collections.abc import Iterator
from datetime import date

from recall_bench.generate.checks.checker import ProblemKind, QuestionProblem
from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.atoms import find_claims
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.wording import is_dated

_MIN_TOPICS = 2
"""Words with content that a question needs to be about something."""
_NUMBER = r"#?(\d{1,5})(?![.,]*\d)"
_TO = r"\s?(?:[-–]|to|through|until)\s?(?:day\s)?"
_AND = r"\s?(?:,? and|,? or|,)\s?(?:days?\s)?"
_DAYS = re.compile(
    rf"(?<!\d[ -])\bdays?[ \u00a0]{_NUMBER}(?:(?:{_TO}|{_AND}){_NUMBER})*(?P<of>\sof\b)?",
    re.IGNORECASE,
)
"""With `of` after it, it counts the days of something."""
_EACH = re.compile(rf"(?:days?[ \u00a0])?{_NUMBER}", re.IGNORECASE)
_ISO = r"\d{4}-\d\d-\d\d"
_DASH = re.compile(rf"(?<=\d)\s?[-–]\s?(?={_ISO})")
_SPAN = re.compile(
    rf"\b(?P<word>on|in|during|throughout|across|over|within) (?P<first>{_ISO}) "
    rf"(?:to|through) (?P<last>{_ISO})",
    re.IGNORECASE,
)
"""A stretch of days as it reads once its numbers are dates."""


def check_anchor(asked: LintQuestion) -> Iterator[QuestionProblem]:
    """A question that names next to nothing: no date, no value, no name."""
    text = asked.item.text
    if len(asked.topics) < _MIN_TOPICS and not is_dated(text) and not find_claims(text):
        yield QuestionProblem(
            kind=ProblemKind.VAGUENESS,
            message="it names nothing by which somebody could tell what is meant; "
            "name the person, the thing or the date",
        )


def is_numbering_days(text: str) -> bool:
    """Whether a text says of when it speaks by the numbers of days."""
    return _DAYS.search(text) is not None


def replace_day_numbers(corpus: LintCorpus, text: str) -> str | None:
    """The text with every day number replaced by that day's date; None if one is no day."""
    is_whole = True

    def replace_day(match: re.Match[str]) -> str:
        nonlocal is_whole
        at = _find_date(corpus, int(match[1]))
        is_whole = is_whole and at is not None
        return match[0] if at is None else at.isoformat()

    def replace_days(match: re.Match[str]) -> str:
        nonlocal is_whole
        is_whole = is_whole and not match["of"]
        return _DASH.sub(" to ", _EACH.sub(replace_day, match[0]))

    found = _DAYS.sub(replace_days, text)
    return _SPAN.sub(_format_span, found) if is_whole and found != text else None


def _format_span(match: re.Match[str]) -> str:
    start = "From" if match["word"][0].isupper() else "from"
    return f"{start} {match['first']} to {match['last']}"


def _find_date(corpus: LintCorpus, day: int) -> date | None:
    """The date by the day's own text, which is what its readers know."""
    return corpus.text_dates.get(day)
