"""Lints of the files and the days: format, repetition, sizes, sessions, corrections and dates."""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from statistics import median

from recall_bench.stories.lint.lint_corpus import LintCorpus, LintFinding, LintGroup, Severity
from recall_bench.stories.lint.value_index import DayLog, LintQuestion, SentenceMention
from recall_bench.stories.persona_files import format_days
from recall_bench.stories.persona_story import Arc
from recall_bench.text.text_values import (
    DATE,
    TextValue,
    collect_topics,
    find_claims,
    find_text_values,
    locate_text_values,
    normalise_text,
    remove_values,
)
from recall_bench.text.value_patterns import WEEKDAY_PATTERN, WEEKDAYS

FILE_LINTS = LintGroup()
HISTORY_LINTS = LintGroup()
CORRECTION_LINTS = LintGroup()
DATE_LINTS = LintGroup()

_PLACED = re.compile(r"(?P<file>[^:\n]+?)(?:, line (?P<line>\d+))?: (?P<message>.+)", re.DOTALL)
_QUESTION = re.compile(r"\bquestion (?!number\b)(\S+)")


@FILE_LINTS.add_check("format-problem", Severity.ERROR, "A run would accept the files.")
def _check_problems(corpus: LintCorpus) -> Iterator[LintFinding]:
    for problem in corpus.inspection.problems:
        yield _parse_remark(corpus, str(problem))


@FILE_LINTS.add_check(
    "format-warning", Severity.WARNING, "A run would accept the files without a warning."
)
def _check_warnings(corpus: LintCorpus) -> Iterator[LintFinding]:
    shifts = corpus.inspection.calendar.shifts if corpus.inspection.calendar else ()
    said_elsewhere = {f"{corpus.days_name}, {shift}" for shift in shifts}
    for warning in corpus.inspection.warnings:
        if warning not in said_elsewhere:
            yield _parse_remark(corpus, warning)


def _parse_remark(corpus: LintCorpus, sentence: str) -> LintFinding:
    """Split a message into its file, line and text."""
    placed = _PLACED.fullmatch(sentence)
    if placed is None or not placed["file"].startswith(f"{corpus.layout.id}/"):
        return LintFinding(message=sentence, file=corpus.layout.id)
    named = _QUESTION.search(placed["message"])
    return LintFinding(
        message=placed["message"],
        file=placed["file"],
        line=int(placed["line"]) if placed["line"] else None,
        question=named[1].rstrip(",;:") if named else None,
    )


_LONG = 6
"""Sentences of fewer words repeat in any log."""
_NEW = 0.85
"""The share of long sentences that should be new on their day."""
_COPIED = 0.8
"""Share of long sentences from one earlier day that makes a day a copy of it."""
_FEWEST = 5
"""The fewest long sentences for a meaningful share."""
_REACH = 60
"""How many days back the original of a copy is searched."""
_THIN = 40
_HUGE = 200_000
_TIMES_USUAL = 10


def count_new_sentences(corpus: LintCorpus) -> tuple[int, int]:
    """Count the sentences of six words or more that are new on their day, and all of them."""
    earlier: set[str] = set()
    new = total = 0
    for day in corpus.days:
        sentences = _list_long_sentences(day)
        total += len(sentences)
        new += sum(sentence not in earlier for sentence in sentences)
        earlier.update(sentences)
    return new, total


def _list_long_sentences(day: DayLog) -> list[str]:
    return [s.text for s in day.sentences if len(s.text.split()) >= _LONG]


@HISTORY_LINTS.add_check(
    "repeated-sentences",
    Severity.WARNING,
    f"At least {_NEW:.0%} of the sentences of six words or more are new on their day.",
)
def _check_repetition(corpus: LintCorpus) -> Iterator[LintFinding]:
    new, total = count_new_sentences(corpus)
    if total and new < _NEW * total:
        yield corpus.note_days(
            f"{new:,} of {total:,} sentences of six words or more ({new / total:.0%}) are new when "
            f"they occur, the others are in an earlier day word for word; {_NEW:.0%} should be"
        )


