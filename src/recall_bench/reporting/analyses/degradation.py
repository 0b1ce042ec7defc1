"""How large a memory is at a checkpoint, and which checkpoints made it larger."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recall_bench.metrics.bootstrap import RESAMPLES, Floats, Ints
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate
from recall_bench.metrics.survival import RESAMPLES as SURVIVAL_RESAMPLES
from recall_bench.metrics.trend import Trend, estimate_trend
from recall_bench.reporting.analyses.fact_survival import (
    CohortCard,
    CurvePoint,
    Degradation,
    FollowedFacts,
    estimate_survivals,
    follow_facts,
)
from recall_bench.reporting.groups import estimate_marks
from recall_bench.runs.estimates import CELL_RESAMPLES, POINTS
from recall_bench.runs.trials import TrialRow, TrialTable


def measure_sizes(table: TrialTable) -> dict[str, int]:
    """For each checkpoint, by days, the most story days that any persona was told by then.

    What a checkpoint is called says less: `full` is more days than any story has.
    """
    told: dict[str, int] = {}
    for row in table.rows:
        label = row.trial.checkpoint
        told[label] = max(told.get(label, 0), row.cutoff)
    return {each.label: told[each.label] for each in table.plan.checkpoints if each.label in told}


def select_grown(table: TrialTable) -> Iterator[TrialRow]:
    """The trials of checkpoints by which a persona's story had gone on.

    Once a story is over, a later checkpoint asks the same memory again: that is a repeat, and
    nothing can be lost between the two.
    """
    first: dict[tuple[str, int], str] = {}
    for row in table.rows:
        place = row.trial.scenario, row.cutoff
        if first.setdefault(place, row.trial.checkpoint) == row.trial.checkpoint:
            yield row


StretchQuestion = tuple[str, str]
"""A persona and the question put to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSpan:
    """Checkpoints in a row, and the questions that were answered for at each of them."""

    labels: tuple[str, ...]
    questions: frozenset[StretchQuestion]


def find_best_span(
    rows: Iterable[TrialRow], sizes: Mapping[str, int], *, repeats: int
) -> CheckpointSpan | None:
    """The stretch that says most about a slope; None if no question was asked at two sizes."""
    labels = tuple(sizes)
    runs = _find_spans(rows, labels, repeats)
    asked = _count_spans(runs, len(labels))
    weights = asked * _sum_squares(np.array(list(sizes.values()), np.float64))
    if not weights.size or weights.max() <= 0:
        return None
    # Turned round, the first of equals is the one that ends last.
    end, start = np.unravel_index(np.argmax(weights[:, ::-1].T), weights.shape)
    first, last = int(start), len(labels) - 1 - int(end)
    return CheckpointSpan(
        labels=labels[first : last + 1],
        questions=frozenset(
            question
            for question, spans in runs.items()
            if any(begin <= first and last <= until for begin, until in spans)
        ),
    )


def _find_spans(
    rows: Iterable[TrialRow], labels: tuple[str, ...], repeats: int
) -> dict[StretchQuestion, list[tuple[int, int]]]:
    """For each question the first and the last of every row of checkpoints it has points at."""
    place = {label: number for number, label in enumerate(labels)}
    counted: dict[StretchQuestion, Counter[int]] = {}
    for row in rows:
        if row.points is not None:
            question = row.trial.scenario, row.trial.item
            counted.setdefault(question, Counter())[place[row.trial.checkpoint]] += 1
    return {
        question: _group_consecutive(
            sorted(number for number, times in found.items() if times == repeats)
        )
        for question, found in counted.items()
    }


def _group_consecutive(places: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1] = found[-1][0], place
        else:
            found.append((place, place))
    return found


def _count_spans(runs: Mapping[StretchQuestion, list[tuple[int, int]]], count: int) -> Ints:
    """How many questions were asked from each checkpoint, by row, to each, by column."""
    ends = np.zeros((count, count), np.int64)
    for spans in runs.values():
        for first, last in spans:
            ends[first, last] += 1
    return np.asarray(ends.cumsum(axis=0)[:, ::-1].cumsum(axis=1)[:, ::-1], np.int64)


def _sum_squares(days: Floats) -> Floats:
    """The squares of the distances to the mean, summed from each checkpoint to each later one."""
    count = len(days)
    totals = np.concatenate([[0.0], days.cumsum()])
    squares = np.concatenate([[0.0], (days**2).cumsum()])
    length = np.arange(1, count + 1) - np.arange(count)[:, np.newaxis]
    total = totals[1:] - totals[:-1, np.newaxis]
    square = squares[1:] - squares[:-1, np.newaxis]
    return np.where(length > 1, square - total**2 / np.maximum(length, 1), 0.0)


def average_checkpoints(
    rows: Iterable[TrialRow], sizes: Mapping[str, int], *, seed: int, resamples: int
) -> tuple[CurvePoint, ...]:
    """The mean of the trials of each checkpoint; None where none has points yet."""
    draws = min(resamples, CELL_RESAMPLES)
    parts: dict[str, list[TrialRow]] = {label: [] for label in sizes}
    for row in rows:
        parts[row.trial.checkpoint].append(row)
    return tuple(
        CurvePoint(
            checkpoint=label,
            days=days,
            mean=_average_points(parts[label], seed=seed, resamples=draws),
        )
        for label, days in sizes.items()
    )


