"""What a run would refuse or warn about: everything the public format asks of the files."""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from statistics import median

from recall_bench.core.text_values import (
    DATE,
    TextValue,
    collect_topics,
    find_claims,
    find_values,
    locate_values,
    normalise_text,
    remove_values,
)
from recall_bench.core.value_patterns import WEEKDAY_PATTERN, WEEKDAYS
from recall_bench.datasets.lint.lint_corpus import Lint, LintCorpus, Remark, Severity
from recall_bench.datasets.lint.value_index import DayLog, LintQuestion, SentenceMention
from recall_bench.datasets.persona_files import format_days
from recall_bench.datasets.persona_story import Arc

_PLACED = re.compile(r"(?P<file>[^:\n]+?)(?:, line (?P<line>\d+))?: (?P<message>.+)", re.DOTALL)
_QUESTION = re.compile(r"\bquestion (?!number\b)(\S+)")


def _check_problems(corpus: LintCorpus) -> Iterator[Remark]:
    for problem in corpus.inspection.problems:
        yield _parse_remark(corpus, str(problem))


def _check_warnings(corpus: LintCorpus) -> Iterator[Remark]:
    shifts = corpus.inspection.calendar.shifts if corpus.inspection.calendar else ()
    said_elsewhere = {f"{corpus.days_name}, {shift}" for shift in shifts}
    for warning in corpus.inspection.warnings:
        if warning not in said_elsewhere:
            yield _parse_remark(corpus, warning)


def _parse_remark(corpus: LintCorpus, sentence: str) -> Remark:
    """The sentence, its file and line taken apart where it opens with them."""
    placed = _PLACED.fullmatch(sentence)
    if placed is None or not placed["file"].startswith(f"{corpus.layout.id}/"):
        return Remark(message=sentence, file=corpus.layout.id)
    named = _QUESTION.search(placed["message"])
    return Remark(
        message=placed["message"],
        file=placed["file"],
        line=int(placed["line"]) if placed["line"] else None,
        question=named[1].rstrip(",;:") if named else None,
    )


FILE_LINTS = (
    Lint(
        code="format-problem",
        severity=Severity.ERROR,
        summary="A run would accept the files.",
        check=_check_problems,
    ),
    Lint(
        code="format-warning",
        severity=Severity.WARNING,
        summary="A run would accept the files without a word.",
        check=_check_warnings,
    ),
)


_LONG = 6
"""Sentences of fewer words repeat in any log."""
_NEW = 0.85
"""The share of long sentences that should be new when they are told."""
_COPIED = 0.8
"""A day with so many of its long sentences from one earlier day is a copy of it."""
_FEWEST = 5
"""Long sentences a day must have for its share to mean anything."""
_REACH = 60
"""How many days back a day's model is looked for."""
_THIN = 40
_HUGE = 200_000
_TIMES_USUAL = 10


def count_new_sentences(corpus: LintCorpus) -> tuple[int, int]:
    """How many sentences of six words or more are new on their day, and how many there are."""
    seen: set[str] = set()
    new = total = 0
    for day in corpus.days:
        told = _list_long_sentences(day)
        total += len(told)
        new += sum(sentence not in seen for sentence in told)
        seen.update(told)
    return new, total


def _list_long_sentences(day: DayLog) -> list[str]:
    return [s.text for s in day.sentences if len(s.text.split()) >= _LONG]


def _check_repetition(corpus: LintCorpus) -> Iterator[Remark]:
    new, total = count_new_sentences(corpus)
    if total and new < _NEW * total:
        yield corpus.note_days(
            f"{new:,} of {total:,} sentences of six words or more ({new / total:.0%}) are new when "
            f"they are told, the others are in an earlier day word for word; {_NEW:.0%} should be"
        )


def _check_copies(corpus: LintCorpus) -> Iterator[Remark]:
    recent: deque[tuple[int, frozenset[str]]] = deque(maxlen=_REACH)
    for day in corpus.days:
        told = frozenset(_list_long_sentences(day))
        model, shared = max(
            ((number, len(told & other)) for number, other in recent),
            key=lambda pair: pair[1],
            default=(0, 0),
        )
        if len(told) >= _FEWEST and shared >= _COPIED * len(told):
            yield corpus.note_day(
                day,
                f"{shared} of its {len(told)} longer sentences are those of day {model}; "
                "tell what was different",
            )
        recent.append((day.number, told))