@HISTORY_LINTS.add_check(
    "copied-day",
    Severity.WARNING,
    f"No day shares {_COPIED:.0%} of its longer sentences with one of the {_REACH} days before it.",
)
def _check_copies(corpus: LintCorpus) -> Iterator[LintFinding]:
    recent: deque[tuple[int, frozenset[str]]] = deque(maxlen=_REACH)
    for day in corpus.days:
        sentences = frozenset(_list_long_sentences(day))
        model, shared = max(
            ((number, len(sentences & other)) for number, other in recent),
            key=lambda pair: pair[1],
            default=(0, 0),
        )
        if len(sentences) >= _FEWEST and shared >= _COPIED * len(sentences):
            yield corpus.note_day(
                day,
                f"{shared} of its {len(sentences)} longer sentences are those of day {model}; "
                "write what was different",
            )
        recent.append((day.number, sentences))


@HISTORY_LINTS.add_check(
    "day-size", Severity.WARNING, "A day's file holds neither next to nothing nor a book."
)
def _check_sizes(corpus: LintCorpus) -> Iterator[LintFinding]:
    usual = median([len(day.body) for day in corpus.days]) if corpus.days else 0
    for day in corpus.days:
        size = sum(len(part.strip()) for _, part in day.split_sessions())
        if size < _THIN:
            yield corpus.note_day(
                day, f"it has {size} characters; write more, or leave the day out"
            )
        elif size > _HUGE or (size > _TIMES_USUAL * usual and size > _HUGE / _TIMES_USUAL):
            yield corpus.note_day(
                day, f"it has {size:,} characters where {usual:,.0f} are usual; shorten it"
            )


@HISTORY_LINTS.add_check(
    "no-session-heading",
    Severity.WARNING,
    "Every day has session headings, if the persona has sessions.",
)
def _check_headings(corpus: LintCorpus) -> Iterator[LintFinding]:
    if not corpus.sessions:
        return
    bare = [day for day in corpus.days if not day.session_headings]
    if bare and len(bare) == len(corpus.days):
        yield corpus.note_days(
            "no day has a `# session:` heading although the persona has sessions; add them"
        )
        return
    for day in bare:
        yield corpus.note_day(
            day, "it has no `# session:` heading although the persona has sessions; add one"
        )


@HISTORY_LINTS.add_check(
    "session-undeclared",
    Severity.WARNING,
    "Days have only sessions that the persona declares, and only while they are open.",
)
def _check_sessions(corpus: LintCorpus) -> Iterator[LintFinding]:
    declared = {session.id: session for session in corpus.sessions}
    strange: dict[str, list[int]] = {}
    closed: dict[str, list[int]] = {}
    for day in corpus.days if declared else ():
        for name in dict.fromkeys(day.session_headings):
            session = declared.get(name)
            if session is None:
                strange.setdefault(name, []).append(day.number)
            elif not (session.first_day or 1) <= day.number <= (session.last_day or day.number):
                closed.setdefault(name, []).append(day.number)
    for name, days in strange.items():
        yield corpus.note_days(
            f"{format_days(days)} have a session {name}, which the persona does not declare; add it"
        )
    for name, days in closed.items():
        yield corpus.note_days(
            f"{format_days(days)} have the session {name} outside its firstDay and lastDay; "
            "correct the one or the others"
        )


_SUPERSEDED = re.compile(
    r"\b(?:no longer|previous(?:ly)?|former(?:ly)?|replac\w+|old|earlier|initial(?:ly)?"
    r"|original(?:ly)?|supersed\w+|stale|outdated|prior|revis\w+|correct(?:ed|ion|s)|wrong(?:ly)?"
    r"|mistak\w+|historic\w*|retired?|used to)\b",
    re.IGNORECASE,
)
"""Words that mark the content of a sentence as past."""
_DISMISSED = re.compile(
    r"\b(?:from|instead of|not|rather than|until)\s(?:\S+\s){0,2}\Z", re.IGNORECASE
)
"""Words that mark the following value as past."""


@dataclass(frozen=True)
class CorrectionArc:
    """An arc that corrects a belief, and the values in which the two beliefs differ."""

    arc: Arc
    day: int
    wrong: tuple[TextValue, ...]
    right: tuple[TextValue, ...]
    about: frozenset[str]
    """Stems of the topic that is corrected."""

    def find_mentions(
        self, corpus: LintCorpus, values: tuple[TextValue, ...]
    ) -> Iterator[tuple[TextValue, SentenceMention]]:
        """Yield the sentences with one of the values on the same topic."""
        for value in values:
            for mention in corpus.index.find_mentions(value):
                if self.about & mention.topics:
                    yield value, mention


