"""Whether a question can be understood by somebody who was there: beyond what the lints look for.

Day numbers are the benchmark's own, and the one vague thing that can be put right without
judgement: each is a date.
"""

import re
from collections.abc import Iterator
from datetime import date

from recall_bench.generate.checks.checker import Kind, Problem
from recall_bench.lint.asked import Asked
from recall_bench.lint.atoms import atoms
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.wording import is_dated

_FEWEST = 2
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


def unanchored(asked: Asked) -> Iterator[Problem]:
    """A question that names next to nothing: no date, no value, no name."""
    text = asked.item.text
    if len(asked.topics) < _FEWEST and not is_dated(text) and not atoms(text):
        yield Problem(
            kind=Kind.VAGUENESS,
            message="it names nothing by which somebody could tell what is meant; "
            "name the person, the thing or the date",
        )


def numbers_days(text: str) -> bool:
    """Whether a text says of when it speaks by the numbers of days."""
    return _DAYS.search(text) is not None


def dated(corpus: Corpus, text: str) -> str | None:
    """The text with every day number replaced by that day's date; None if one is no day."""
    is_whole = True

    def day(match: re.Match[str]) -> str:
        nonlocal is_whole
        at = _date(corpus, int(match[1]))
        is_whole = is_whole and at is not None
        return match[0] if at is None else at.isoformat()

    def several(match: re.Match[str]) -> str:
        nonlocal is_whole
        is_whole = is_whole and not match["of"]
        return _DASH.sub(" to ", _EACH.sub(day, match[0]))

    found = _DAYS.sub(several, text)
    return _SPAN.sub(_from_to, found) if is_whole and found != text else None


def _from_to(match: re.Match[str]) -> str:
    start = "From" if match["word"][0].isupper() else "from"
    return f"{start} {match['first']} to {match['last']}"


def _date(corpus: Corpus, day: int) -> date | None:
    """The date by the day's own text, which is what its readers know."""
    return corpus.text_dates.get(day)
