"""How scores change as a memory grows: all questions, the same questions, and facts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recall_bench.core.grouping import group_by
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.plan import SampleMode
from recall_bench.core.record import Record
from recall_bench.engine.runs.counted_marks import POINTS
from recall_bench.engine.runs.heatmap_rows import CELL_RESAMPLES
from recall_bench.engine.runs.question_span import find_best_span
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.metrics.bootstrap import RESAMPLES, TemplateNames
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate, estimate_mean
from recall_bench.metrics.survival import RESAMPLES as SURVIVAL_RESAMPLES
from recall_bench.metrics.trend import Trend, estimate_trend
from recall_bench.reporting.analyses.fact_survival import (
    FollowedFacts,
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


def measure_sizes(table: TrialTable) -> dict[str, int]:
    """For each checkpoint, in order, the most story days fed to any persona by then.

    The label does not tell: `full` stands for more days than any story has.
    """
    fed: dict[str, int] = {}
    for row in table.rows:
        label = row.trial.checkpoint
        fed[label] = max(fed.get(label, 0), row.cutoff)
    return {each.label: fed[each.label] for each in table.plan.checkpoints if each.label in fed}


def select_grown(table: TrialTable) -> Iterator[TrialRow]:
    """The trials of checkpoints at which a persona's memory had grown.

    Once a story is over, a later checkpoint only repeats the last.
    """
    first: dict[tuple[str, int], str] = {}
    for row in table.rows:
        place = row.trial.scenario, row.cutoff
        if first.setdefault(place, row.trial.checkpoint) == row.trial.checkpoint:
            yield row


_SpanQuestion = tuple[str, str]
"""Persona and question."""


class FixedSpan(NamedTuple):
    """The checkpoints and questions of the fixed view."""

    labels: tuple[str, ...]
    questions: frozenset[_SpanQuestion]


def find_span(
    rows: Iterable[TrialRow], sizes: Mapping[str, int], *, repeats: int
) -> FixedSpan | None:
    """The checkpoints and questions of the fixed view; None if there is none."""
    places = {label: place for place, label in enumerate(sizes)}
    times: Counter[tuple[_SpanQuestion, int]] = Counter(
        ((row.trial.scenario, row.trial.item), places[row.trial.checkpoint])
        for row in rows
        if row.points is not None
    )
    questions = list(dict.fromkeys(question for question, _ in times))
    numbers = {question: number for number, question in enumerate(questions)}
    is_counted = np.zeros((len(questions), len(places)), np.bool_)
    for (question, place), count in times.items():
        is_counted[numbers[question], place] = count == repeats
    span = find_best_span(is_counted, list(sizes.values()))
    if span is None:
        return None
    followed = frozenset(questions[number] for number in span.questions)
    return FixedSpan(tuple(sizes)[span.first : span.last + 1], followed)


def average_checkpoints(
    rows: Iterable[TrialRow], sizes: Mapping[str, int], *, seed: int, resamples: int
) -> tuple[CurvePoint, ...]:
    """The mean of each checkpoint; None where no trial has points yet."""
    parts = group_by(rows, lambda row: row.trial.checkpoint)
    points = []
    for label, days in sizes.items():
        asked = parts.get(label, [])
        counted = [(row, float(number)) for row in asked if (number := row.points) is not None]
        mean = estimate_mean(
            [number for _, number in counted],
            [row.trial.item for row, _ in counted],
            [row.trial.scenario for row, _ in counted],
            seed=seed,
            missing=len(asked) - len(counted),
            limits=POINTS,
            templates=_map_templates(asked),
            resamples=min(resamples, CELL_RESAMPLES),
        )
        points.append(CurvePoint(checkpoint=label, days=days, mean=mean))
    return tuple(points)


def fit_trend(rows: Iterable[TrialRow], *, seed: int, resamples: int) -> Trend | None:
    """The line through the trials, each at the days fed to its persona.

    None for one checkpoint, where sizes differ only between stories.
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
        templates=_map_templates(row for _, row in counted),
        resamples=resamples,
    )


def select_span(rows: Iterable[TrialRow], span: FixedSpan | None) -> list[TrialRow]:
    """The trials of the questions of a span at its checkpoints; none without a span."""
    if span is None:
        return []
    labels = frozenset(span.labels)
    return [
        row
        for row in rows
        if row.trial.checkpoint in labels and (row.trial.scenario, row.trial.item) in span.questions
    ]


def describe_cohort(span: FixedSpan, rows: Sequence[TrialRow]) -> CohortCard:
    """The questions of a span, and the number of others asked at its checkpoints."""
    labels = span.labels
    asked = {(row.trial.scenario, row.trial.item) for row in rows if row.trial.checkpoint in labels}
    return CohortCard(
        first=labels[0],
        last=labels[-1],
        checkpoints=len(labels),
        questions=len(span.questions),
        personas=len({persona for persona, _ in span.questions}),
        left_out=len(asked - span.questions),
    )


def _map_templates(rows: Iterable[TrialRow]) -> TemplateNames:
    return {
        (row.trial.scenario, row.trial.item): template
        for row in rows
        if (template := row.item.template) is not None
    }


FAILURES_TO_LOSE = 2
"""Wrong answers in a row after which a fact counts as lost, from the first of them."""


def measure_degradation(
    table: TrialTable, *, seed: int, resamples: int = RESAMPLES, failures: int = FAILURES_TO_LOSE
) -> Degradation:
    """The mixed view, the fixed view, and the survival of facts."""
    sizes = measure_sizes(table)
    asked = list(select_grown(table))
    span = find_span(asked, sizes, repeats=table.plan.repeats)
    labels = () if span is None else span.labels
    followed = select_span(asked, span)
    facts = follow_facts(asked, failures=failures)
    curves, notes = estimate_survivals(
        facts, seed=seed, resamples=min(resamples, SURVIVAL_RESAMPLES)
    )
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
        cohort=None if span is None else describe_cohort(span, asked),
        survivals=tuple(curves),
        never_known=facts.never_known,
        failures=failures,
        reason=_explain_missing(asked, span, facts, failures),
        unfollowed=facts.unfollowed,
        notes=(*_list_notes(table, span), *notes),
    )


def _explain_missing(
    asked: list[TrialRow], span: FixedSpan | None, facts: FollowedFacts, failures: int
) -> str | None:
    if not any(row.points is not None for row in asked) and not facts.lifetimes:
        return "no answer has marks yet"
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
    return "; ".join(reasons) or None


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