def read_correction(arc: Arc) -> CorrectionArc | None:
    """Return what an arc corrects; None if it lacks a belief or the day of the correction."""
    if arc.corrected_day is None or not arc.wrong_belief or not arc.corrected_belief:
        return None
    wrong = [value for value in find_claims(arc.wrong_belief) if value.is_exact]
    right = [value for value in find_claims(arc.corrected_belief) if value.is_exact]
    both = {value.value for value in wrong} & {value.value for value in right}
    return CorrectionArc(
        arc=arc,
        day=arc.corrected_day,
        wrong=tuple(value for value in wrong if value.value not in both),
        right=tuple(value for value in right if value.value not in both),
        about=_find_shared_topics(arc),
    )


def list_corrections(corpus: LintCorpus) -> Iterator[CorrectionArc]:
    """Yield every correction of the story up to its last day."""
    for arc in corpus.story.arcs if corpus.story and corpus.days else ():
        correction = read_correction(arc)
        if correction is not None and correction.day <= corpus.days[-1].number:
            yield correction


def _find_shared_topics(arc: Arc) -> frozenset[str]:
    """Return the topics of both beliefs, or else of either and the title."""
    beliefs = (arc.wrong_belief or "", arc.corrected_belief or "")
    wrong, right = (collect_topics(remove_values(belief)) for belief in beliefs)
    return wrong & right or (wrong | right) & collect_topics(arc.title)


@CORRECTION_LINTS.add_check(
    "correction-early",
    Severity.ERROR,
    "A corrected value is not in the text before its correctedDay: until then the "
    "wrong one is the right answer.",
)
def _check_early_values(corpus: LintCorpus) -> Iterator[LintFinding]:
    for correction in list_corrections(corpus):
        for value in correction.right:
            days = _list_days(correction.find_mentions(corpus, (value,)))
            if before := [day for day in days if day < correction.day]:
                yield corpus.note_arc(
                    correction.arc,
                    f"{value.shown} is stated on {_format_day_list(before)}, though "
                    f"{correction.arc.id} introduces it on day {correction.day}; remove it there, "
                    "or move correctedDay",
                )


@CORRECTION_LINTS.add_check(
    "correction-lingering",
    Severity.WARNING,
    "After its correctedDay a wrong value is named only as superseded.",
)
def _check_lingering_values(corpus: LintCorpus) -> Iterator[LintFinding]:
    for correction in list_corrections(corpus):
        for value in correction.wrong:
            after = _list_days(
                (wrong, mention)
                for wrong, mention in correction.find_mentions(corpus, (value,))
                if mention.day > correction.day and not is_superseded(value, mention)
            )
            if after:
                yield corpus.note_arc(
                    correction.arc,
                    f"{value.shown} is stated as if it held on {_format_day_list(after)}, after "
                    f"{correction.arc.id} corrected it on day {correction.day}; "
                    "mark it as superseded there",
                )


@CORRECTION_LINTS.add_check(
    "correction-unheard",
    Severity.ERROR,
    "The wrong value is stated before the correctedDay and the corrected one from then on.",
)
def _check_missing_values(corpus: LintCorpus) -> Iterator[LintFinding]:
    for correction in list_corrections(corpus):
        days = _list_days(correction.find_mentions(corpus, correction.right))
        if correction.right and not any(day >= correction.day for day in days):
            names = ", ".join(value.shown for value in correction.right)
            yield corpus.note_arc(
                correction.arc,
                f"{names} is stated on no day from day {correction.day} on, when "
                f"{correction.arc.id} introduces it; state it on that day",
            )
        earlier = _list_days(correction.find_mentions(corpus, correction.wrong))
        if correction.wrong and not any(day < correction.day for day in earlier):
            names = ", ".join(value.shown for value in correction.wrong)
            yield corpus.note_arc(
                correction.arc,
                f"{names} is stated on no day before day {correction.day}, when "
                f"{correction.arc.id} corrects it; state it on an earlier day",
            )


