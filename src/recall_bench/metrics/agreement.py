"""How well a judge agrees with labels, mark by mark.

A mark passes from the points in `core.verdict.PASS` on, and agreement is about passes; only
`kappa_weighted` looks at the whole scale. Intervals resample questions, not records: answers to
one question are alike. An undefined figure (no failure among the labels, for example) is None, as
is an interval over fewer than `FEWEST_QUESTIONS` questions.

Every `compute_` function takes a matrix with a row of weights for each resample and a column for
each record, and returns one value a row, NaN where it is undefined. The plain figure uses a single
row of ones, so the figure and its interval share one formula.
"""

from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np

from recall_bench.core.record import ComputedRecord
from recall_bench.metrics.bootstrap import (
    Bools,
    Floats,
    Interval,
    Ints,
    compute_percentile,
    draw_weights,
)

AGREEMENT_RESAMPLES: Final = 1000


def estimate_effective_size(hits: Bools, question: Ints) -> float | None:
    """Estimate how many independent records are worth as much as these; None without records.

    Never more than the number of records. Where all records agree, nothing shows how similar the
    answers to one question are, so each question counts once.
    """
    if not len(hits):
        return None
    share = float(hits.mean())
    sums = np.bincount(question, weights=hits - share)
    questions = len(np.unique(question))
    if questions < 2 or share in {0.0, 1.0}:
        return float(questions)
    variance = questions / (questions - 1) * float(sums @ sums) / len(hits) ** 2
    # Answers to one question may also vary more than independent ones: that adds nothing.
    alone = share * (1 - share) / len(hits)
    return max(1.0, share * (1 - share) / max(variance, alone))


