"""Whether memory degrades as it grows: the questions asked, the same ones throughout, and facts."""

from recall_bench.analysis.degradation.curves import (
    average_checkpoints,
    describe_cohort,
    fit_trend,
    select_span,
)
from recall_bench.analysis.degradation.facts import FollowedFacts, estimate_survivals, follow_facts
from recall_bench.analysis.degradation.sizes import measure_sizes, select_grown
from recall_bench.analysis.degradation.stretch import CheckpointSpan, find_best_span
from recall_bench.analysis.degradation.views import Degradation
from recall_bench.analysis.trials import TrialRow, TrialTable
from recall_bench.statistics.clusters import RESAMPLES
from recall_bench.statistics.estimate import FEW_QUESTIONS
from recall_bench.statistics.survival import RESAMPLES as SURVIVAL_RESAMPLES

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