def is_superseded(value: TextValue, mention: SentenceMention) -> bool:
    """Whether a sentence marks a value as no longer valid."""
    text = normalise_text(mention.text)
    if _SUPERSEDED.search(text) or _SUPERSEDED.search(mention.under):
        return True
    return all(
        _DISMISSED.search(text[:start])
        for start, _, candidate in locate_text_values(text)
        if (candidate.kind, candidate.core) == (value.kind, value.core)
    )


def _list_days(found: Iterator[tuple[TextValue, SentenceMention]]) -> list[int]:
    return sorted({mention.day for _, mention in found})


def _format_day_list(days: list[int]) -> str:
    return format_days(days) if len(days) <= 4 else f"{len(days)} days from day {days[0]} on"


_WEEKDAY = rf"({WEEKDAY_PATTERN})\b\.?"
_BEFORE = re.compile(rf"\b{_WEEKDAY},?\s\Z")
_AFTER = re.compile(rf"\s\({_WEEKDAY}\)")


@DATE_LINTS.add_check(
    "calendar-shift",
    Severity.WARNING,
    "The date a day's text gives is the one the story's epoch gives it.",
)
def _check_shifts(corpus: LintCorpus) -> Iterator[LintFinding]:
    for shift in corpus.calendar.shifts if corpus.calendar else ():
        yield corpus.note_days(str(shift))


@DATE_LINTS.add_check(
    "misdated",
    Severity.ERROR,
    "A date in a question or an answer is one the text uses for that day.",
)
def _check_dates(corpus: LintCorpus) -> Iterator[LintFinding]:
    """Check for dates of the story's calendar where the text has another date for that day."""
    for question in corpus.questions:
        for part, text in (("question", question.item.text), ("answer", question.reference)):
            misdated = next(_find_metadata_dates(corpus, question, text), None)
            if misdated is not None:
                value, day = misdated
                yield corpus.note_question(
                    question,
                    f"the {part} says {value.shown}, but by the text day {day} is "
                    f"{corpus.text_dates[day]}, and no relevant day says {value.shown}; "
                    "use the text's date",
                )
                break


def _find_metadata_dates(
    corpus: LintCorpus, question: LintQuestion, text: str
) -> Iterator[tuple[TextValue, int]]:
    for value in find_text_values(normalise_text(text)):
        for day in question.days if value.kind == DATE else ():
            meant = corpus.find_date(day)
            if (
                meant != corpus.text_dates[day]
                and value.value in {meant.isoformat(), meant.isoformat()[5:]}
                and not any(
                    _is_date_in_day(corpus, relevant_day, value) for relevant_day in question.days
                )
            ):
                yield value, day


def _is_date_in_day(corpus: LintCorpus, day: int, value: TextValue) -> bool:
    own = corpus.text_dates[day].isoformat()
    if own == value.value or own[5:] == value.value:
        return True
    return value.core in corpus.by_number[day].dates


@DATE_LINTS.add_check(
    "wrong-weekday",
    Severity.ERROR,
    "A weekday beside a date in a question or an answer is that date's.",
)
def _check_weekdays(corpus: LintCorpus) -> Iterator[LintFinding]:
    for question in corpus.questions:
        for text in (question.item.text, question.reference):
            level = normalise_text(text)
            for start, end, value in locate_text_values(level):
                if value.kind != DATE:
                    continue
                named = _BEFORE.search(level, 0, start) or _AFTER.match(level, end)
                right = _find_weekday(corpus, value)
                if named and right and not right.startswith(named[1][:3]):
                    yield corpus.note_question(
                        question,
                        f"{value.shown} is a {right} and not a {named[1]}; correct one of them",
                    )


def _find_weekday(corpus: LintCorpus, value: TextValue) -> str | None:
    """Return the weekday of a date; without a year, if the story is within one year."""
    years = {
        corpus.find_date(day.number).year for day in corpus.days[:: max(1, len(corpus.days) - 1)]
    }
    if value.value == value.core and len(years) != 1:
        return None
    whole = value.value if value.value != value.core else f"{min(years)}-{value.core}"
    try:
        return WEEKDAYS[date.fromisoformat(whole).weekday()]
    except ValueError:
        return None