def fit_trend(rows: Iterable[TrialRow], *, seed: int, resamples: int) -> Trend | None:
    """The line through the trials, each at the days its own persona had been told.

    None at one checkpoint: there sizes differ only because stories do, and so does all else.
    """
    counted = [(float(points), row) for row in rows if (points := row.points) is not None]
    if len({row.trial.checkpoint for _, row in counted}) < 2:
        return None
    return estimate_trend(
        [points for points, _ in counted],
        [float(row.cutoff) for _, row in counted],
        [row.trial.item for _, row in counted],
        [row.trial.scenario for _, row in counted],
        seed=seed,
        limits=POINTS,
        resamples=resamples,
    )


def select_span(rows: Iterable[TrialRow], stretch: CheckpointSpan) -> list[TrialRow]:
    """The trials of the questions that are followed, over the checkpoints they are followed."""
    labels = frozenset(stretch.labels)
    return [
        row
        for row in rows
        if row.trial.checkpoint in labels
        and (row.trial.scenario, row.trial.item) in stretch.questions
    ]


def describe_cohort(stretch: CheckpointSpan, rows: Sequence[TrialRow]) -> CohortCard:
    """What is followed, and how much else was asked meanwhile."""
    labels = frozenset(stretch.labels)
    asked = {(row.trial.scenario, row.trial.item) for row in rows if row.trial.checkpoint in labels}
    return CohortCard(
        first=stretch.labels[0],
        last=stretch.labels[-1],
        checkpoints=len(stretch.labels),
        questions=len(stretch.questions),
        personas=len({persona for persona, _ in stretch.questions}),
        left_out=len(asked - stretch.questions),
    )


def _average_points(rows: Sequence[TrialRow], *, seed: int, resamples: int) -> Estimate | None:
    marks = {row.trial: float(points) for row in rows if (points := row.points) is not None}
    return estimate_marks(
        marks, limits=POINTS, missing=len(rows) - len(marks), resamples=resamples, seed=seed
    )


FAILURES_TO_LOSE = 2
"""A fact is lost at the first of two wrong answers in a row: one slip of a judge loses nothing."""


def measure_degradation(
    table: TrialTable, *, seed: int, resamples: int = RESAMPLES, failures: int = FAILURES_TO_LOSE
) -> Degradation:
    """The mixed view, the fixed one, and how long facts stay known.

    Points of a curve, and survival curves, are drawn again at most a thousand times each.
    """
    sizes = measure_sizes(table)
    asked = list(select_grown(table))
    stretch = find_best_span(asked, sizes, repeats=table.plan.repeats)
    followed = [] if stretch is None else select_span(asked, stretch)
    facts = follow_facts(asked, failures=failures)
    curves, notes = estimate_survivals(
        facts, seed=seed, resamples=min(resamples, SURVIVAL_RESAMPLES)
    )
    labels = () if stretch is None else stretch.labels
    return Degradation(
        mixed=average_checkpoints(table.rows, sizes, seed=seed, resamples=resamples),
        mixed_trend=fit_trend(table.rows, seed=seed, resamples=resamples),
        fixed=average_checkpoints(
            followed,
            {label: sizes[label] for label in labels},
            seed=seed,
            resamples=resamples,
        ),
        fixed_trend=fit_trend(followed, seed=seed, resamples=resamples),
        cohort=None if stretch is None else describe_cohort(stretch, asked),
        survivals=tuple(curves),
        never_known=facts.never_known,
        failures=failures,
        reason=_explain_missing(asked, stretch, facts, failures),
        unfollowed=facts.unfollowed,
        notes=(*_note_sampling(table), *_note_few_questions(stretch), *notes),
    )


def _explain_missing(
    asked: list[TrialRow], stretch: CheckpointSpan | None, facts: FollowedFacts, failures: int
) -> str | None:
    if not any(row.points is not None for row in asked) and not facts.lifetimes:
        return "no answer has marks yet"
    reasons = []
    if stretch is None:
        reasons.append(
            "no question has marks at two checkpoints in a row, so there is no fixed view; ask at "
            "more checkpoints, for example --ranges every:30"
        )
    if not facts.lifetimes:
        reasons.append(
            f"no fact was known and then asked {failures} times more, so there is no survival; "
            "ask at more checkpoints, and without --sample"
        )
    return "; ".join(reasons) or None


def _note_few_questions(stretch: CheckpointSpan | None) -> list[str]:
    if stretch is None or (count := len(stretch.questions)) >= FEW_QUESTIONS:
        return []
    noun = "question" if count == 1 else "questions"
    note = (
        f"the fixed view follows only {count} {noun}: with fewer than {FEW_QUESTIONS} its "
        "intervals are themselves in doubt"
    )
    return [note]


def _note_sampling(table: TrialTable) -> list[str]:
    if table.plan.sample is None:
        return []
    note = (
        f"at each checkpoint only {table.plan.sample} older questions of a persona were asked "
        "again (--sample), so few are followed for long; without it all are"
    )
    return [note]
