"""Trials, groups, estimates: how every report gets from marks to figures with intervals."""

from collections.abc import Iterable
from math import ceil

from recall_bench.core.plan import Plan
from recall_bench.metrics.bootstrap import ENOUGH_PERSONAS, RESAMPLES, TemplateNames
from recall_bench.metrics.comparison import TrialMarks
from recall_bench.metrics.estimate import Estimate, Limits, estimate_mean
from recall_bench.reporting.formats import format_card


def find_quantile(values: Iterable[float], share: float) -> float | None:
    """The quantile by nearest rank; None if there are no values."""
    ranked = sorted(values)
    return ranked[max(0, ceil(share * len(ranked)) - 1)] if ranked else None


NO_JUDGE = "none"
PERSONA, CONVERSATION = "persona", "conversation"
"""What the histories of a run are: of our personas, or of a public dataset."""


def name_histories(plan: Plan) -> str:
    """What one history of a run is called."""
    return PERSONA if plan.dataset is None else CONVERSATION


def describe_judge(plan: Plan) -> str:
    """The judge of a run; `none` where a protocol computes the scores."""
    return NO_JUDGE if plan.unjudged else format_card(plan.judge)


def describe_population(personas: int, unit: str = PERSONA) -> str:
    """What a comparison of runs over this many personas is about: other personas, or these."""
    if personas >= ENOUGH_PERSONAS:
        return (
            f"With five or more {unit}s, intervals cover other {unit}s like these; p-values are "
            "about other questions to these."
        )
    these = f"this {unit}" if personas == 1 else f"these {personas} {unit}s"
    return (
        f"The ranking holds for {these}: with fewer than five, intervals and p-values are about "
        f"other questions to the same {unit}s, not about other {unit}s."
    )


def estimate_marks(
    marks: TrialMarks,
    *,
    limits: Limits,
    templates: TemplateNames,
    missing: int = 0,
    resamples: int = RESAMPLES,
) -> Estimate | None:
    """The mean of marks with its interval; None where there is none."""
    return estimate_mean(
        list(marks.values()),
        [trial.item for trial in marks],
        [trial.scenario for trial in marks],
        missing=missing,
        limits=limits,
        templates=templates,
        resamples=resamples,
    )