def compute_auc(weights: Floats, score: Floats, positive: Bools) -> Floats:
    """Compute the chance that a positive record outscores a negative one; a tie counts half."""
    if not len(score):
        return np.full(len(weights), np.nan)
    order = np.argsort(score, kind="stable")
    ranked = score[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    ranked_weights, is_positive = weights[:, order], positive[order]
    above = np.add.reduceat(np.where(is_positive, ranked_weights, 0.0), starts, axis=1)
    below = np.add.reduceat(np.where(is_positive, 0.0, ranked_weights), starts, axis=1)
    beaten = np.cumsum(below, axis=1) - below / 2
    return _divide((above * beaten).sum(axis=1), above.sum(axis=1) * below.sum(axis=1))


def compute_pass_figures(weights: Floats, passed: Bools, positive: Bools) -> dict[str, Floats]:
    """Compute accuracy, Cohen's kappa, sensitivity and specificity of pass or fail."""
    right_yes = weights @ (passed & positive)
    wrong_yes = weights @ (passed & ~positive)
    wrong_no = weights @ (~passed & positive)
    right_no = weights @ (~passed & ~positive)
    total = right_yes + wrong_yes + wrong_no + right_no
    agreed = _divide(right_yes + right_no, total)
    by_chance = _divide(
        (right_yes + wrong_yes) * (right_yes + wrong_no)
        + (right_no + wrong_no) * (right_no + wrong_yes),
        total**2,
    )
    return {
        "accuracy": agreed,
        "kappa": _divide(agreed - by_chance, 1 - by_chance),
        "sensitivity": _divide(right_yes, right_yes + wrong_no),
        "specificity": _divide(right_no, right_no + wrong_yes),
    }


def compute_weighted_kappa(weights: Floats, given: Ints, label: Ints, top: int) -> Floats:
    """Compute quadratic weighted kappa: a miss by two costs four times a miss by one."""
    points = np.arange(top + 1)
    cost = (points[:, None] - points[None, :]) ** 2
    cost_paid = weights @ ((given - label) ** 2)
    # One-hot columns turn both margins into products with the weights.
    as_given = weights @ (given[:, None] == points)
    as_labelled = weights @ (label[:, None] == points)
    by_chance = ((as_given @ cost) * as_labelled).sum(axis=1)
    return 1 - _divide(cost_paid * weights.sum(axis=1), by_chance)


def compute_brier(weights: Floats, probability: Floats, positive: Bools) -> Floats:
    """Compute the mean squared distance of the probabilities from the outcomes."""
    return _divide(weights @ (probability - positive) ** 2, weights.sum(axis=1))


def compute_reliability(
    weights: Floats, probability: Floats, positive: Bools, bins: int
) -> tuple[Floats, Floats]:
    """Compute the mean probability and the share of positives of each bin."""
    place = find_bins(probability, bins)
    member = place[:, None] == np.arange(bins)
    members = weights @ member
    stated = _divide(weights @ (member * probability[:, None]), members)
    observed = _divide(weights @ (member & positive[:, None]), members)
    return stated, observed


def find_bins(probability: Floats, bins: int) -> Ints:
    """Find the bin of each probability; the last bin includes 1."""
    return np.minimum((probability * bins).astype(np.int64), bins - 1)


def _divide(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole != 0)


BINS: Final = 10

FEWEST_QUESTIONS: Final = 5
"""With fewer questions there is no interval."""

FIGURES: Final = (
    *("auc", "accuracy", "kappa", "kappa_weighted"),
    *("sensitivity", "specificity", "brier"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPairs:
    """One mark of many answers: the judge's points and the labels."""

    given: Ints
    label: Ints
    """The correct points."""
    question: Ints
    """The question of each answer, numbered from 0 without a gap."""
    top: int
    """The maximum of the mark."""
    level: int
    """The points from which on the mark passes."""
    probability: Floats | None = None
    """The judge's probability of a pass; None unless it gives one for every answer."""

    @property
    def positive(self) -> Bools:
        """Which answers pass according to the label."""
        return self.label >= self.level

    @property
    def passed(self) -> Bools:
        """Which answers pass according to the judge."""
        return self.given >= self.level

    @property
    def score(self) -> Floats:
        """The ranking of the answers: the probabilities, or the points without them."""
        if self.probability is not None:
            return self.probability
        return self.given.astype(np.float64)


class ReliabilityBin(ComputedRecord, frozen=True, kw_only=True):
    """Answers to which the judge gave similar probabilities of a pass."""

    start: float
    end: float
    n: int
    probability: float | None
    """The mean of the judge's probabilities."""
    observed: float | None
    """The share that passes."""
    interval: Interval | None
    """Of the observed share."""


class MarkAgreement(ComputedRecord, frozen=True, kw_only=True):
    """How well a judge agrees with the labels in one mark."""

    n: int
    questions: int
    positives: int
    """Answers that pass according to the label."""
    passed: int
    """Answers that pass according to the judge."""
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
    """The number of independent answers that sensitivity and specificity rest on."""
    reliability: tuple[ReliabilityBin, ...] | None
    """None where the judge gives no probabilities."""


def measure_agreement(pairs: MarkPairs) -> MarkAgreement:
    """Compute every figure of agreement with its interval."""
    plain = _FigureDraws.compute(np.ones((1, len(pairs.label))), pairs)
    questions = len(np.unique(pairs.question))
    spread = _resample_figures(pairs, questions) if questions >= FEWEST_QUESTIONS else []
    figures = {name: _drop_nan(values[0]) for name, values in plain.figures.items()}
    return MarkAgreement(
        n=len(pairs.label),
        questions=questions,
        positives=int(pairs.positive.sum()),
        passed=int(pairs.passed.sum()),
        scored_by="marks" if pairs.probability is None else "probabilities",
        auc=figures["auc"],
        accuracy=figures["accuracy"],
        kappa=figures["kappa"],
        kappa_weighted=figures["kappa_weighted"],
        sensitivity=figures["sensitivity"],
        specificity=figures["specificity"],
        brier=figures.get("brier"),
        intervals={
            name: _compute_interval([part.figures[name] for part in spread], questions)
            if figures.get(name) is not None
            else None
            for name in FIGURES
        },
        effective=_estimate_effective(pairs),
        reliability=_build_bins(pairs, plain, spread, questions),
    )


@dataclass(frozen=True, slots=True)
class _FigureDraws:
    """Every figure for each row of weights."""

    figures: dict[str, Floats]
    stated: Floats | None = None
    observed: Floats | None = None

    @classmethod
    def compute(cls, weights: Floats, pairs: MarkPairs) -> Self:
        positive, probability = pairs.positive, pairs.probability
        figures = compute_pass_figures(weights, pairs.passed, positive)
        figures["auc"] = compute_auc(weights, pairs.score, positive)
        figures["kappa_weighted"] = compute_weighted_kappa(
            weights, pairs.given, pairs.label, pairs.top
        )
        if probability is None:
            return cls(figures)
        figures["brier"] = compute_brier(weights, probability, positive)
        return cls(figures, *compute_reliability(weights, probability, positive, BINS))


def _resample_figures(pairs: MarkPairs, questions: int) -> list[_FigureDraws]:
    pieces = draw_weights(questions, resamples=AGREEMENT_RESAMPLES, cells=len(pairs.question))
    return [_FigureDraws.compute(weights[:, pairs.question], pairs) for weights in pieces]


def _compute_interval(pieces: list[Floats], questions: int) -> Interval | None:
    return compute_percentile(np.concatenate(pieces), clusters=questions) if pieces else None


def _estimate_effective(pairs: MarkPairs) -> dict[str, float | None]:
    positive, passed, question = pairs.positive, pairs.passed, pairs.question
    return {
        "sensitivity": estimate_effective_size(passed[positive], question[positive]),
        "specificity": estimate_effective_size(~passed[~positive], question[~positive]),
    }


def _build_bins(
    pairs: MarkPairs, plain: _FigureDraws, spread: list[_FigureDraws], questions: int
) -> tuple[ReliabilityBin, ...] | None:
    if pairs.probability is None or plain.stated is None or plain.observed is None:
        return None
    counts = np.bincount(find_bins(pairs.probability, BINS), minlength=BINS)
    curves = [part.observed for part in spread if part.observed is not None]
    return tuple(
        ReliabilityBin(
            start=place / BINS,
            end=(place + 1) / BINS,
            n=int(counts[place]),
            probability=_drop_nan(plain.stated[0, place]),
            observed=_drop_nan(plain.observed[0, place]),
            interval=_compute_interval([curve[:, place] for curve in curves], questions),
        )
        for place in range(BINS)
    )


def _drop_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
