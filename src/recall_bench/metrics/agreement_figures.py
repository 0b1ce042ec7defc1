"""Figures of agreement, for many weightings of the same records at once.

Every function takes a matrix with a row of weights for each resample and a column for each
record, and returns one value a row; NaN where the row leaves the figure undefined. The plain
figure is that of a single row of ones, so it and its interval cannot disagree on a formula.
"""

import numpy as np

from recall_bench.metrics.agreement_clusters import Bools, Floats, Ints


def compute_auc(weights: Floats, score: Floats, positive: Bools) -> Floats:
    """The chance that a positive record outscores a negative one, ties counting half."""
    if not len(score):
        return np.full(len(weights), np.nan)
    order = np.argsort(score, kind="stable")
    ranked = score[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    drawn, is_positive = weights[:, order], positive[order]
    above = np.add.reduceat(np.where(is_positive, drawn, 0.0), starts, axis=1)
    below = np.add.reduceat(np.where(is_positive, 0.0, drawn), starts, axis=1)
    beaten = np.cumsum(below, axis=1) - below / 2
    return _divide((above * beaten).sum(axis=1), above.sum(axis=1) * below.sum(axis=1))


def compute_pass_figures(weights: Floats, passed: Bools, positive: Bools) -> dict[str, Floats]:
    """Accuracy, Cohen's kappa, sensitivity and specificity of a yes or no."""
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
    """Agreement beyond chance on the whole scale, a miss by two costing four times one by one."""
    points = np.arange(top + 1)
    cost = (points[:, None] - points[None, :]) ** 2
    seen = weights @ ((given - label) ** 2)
    # One-hot columns turn both margins into products with the weights.
    as_given = weights @ (given[:, None] == points)
    as_labelled = weights @ (label[:, None] == points)
    by_chance = ((as_given @ cost) * as_labelled).sum(axis=1)
    return 1 - _divide(seen * weights.sum(axis=1), by_chance)


def compute_brier(weights: Floats, probability: Floats, positive: Bools) -> Floats:
    """The mean squared distance of the probability from what was so."""
    return _divide(weights @ (probability - positive) ** 2, weights.sum(axis=1))


def compute_reliability(
    weights: Floats, probability: Floats, positive: Bools, bins: int
) -> tuple[Floats, Floats]:
    """For each bin of probability, its mean probability and its share of positives."""
    place = find_bins(probability, bins)
    member = place[:, None] == np.arange(bins)
    held = weights @ member
    stated = _divide(weights @ (member * probability[:, None]), held)
    observed = _divide(weights @ (member & positive[:, None]), held)
    return stated, observed


def find_bins(probability: Floats, bins: int) -> Ints:
    """The bin each probability falls into; the last one holds 1 as well."""
    return np.minimum((probability * bins).astype(np.int64), bins - 1)


def _divide(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole != 0)
