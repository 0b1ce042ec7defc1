"""How scores change as a memory grows: all questions, the same questions, and facts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recall_bench.core.plain_text import format_quantity
from recall_bench.core.plan import SampleMode
from recall_bench.core.record import Record, group_by
from recall_bench.engine.runs.counted_marks import POINTS, find_best_span
from recall_bench.engine.runs.heatmap_rows import CELL_RESAMPLES
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.metrics.bootstrap import RESAMPLES
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate, estimate_mean
from recall_bench.metrics.survival import RESAMPLES as SURVIVAL_RESAMPLES
from recall_bench.metrics.trend import Trend, estimate_trend
from recall_bench.reporting.analyses.fact_survival import (
    GroupSurvival,
    estimate_survivals,
    follow_facts,
)


class CurvePoint(Record, frozen=True, kw_only=True):
    """The mean at one checkpoint."""

    checkpoint: str
    days: int
    """Story days fed by then, the most of any persona: `full` is not a number of days."""
    mean: Estimate | None


class CohortCard(Record, frozen=True, kw_only=True):
    """The questions of the fixed view: the same at each of its checkpoints."""

    first: str
    last: str
    checkpoints: int
    questions: int
    personas: int
    left_out: int
    """Other questions that were asked at some of these checkpoints."""


class Degradation(Record, frozen=True, kw_only=True):
    """The mixed view beside the fixed one, and how long facts stay known."""

    mixed: tuple[CurvePoint, ...]
    """All questions of each checkpoint, which change from one to the next."""
    mixed_trend: Trend | None
    fixed: tuple[CurvePoint, ...]
    """The same questions at each checkpoint; empty where there are none."""
    fixed_trend: Trend | None
    cohort: CohortCard | None
    survivals: tuple[GroupSurvival, ...]
    """Each curve as far as enough facts were followed."""
    never_known: int
    """Facts that were never known, in any repeat: they cannot be lost."""
    failures: int
    """Wrong answers in a row after which a fact is lost, from the first of them."""
    reason: str | None
    """Why there is no fixed view, or no survival; None where there are both."""
    unfollowed: int = 0
    """Facts that were asked too seldom after they were known."""
    notes: tuple[str, ...] = ()
    """Groups left out, and limits of the rest."""


FAILURES_TO_LOSE = 2
"""Wrong answers in a row after which a fact counts as lost, from the first of them."""


def measure_degradation(
    table: TrialTable, *, seed: int, resamples: int = RESAMPLES, failures: int = FAILURES_TO_LOSE
) -> Degradation:
    """The mixed view, the fixed view, and the survival of facts."""
    days: dict[str, int] = {}
    for row in table.rows:
        # The label does not tell: `full` stands for more days than any story has.
        days[row.trial.checkpoint] = max(days.get(row.trial.checkpoint, 0), row.cutoff)
    labels = [checkpoint.label for checkpoint in table.plan.checkpoints]
    sizes = {label: days[label] for label in labels if label in days}
    rows = list(select_grown(table))
    span = _find_span(rows, sizes, table.plan.repeats)
    cohort, card = [], None
    if span is not None:
        here = [row for row in rows if row.trial.checkpoint in span.labels]
        cohort = [row for row in here if _name_question(row) in span.questions]
        card = CohortCard(
            first=span.labels[0],
            last=span.labels[-1],
            checkpoints=len(span.labels),
            questions=len(span.questions),
            personas=len({persona for persona, _ in span.questions}),
            left_out=len({_name_question(row) for row in here} - span.questions),
        )
    facts = follow_facts(rows, failures=failures)
    curves, notes = estimate_survivals(
        facts, seed=seed, resamples=min(resamples, SURVIVAL_RESAMPLES)
    )
    reasons = []
    if span is None:
        reasons.append(
            "no question has marks at two checkpoints in a row, so there is no fixed view; ask at "
            "more checkpoints, for example --ranges every:30"
        )
    if not facts.lifetimes:
        reasons.append(
            f"no fact was known and then asked {failures} times more, so there is no survival; "
            "ask at more checkpoints, and without --sample"
        )
    if not facts.lifetimes and all(row.points is None for row in rows):
        reasons = ["no answer has marks yet"]
    fixed_sizes = {} if span is None else {label: sizes[label] for label in span.labels}
    return Degradation(
        mixed=_average_checkpoints(table.rows, sizes, seed, resamples),
        mixed_trend=_fit_trend(table.rows, seed, resamples),
        fixed=_average_checkpoints(cohort, fixed_sizes, seed, resamples),
        fixed_trend=_fit_trend(cohort, seed, resamples),
        cohort=card,
        survivals=tuple(curves),
        never_known=facts.never_known,
        failures=failures,
        reason="; ".join(reasons) or None,
        unfollowed=facts.unfollowed,
        notes=(*_list_notes(table, span), *notes),
    )


_Question = tuple[str, str]
"""Persona and question."""


def _name_question(row: TrialRow) -> _Question:
    return row.trial.scenario, row.trial.item


class FixedSpan(NamedTuple):
    """The checkpoints and questions of the fixed view."""

    labels: tuple[str, ...]
    questions: frozenset[_Question]


def select_grown(table: TrialTable) -> Iterator[TrialRow]:
    """The trials of checkpoints at which a persona's memory had grown.

    Once a story is over, a later checkpoint only repeats the last.
    """
    first: dict[tuple[str, int], str] = {}
    for row in table.rows:
        label = row.trial.checkpoint
        if first.setdefault((row.trial.scenario, row.cutoff), label) == label:
            yield row


def _find_span(
    rows: Iterable[TrialRow], sizes: Mapping[str, int], repeats: int
) -> FixedSpan | None:
    """The checkpoints and questions of the fixed view; None if there is none."""
    labels = list(sizes)
    times = Counter(
        (_name_question(row), labels.index(row.trial.checkpoint))
        for row in rows
        if row.points is not None
    )
    questions = list(dict.fromkeys(question for question, _ in times))
    numbers = {question: number for number, question in enumerate(questions)}
    is_counted = np.zeros((len(questions), len(labels)), np.bool_)
    for (question, place), count in times.items():
        is_counted[numbers[question], place] = count == repeats
    span = find_best_span(is_counted, list(sizes.values()))
    if span is None:
        return None
    cohort = frozenset(questions[number] for number in span.questions)
    return FixedSpan(tuple(labels[span.first : span.last + 1]), cohort)


def _map_templates(rows: Iterable[TrialRow]) -> dict[_Question, str]:
    named = ((_name_question(row), row.item.template) for row in rows)
    return {question: template for question, template in named if template is not None}


def _average_checkpoints(
    rows: Iterable[TrialRow], sizes: Mapping[str, int], seed: int, resamples: int
) -> tuple[CurvePoint, ...]:
    """The mean of each checkpoint; None where no trial has points yet."""
    parts = group_by(rows, lambda row: row.trial.checkpoint)
    points = []
    for label, days in sizes.items():
        trials = parts.get(label, [])
        marks = [(row, float(mark)) for row in trials if (mark := row.points) is not None]
        mean = estimate_mean(
            [mark for _, mark in marks],
            [row.trial.item for row, _ in marks],
            [row.trial.scenario for row, _ in marks],
            seed=seed,
            missing=len(trials) - len(marks),
            limits=POINTS,
            templates=_map_templates(trials),
            resamples=min(resamples, CELL_RESAMPLES),
        )
        points.append(CurvePoint(checkpoint=label, days=days, mean=mean))
    return tuple(points)


def _fit_trend(rows: Sequence[TrialRow], seed: int, resamples: int) -> Trend | None:
    """The line through the trials, each at the days fed to its persona.

    None for one checkpoint, where sizes differ only between stories.
    """
    marks = [(float(points), row) for row in rows if (points := row.points) is not None]
    if len({row.trial.checkpoint for _, row in marks}) < 2:
        return None
    return estimate_trend(
        [mark for mark, _ in marks],
        [float(row.cutoff) for _, row in marks],
        [row.trial.item for _, row in marks],
        [row.trial.scenario for _, row in marks],
        seed=seed,
        limits=POINTS,
        templates=_map_templates(row for _, row in marks),
        resamples=resamples,
    )


def _list_notes(table: TrialTable, span: FixedSpan | None) -> Iterator[str]:
    if table.plan.sample is not None:
        has_core = table.plan.sampling is SampleMode.CORE
        words = "of which half stay the same" if has_core else "so few are followed for long"
        yield (
            f"at each checkpoint only {table.plan.sample} older questions of a persona were asked "
            f"again (--sample), {words}; without it all are"
        )
    if span is not None and len(span.questions) < FEW_QUESTIONS:
        yield (
            f"the fixed view follows only {format_quantity(len(span.questions), 'question')}: "
            f"with fewer than {FEW_QUESTIONS} its intervals are unreliable"
        )