def _check_sizes(corpus: LintCorpus) -> Iterator[Remark]:
    usual = median([len(day.body) for day in corpus.days]) if corpus.days else 0
    for day in corpus.days:
        size = sum(len(part.strip()) for _, part in day.split_sessions())
        if size < _THIN:
            yield corpus.note_day(
                day, f"it tells {size} characters; tell something, or leave the day out"
            )
        elif size > _HUGE or (size > _TIMES_USUAL * usual and size > _HUGE / _TIMES_USUAL):
            yield corpus.note_day(
                day, f"it tells {size:,} characters where {usual:,.0f} are usual; shorten it"
            )


def _check_headings(corpus: LintCorpus) -> Iterator[Remark]:
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


def _check_sessions(corpus: LintCorpus) -> Iterator[Remark]:
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
            f"{format_days(days)} tell of a session {name}, which the persona does not declare; add it"
        )
    for name, days in closed.items():
        yield corpus.note_days(
            f"{format_days(days)} tell of the session {name} outside its firstDay and lastDay; "
            "correct the one or the others"
        )


HISTORY_LINTS = (
    Lint(
        code="repeated-sentences",
        severity=Severity.WARNING,
        summary=f"At least {_NEW:.0%} of the sentences of six words or more are new on their day.",
        check=_check_repetition,
    ),
    Lint(
        code="copied-day",
        severity=Severity.WARNING,
        summary=f"No day shares {_COPIED:.0%} of its longer sentences with one of the {_REACH} "
        "days before it.",
        check=_check_copies,
    ),
    Lint(
        code="day-size",
        severity=Severity.WARNING,
        summary="A day's file holds neither next to nothing nor a book.",
        check=_check_sizes,
    ),
    Lint(
        code="no-session-heading",
        severity=Severity.WARNING,
        summary="Every day says in which session things were said, if the persona has sessions.",
        check=_check_headings,
    ),
    Lint(
        code="session-undeclared",
        severity=Severity.WARNING,
        summary="Days tell only of sessions the persona declares, and only while they are open.",
        check=_check_sessions,
    ),
)


_SUPERSEDED = re.compile(
    r"\b(?:no longer|previous(?:ly)?|former(?:ly)?|replac\w+|old|earlier|initial(?:ly)?"
    r"|original(?:ly)?|supersed\w+|stale|outdated|prior|revis\w+|correct(?:ed|ion|s)|wrong(?:ly)?"
    r"|mistak\w+|historic\w*|retired?|used to)\b",
    re.IGNORECASE,
)
"""Marks whatever a sentence names as past."""
_DISMISSED = re.compile(
    r"\b(?:from|instead of|not|rather than|until)\s(?:\S+\s){0,2}\Z", re.IGNORECASE
)
"""Marks the value that follows as past."""


@dataclass(frozen=True)
class CorrectionArc:
    """An arc that replaces one belief by another, and the values in which the two differ."""

    arc: Arc
    day: int
    wrong: tuple[TextValue, ...]
    right: tuple[TextValue, ...]
    about: frozenset[str]
    """The stems a sentence shares if it is about what is corrected."""

    def find_mentions(
        self, corpus: LintCorpus, several: tuple[TextValue, ...]
    ) -> Iterator[tuple[TextValue, SentenceMention]]:
        """The sentences with one of the values that are about the same thing."""
        for atom in several:
            for said in corpus.index.find_mentions(atom):
                if self.about & said.topics:
                    yield atom, said


def read_correction(arc: Arc) -> CorrectionArc | None:
    """What an arc corrects; None if it states no two beliefs and the day of the second."""
    if arc.corrected_day is None or not arc.wrong_belief or not arc.corrected_belief:
        return None
    wrong = [atom for atom in find_claims(arc.wrong_belief) if atom.is_exact]
    right = [atom for atom in find_claims(arc.corrected_belief) if atom.is_exact]
    both = {atom.value for atom in wrong} & {atom.value for atom in right}
    return CorrectionArc(
        arc=arc,
        day=arc.corrected_day,
        wrong=tuple(atom for atom in wrong if atom.value not in both),
        right=tuple(atom for atom in right if atom.value not in both),
        about=_find_shared_topics(arc),
    )


