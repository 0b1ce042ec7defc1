"""A portrait of a persona dataset: any in the public format, however it was made."""

from pathlib import Path

from recall_bench.core.record import Record
from recall_bench.datasets.days import runs
from recall_bench.datasets.fields import raise_noted
from recall_bench.datasets.layout import Layout
from recall_bench.lint.corpus import Corpus, read_corpus
from recall_bench.portrait.asking import Questions, questions_of
from recall_bench.portrait.figures import Spread, spread
from recall_bench.portrait.prose import Prose, prose_of
from recall_bench.portrait.threads import Threads, threads_of


class Calendar(Record, frozen=True, kw_only=True):
    """Which days are told, and in how many sessions."""

    days: int
    """With a file."""
    last_day: int
    missing: int
    """Days up to the last one that have no file."""
    longest_gap: int
    sessions_a_day: Spread | None
    by_sessions: dict[int, int]
    """How many days have a heading for so many sessions."""


class Portrait(Record, frozen=True, kw_only=True):
    """What a story is like, in numbers."""

    persona: str
    arcs: str
    problems: int
    """Faults in the files; what they concern is left out of every number."""
    calendar: Calendar
    prose: Prose
    threads: Threads | None
    """None where no lexicon says how threads are called."""
    questions: Questions


def portray(folder: Path, arcs: str) -> Portrait:
    """The portrait of one story; UsageError if it has no days or no questions on file."""
    raise_noted(list(Layout(folder, arcs).missing()))
    corpus = read_corpus(folder, arcs)
    return Portrait(
        persona=corpus.layout.id,
        arcs=arcs,
        problems=len(corpus.inspection.problems),
        calendar=_calendar(corpus),
        prose=prose_of(corpus),
        threads=threads_of(corpus),
        questions=questions_of(corpus),
    )


def _calendar(corpus: Corpus) -> Calendar:
    told = {day.number for day in corpus.days}
    last = max(told, default=0)
    missing = [day for day in range(1, last) if day not in told]
    sessions = [len(set(day.headed)) for day in corpus.days]
    return Calendar(
        days=len(told),
        last_day=last,
        missing=len(missing),
        longest_gap=max((end - start + 1 for start, end in runs(missing)), default=0),
        sessions_a_day=spread(sessions),
        by_sessions={count: sessions.count(count) for count in sorted(set(sessions))},
    )
