"""Whether the dates of days, questions and answers agree with each other."""

import re
from collections.abc import Iterator
from datetime import date

from recall_bench.lint.asked import Asked
from recall_bench.lint.atoms import DATE, Atom, placed_values, values
from recall_bench.lint.corpus import Corpus
from recall_bench.lint.finding import Lint, Remark, Severity
from recall_bench.lint.words import plain

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WEEKDAY = (
    r"(Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:r(?:s(?:day)?)?)?|Fri(?:day)?"
    r"|Sat(?:urday)?|Sun(?:day)?)\b\.?"
)
_BEFORE = re.compile(rf"\b{_WEEKDAY},?\s\Z")
_AFTER = re.compile(rf"\s\({_WEEKDAY}\)")


def _shifts(corpus: Corpus) -> Iterator[Remark]:
    for shift in corpus.calendar.shifts if corpus.calendar else ():
        yield corpus.of_days(str(shift))


def _misdated(corpus: Corpus) -> Iterator[Remark]:
    """Dates that only the story's calendar gives, where the text has another for that day."""
    for asked in corpus.questions:
        for part, text in (("question", asked.item.text), ("answer", asked.reference)):
            found = next(_only_in_metadata(corpus, asked, text), None)
            if found is not None:
                atom, day = found
                yield corpus.of_question(
                    asked,
                    f"the {part} says {atom.shown}, but by the text day {day} is "
                    f"{corpus.text_dates[day]}, and no relevant day says {atom.shown}; "
                    "use the text's date",
                )
                break


def _only_in_metadata(corpus: Corpus, asked: Asked, text: str) -> Iterator[tuple[Atom, int]]:
    for atom in values(plain(text)):
        for day in asked.days if atom.kind == DATE else ():
            meant = corpus.date_of(day)
            if (
                meant != corpus.text_dates[day]
                and atom.value in {meant.isoformat(), meant.isoformat()[5:]}
                and not any(_says(corpus, each, atom) for each in asked.days)
            ):
                yield atom, day


def _says(corpus: Corpus, day: int, atom: Atom) -> bool:
    own = corpus.text_dates[day].isoformat()
    if own == atom.value or own[5:] == atom.value:
        return True
    return atom.core in corpus.by_number[day].dates


def _wrong_weekdays(corpus: Corpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        for text in (asked.item.text, asked.reference):
            level = plain(text)
            for start, end, atom in placed_values(level):
                if atom.kind != DATE:
                    continue
                named = _BEFORE.search(level, 0, start) or _AFTER.match(level, end)
                right = _weekday(corpus, atom)
                if named and right and not right.startswith(named[1][:3]):
                    yield corpus.of_question(
                        asked,
                        f"{atom.shown} is a {right} and not a {named[1]}; correct one of them",
                    )


def _weekday(corpus: Corpus, atom: Atom) -> str | None:
    """The weekday of a date; of one without a year if the story is within one."""
    years = {
        corpus.date_of(day.number).year for day in corpus.days[:: max(1, len(corpus.days) - 1)]
    }
    if atom.value == atom.core and len(years) != 1:
        return None
    whole = atom.value if atom.value != atom.core else f"{min(years)}-{atom.core}"
    try:
        return _WEEKDAYS[date.fromisoformat(whole).weekday()]
    except ValueError:
        return None


LINTS = (
    Lint(
        code="calendar-shift",
        severity=Severity.WARNING,
        summary="The date a day's text gives is the one the story's epoch gives it.",
        check=_shifts,
    ),
    Lint(
        code="misdated",
        severity=Severity.ERROR,
        summary="A date in a question or an answer is one the text uses for that day.",
        check=_misdated,
    ),
    Lint(
        code="wrong-weekday",
        severity=Severity.ERROR,
        summary="A weekday beside a date in a question or an answer is that date's.",
        check=_wrong_weekdays,
    ),
)