def list_corrections(corpus: LintCorpus) -> Iterator[CorrectionArc]:
    """Every correction of the story that its days have come to."""
    for arc in corpus.story.arcs if corpus.story and corpus.days else ():
        correction = read_correction(arc)
        if correction is not None and correction.day <= corpus.days[-1].number:
            yield correction


def _find_shared_topics(arc: Arc) -> frozenset[str]:
    """What both beliefs speak of, or else either and the title."""
    beliefs = (arc.wrong_belief or "", arc.corrected_belief or "")
    wrong, right = (collect_topics(remove_values(belief)) for belief in beliefs)
    return wrong & right or (wrong | right) & collect_topics(arc.title)


def _check_early_values(corpus: LintCorpus) -> Iterator[Remark]:
    for correction in list_corrections(corpus):
        for atom in correction.right:
            days = _list_days(correction.find_mentions(corpus, (atom,)))
            if before := [day for day in days if day < correction.day]:
                yield corpus.note_arc(
                    correction.arc,
                    f"{atom.shown} is stated on {_format_day_list(before)}, though {correction.arc.id} "
                    f"brings it on day {correction.day}; take it out there, or move correctedDay",
                )


def _check_lingering_values(corpus: LintCorpus) -> Iterator[Remark]:
    for correction in list_corrections(corpus):
        for atom in correction.wrong:
            after = _list_days(
                (found, said)
                for found, said in correction.find_mentions(corpus, (atom,))
                if said.day > correction.day and not is_superseded(atom, said)
            )
            if after:
                yield corpus.note_arc(
                    correction.arc,
                    f"{atom.shown} is stated as if it held on {_format_day_list(after)}, after "
                    f"{correction.arc.id} corrected it on day {correction.day}; "
                    "mark it as superseded there",
                )


def _check_missing_values(corpus: LintCorpus) -> Iterator[Remark]:
    for correction in list_corrections(corpus):
        days = _list_days(correction.find_mentions(corpus, correction.right))
        if correction.right and not any(day >= correction.day for day in days):
            names = ", ".join(atom.shown for atom in correction.right)
            yield corpus.note_arc(
                correction.arc,
                f"{names} is stated on no day from day {correction.day} on, when "
                f"{correction.arc.id} brings it; let that day say it",
            )
        told = _list_days(correction.find_mentions(corpus, correction.wrong))
        if correction.wrong and not any(day < correction.day for day in told):
            names = ", ".join(atom.shown for atom in correction.wrong)
            yield corpus.note_arc(
                correction.arc,
                f"{names} is stated on no day before day {correction.day}, when "
                f"{correction.arc.id} corrects it; let an earlier day say it",
            )


def is_superseded(atom: TextValue, said: SentenceMention) -> bool:
    """Whether a sentence names a value as one that no longer holds."""
    text = normalise_text(said.text)
    if _SUPERSEDED.search(text) or _SUPERSEDED.search(said.under):
        return True
    return all(
        _DISMISSED.search(text[:start])
        for start, _, found in locate_values(text)
        if (found.kind, found.core) == (atom.kind, atom.core)
    )


def _list_days(found: Iterator[tuple[TextValue, SentenceMention]]) -> list[int]:
    return sorted({said.day for _, said in found})


def _format_day_list(days: list[int]) -> str:
    return format_days(days) if len(days) <= 4 else f"{len(days)} days from day {days[0]} on"


CORRECTION_LINTS = (
    Lint(
        code="correction-early",
        severity=Severity.ERROR,
        summary="A corrected value is not in the text before its correctedDay: until then the "
        "wrong one is the right answer.",
        check=_check_early_values,
    ),
    Lint(
        code="correction-lingering",
        severity=Severity.WARNING,
        summary="After its correctedDay a wrong value is named only as superseded.",
        check=_check_lingering_values,
    ),
    Lint(
        code="correction-unheard",
        severity=Severity.ERROR,
        summary="The wrong value is stated before the correctedDay and the corrected one from "
        "then on.",
        check=_check_missing_values,
    ),
)


_WEEKDAY = rf"({WEEKDAY_PATTERN})\b\.?"
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
        return WEEKDAYS[date.fromisoformat(whole).weekday()]
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
