"""Whether the dates of days, questions and answers agree with each other."""

import re
from collections.abc import Iterator
from datetime import date

from recall_bench.lint.asked import LintQuestion
from recall_bench.lint.atoms import DATE, TextValue, find_values, locate_values
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.finding import Lint, Remark, Severity
from recall_bench.lint.words import normalise_text

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WEEKDAY = (
    r"(Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:r(?:s(?:day)?)?)?|Fri(?:day)?"
    r"|Sat(?:urday)?|Sun(?:day)?)\b\.?"
)
_BEFORE = re.compile(rf"\b{_WEEKDAY},?\s\Z")
_AFTER = re.compile(rf"\s\({_WEEKDAY}\)")


def _check_shifts(corpus: LintCorpus) -> Iterator[Remark]:
    for shift in corpus.calendar.shifts if corpus.calendar else ():
        yield corpus.note_days(str(shift))


def _check_dates(corpus: LintCorpus) -> Iterator[Remark]:
    """Dates that only the story's calendar gives, where the text has another for that day."""
    for asked in corpus.questions:
        for part, text in (("question", asked.item.text), ("answer", asked.reference)):
            found = next(_find_metadata_dates(corpus, asked, text), None)
            if found is not None:
                atom, day = found
                yield corpus.note_question(
                    asked,
                    f"the {part} says {atom.shown}, but by the text day {day} is "
                    f"{corpus.text_dates[day]}, and no relevant day says {atom.shown}; "
                    "use the text's date",
                )
                break


def _find_metadata_dates(
    corpus: LintCorpus, asked: LintQuestion, text: str
) -> Iterator[tuple[TextValue, int]]:
    for atom in find_values(normalise_text(text)):
        for day in asked.days if atom.kind == DATE else ():
            meant = corpus.find_date(day)
            if (
                meant != corpus.text_dates[day]
                and atom.value in {meant.isoformat(), meant.isoformat()[5:]}
                and not any(_is_date_in_day(corpus, each, atom) for each in asked.days)
            ):
                yield atom, day


def _is_date_in_day(corpus: LintCorpus, day: int, atom: TextValue) -> bool:
    own = corpus.text_dates[day].isoformat()
    if own == atom.value or own[5:] == atom.value:
        return True
    return atom.core in corpus.by_number[day].dates


def _check_weekdays(corpus: LintCorpus) -> Iterator[Remark]:
    for asked in corpus.questions:
        for text in (asked.item.text, asked.reference):
            level = normalise_text(text)
            for start, end, atom in locate_values(level):
                if atom.kind != DATE:
                    continue
                named = _BEFORE.search(level, 0, start) or _AFTER.match(level, end)
                right = _find_weekday(corpus, atom)
                if named and right and not right.startswith(named[1][:3]):
                    yield corpus.note_question(
                        asked,
                        f"{atom.shown} is a {right} and not a {named[1]}; correct one of them",
                    )


def _find_weekday(corpus: LintCorpus, atom: TextValue) -> str | None:
    """The weekday of a date; of one without a year if the story is within one."""
    years = {
        corpus.find_date(day.number).year for day in corpus.days[:: max(1, len(corpus.days) - 1)]
    }
    if atom.value == atom.core and len(years) != 1:
        return None
    whole = atom.value if atom.value != atom.core else f"{min(years)}-{atom.core}"
    try:
        return _WEEKDAYS[date.fromisoformat(whole).weekday()]
    except ValueError:
        return None


DATE_LINTS = (
    Lint(
        code="calendar-shift",
        severity=Severity.WARNING,
        summary="The date a day's text gives is the one the story's epoch gives it.",
        check=_check_shifts,
    ),
    Lint(
        code="misdated",
        severity=Severity.ERROR,
        summary="A date in a question or an answer is one the text uses for that day.",
        check=_check_dates,
    ),
    Lint(
        code="wrong-weekday",
        severity=Severity.ERROR,
        summary="A weekday beside a date in a question or an answer is that date's.",
        check=_check_weekdays,
    ),
)
