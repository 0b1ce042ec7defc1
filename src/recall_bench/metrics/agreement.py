"""How well a judge agrees with labels, mark by mark.

A mark is a pass from the points in `core.verdict.PASS` on, and agreement is about passes; only
`kappa_weighted` looks at the whole scale. Intervals are 95 % intervals from drawing the
questions anew, not the records: answers to one question are alike. What is undefined (no
failure among the labels, say) is None, as is an interval over fewer than `FEWEST` questions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np

from recall_bench.core.record import Record
from recall_bench.metrics.agreement_clusters import (
    Bools,
    Floats,
    Ints,
    compute_interval,
    draw_resamples,
    estimate_effective_size,
)
from recall_bench.metrics.agreement_figures import (
    compute_auc,
    compute_brier,
    compute_pass_figures,
    compute_reliability,
    compute_weighted_kappa,
    find_bins,
)

BINS: Final = 10

FEWEST_QUESTIONS: Final = 5
"""Fewer questions than this do not show how much questions differ: there is no interval."""

FIGURES: Final = (
    "auc",
    "accuracy",
    "kappa",
    "kappa_weighted",
    "sensitivity",
    "specificity",
    "brier",
)

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPairs:
    """One mark of many answers: what the judge gave and what the labels say."""

    given: Ints
    """The judge's points."""
    label: Ints
    """The points it should have given."""
    question: Ints
    """Which question each answer is to, numbered from 0 without a gap."""
    top: int
    """What the mark is out of."""
    level: int
    """The points from which on it is a pass."""
    probability: Floats | None = None
    """How likely the judge holds each a pass; None unless it says so for all of them."""

    @property
    def positive(self) -> Bools:
        """Which answers pass by their label."""
        return self.label >= self.level

    @property
    def passed(self) -> Bools:
        """Which answers pass by the judge."""
        return self.given >= self.level

    @property
    def score(self) -> Floats:
        """What ranks the answers: the probabilities, or for want of them the points."""
        if self.probability is not None:
            return self.probability
        return self.given.astype(np.float64)


class ReliabilityBin(Record, frozen=True, kw_only=True):
    """Answers that were about as likely to pass as one another, by the judge's own account."""

    start: float
    end: float
    n: int
    probability: float | None
    """The mean of what the judge said."""
    observed: float | None
    """The share that did pass."""
    interval: Interval | None
    """Of the observed share."""


class MarkAgreement(Record, frozen=True, kw_only=True):
    """How well a judge gives one mark."""

    n: int
    questions: int
    positives: int
    """Answers that pass by their label."""
    passed: int
    """Answers that pass by the judge."""
    scored_by: Literal["probabilities", "marks"]
    """What the AUC ranks by."""
    auc: float | None
    accuracy: float | None
    kappa: float | None
    kappa_weighted: float | None
    sensitivity: float | None
    """The share of true passes that it passes."""
    specificity: float | None
    """The share of true failures that it fails."""
    brier: float | None
    intervals: dict[str, Interval | None]
    """By figure."""
    effective: dict[str, float | None]
    """How many independent answers would tell the sensitivity and specificity as surely."""
    reliability: tuple[ReliabilityBin, ...] | None
    """None where the judge gives no probabilities."""


def measure_agreement(rulings: MarkPairs) -> MarkAgreement:
    """Every figure of agreement with its interval."""
    plain = _FigureDraws.compute(np.ones((1, len(rulings.label))), rulings)
    questions = len(np.unique(rulings.question))
    spread = [
        _FigureDraws.compute(weights, rulings)
        for weights in _resample_questions(rulings, questions)
    ]
    figures = {name: _drop_nan(values[0]) for name, values in plain.figures.items()}
    return MarkAgreement(
        n=len(rulings.label),
        questions=questions,
        positives=int(rulings.positive.sum()),
        passed=int(rulings.passed.sum()),
        scored_by="marks" if rulings.probability is None else "probabilities",
        auc=figures["auc"],
        accuracy=figures["accuracy"],
        kappa=figures["kappa"],
        kappa_weighted=figures["kappa_weighted"],
        sensitivity=figures["sensitivity"],
        specificity=figures["specificity"],
        brier=figures.get("brier"),
        intervals={
            name: compute_interval([part.figures[name] for part in spread])
            if figures.get(name) is not None
            else None
            for name in FIGURES
        },
        effective=_estimate_effective(rulings),
        reliability=_build_bins(rulings, plain, spread),
    )


@dataclass(frozen=True, slots=True)
class _FigureDraws:
    """All figures under each row of weights."""

    figures: dict[str, Floats]
    stated: Floats | None = None
    observed: Floats | None = None

    @classmethod
    def compute(cls, weights: Floats, rulings: MarkPairs) -> Self:
        positive, probability = rulings.positive, rulings.probability
        figures = compute_pass_figures(weights, rulings.passed, positive)
        figures["auc"] = compute_auc(weights, rulings.score, positive)
        figures["kappa_weighted"] = compute_weighted_kappa(
            weights, rulings.given, rulings.label, rulings.top
        )
        if probability is None:
            return cls(figures)
        figures["brier"] = compute_brier(weights, probability, positive)
        return cls(figures, *compute_reliability(weights, probability, positive, BINS))


def _resample_questions(rulings: MarkPairs, questions: int) -> Iterator[Floats]:
    """The resamples; none where there are too few questions to draw from."""
    return draw_resamples(rulings.question) if questions >= FEWEST_QUESTIONS else iter(())


def _estimate_effective(rulings: MarkPairs) -> dict[str, float | None]:
    positive, passed, question = rulings.positive, rulings.passed, rulings.question
    return {
        "sensitivity": estimate_effective_size(passed[positive], question[positive]),
        "specificity": estimate_effective_size(~passed[~positive], question[~positive]),
    }


def _build_bins(
    rulings: MarkPairs, plain: _FigureDraws, spread: list[_FigureDraws]
) -> tuple[ReliabilityBin, ...] | None:
    if rulings.probability is None or plain.stated is None or plain.observed is None:
        return None
    held = np.bincount(find_bins(rulings.probability, BINS), minlength=BINS)
    curves = [part.observed for part in spread if part.observed is not None]
    return tuple(
        ReliabilityBin(
            start=place / BINS,
            end=(place + 1) / BINS,
            n=int(held[place]),
            probability=_drop_nan(plain.stated[0, place]),
            observed=_drop_nan(plain.observed[0, place]),
            interval=compute_interval([curve[:, place] for curve in curves]),
        )
        for place in range(BINS)
    )


def _drop_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
