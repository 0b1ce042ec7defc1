"""A portrait of a persona dataset: any in the public format, however it was made."""

from pathlib import Path

from recall_bench.core.record import Record
from recall_bench.datasets.days import find_runs
from recall_bench.datasets.fields import raise_problems
from recall_bench.datasets.layout import Layout
from recall_bench.lint.corpus import LintCorpus, read_corpus
from recall_bench.portrait.asking import QuestionStatistics, compute_question_statistics
from recall_bench.portrait.figures import NumberSpread, compute_spread
from recall_bench.portrait.prose import ProseStatistics, compute_prose
from recall_bench.portrait.threads import ThreadStatistics, compute_threads


class CalendarStatistics(Record, frozen=True, kw_only=True):
    """Which days are told, and in how many sessions."""

    days: int
    """With a file."""
    last_day: int
    missing: int
    """Days up to the last one that have no file."""
    longest_gap: int
    sessions_a_day: NumberSpread | None
    by_sessions: dict[int, int]
    """How many days have a heading for so many sessions."""


class DatasetStatistics(Record, frozen=True, kw_only=True):
    """What a story is like, in numbers."""

    persona: str
    arcs: str
    problems: int
    """Faults in the files; what they concern is left out of every number."""
    calendar: CalendarStatistics
    prose: ProseStatistics
    threads: ThreadStatistics | None
    """None where no lexicon says how threads are called."""
    questions: QuestionStatistics


def compute_statistics(folder: Path, arcs: str) -> DatasetStatistics:
    """The portrait of one story; UsageError if it has no days or no questions on file."""
    raise_problems(list(Layout(folder, arcs).find_missing()))
    corpus = read_corpus(folder, arcs)
    return DatasetStatistics(
        persona=corpus.layout.id,
        arcs=arcs,
        problems=len(corpus.inspection.problems),
        calendar=_compute_calendar(corpus),
        prose=compute_prose(corpus),
        threads=compute_threads(corpus),
        questions=compute_question_statistics(corpus),
    )


def _compute_calendar(corpus: LintCorpus) -> CalendarStatistics:
    told = {day.number for day in corpus.days}
    last = max(told, default=0)
    missing = [day for day in range(1, last) if day not in told]
    sessions = [len(set(day.session_headings)) for day in corpus.days]
    return CalendarStatistics(
        days=len(told),
        last_day=last,
        missing=len(missing),
        longest_gap=max((end - start + 1 for start, end in find_runs(missing)), default=0),
        sessions_a_day=compute_spread(sessions),
        by_sessions={count: sessions.count(count) for count in sorted(set(sessions))},
    )
