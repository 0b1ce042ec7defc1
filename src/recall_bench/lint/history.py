"""Whether the days are days: told anew, of a sane size, and filed under their sessions."""

from collections import deque
from collections.abc import Iterator
from statistics import median

from recall_bench.datasets.days import format_days
from recall_bench.lint.corpus import LintCorpus
from recall_bench.lint.day import DayLog
from recall_bench.lint.finding import Lint, Remark, Severity

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
