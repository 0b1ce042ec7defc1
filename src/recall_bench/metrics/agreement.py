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
    effective_size,
    interval,
    resamples,
)
from recall_bench.metrics.agreement_figures import (
    at_the_pass_level,
    auc,
    bin_of,
    brier,
    kappa_weighted,
    reliability,
)

BINS: Final = 10

FEWEST: Final = 5
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
class Rulings:
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


class Bin(Record, frozen=True, kw_only=True):
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
    reliability: tuple[Bin, ...] | None
    """None where the judge gives no probabilities."""


def agreement(rulings: Rulings) -> MarkAgreement:
    """Every figure of agreement with its interval."""
    plain = _Reading.of(np.ones((1, len(rulings.label))), rulings)
    questions = len(np.unique(rulings.question))
    spread = [_Reading.of(weights, rulings) for weights in _redrawn(rulings, questions)]
    figures = {name: _defined(values[0]) for name, values in plain.figures.items()}
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
            name: interval([part.figures[name] for part in spread])
            if figures.get(name) is not None
            else None
            for name in FIGURES
        },
        effective=_effective(rulings),
        reliability=_reliability(rulings, plain, spread),
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """All figures under each row of weights."""

    figures: dict[str, Floats]
    stated: Floats | None = None
    observed: Floats | None = None

    @classmethod
    def of(cls, weights: Floats, rulings: Rulings) -> Self:
        positive, probability = rulings.positive, rulings.probability
        figures = at_the_pass_level(weights, rulings.passed, positive)
        figures["auc"] = auc(weights, rulings.score, positive)
        figures["kappa_weighted"] = kappa_weighted(
            weights, rulings.given, rulings.label, rulings.top
        )
        if probability is None:
            return cls(figures)
        figures["brier"] = brier(weights, probability, positive)
        return cls(figures, *reliability(weights, probability, positive, BINS))


def _redrawn(rulings: Rulings, questions: int) -> Iterator[Floats]:
    """The resamples; none where there are too few questions to draw from."""
    return resamples(rulings.question) if questions >= FEWEST else iter(())


def _effective(rulings: Rulings) -> dict[str, float | None]:
    positive, passed, question = rulings.positive, rulings.passed, rulings.question
    return {
        "sensitivity": effective_size(passed[positive], question[positive]),
        "specificity": effective_size(~passed[~positive], question[~positive]),
    }


def _reliability(
    rulings: Rulings, plain: _Reading, spread: list[_Reading]
) -> tuple[Bin, ...] | None:
    if rulings.probability is None or plain.stated is None or plain.observed is None:
        return None
    held = np.bincount(bin_of(rulings.probability, BINS), minlength=BINS)
    curves = [part.observed for part in spread if part.observed is not None]
    return tuple(
        Bin(
            start=place / BINS,
            end=(place + 1) / BINS,
            n=int(held[place]),
            probability=_defined(plain.stated[0, place]),
            observed=_defined(plain.observed[0, place]),
            interval=interval([curve[:, place] for curve in curves]),
        )
        for place in range(BINS)
    )


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
