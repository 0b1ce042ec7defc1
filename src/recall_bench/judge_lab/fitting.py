"""Fits the additive model of a calibration: a logistic regression with a ridge penalty.

Every number bends at knots that part the training answers into equal shares. The penalty and the
shares are fixed, not searched for.
"""

from collections.abc import Sequence

import numpy as np

from recall_bench.judging.offline.calibration import FeatureCurve, Floats, ModelWeights

PENALTY = 100.0
"""Of the squared weights, each of a column scaled to a spread of one."""
KNOTS_AT = (0.2, 0.4, 0.6, 0.8)
"""The shares of the training answers that lie below each knot."""
STEPS = 25
TOLERANCE = 1e-6
WEIGHT_DIGITS = 5


def fit_weights(names: Sequence[str], values: Floats, reached: Floats) -> ModelWeights:
    """The model that tells each goal from the numbers: an answer a row, a goal a column."""
    knots = [np.unique(np.quantile(column, KNOTS_AT)) for column in values.T]
    design = _make_design(values, knots)
    centre, spread = design.mean(axis=0), design.std(axis=0)
    spread[spread < 1e-12] = 1.0
    scaled = (design - centre) / spread
    found = np.array([_fit_newton(scaled, goal) for goal in reached.T])
    weights = found[:, 1:] / spread
    offsets = found[:, 0] - weights @ centre
    return ModelWeights(
        offsets=tuple(np.round(offsets, WEIGHT_DIGITS).tolist()),
        curves=_make_curves(names, values, knots, weights),
    )


def _make_curves(
    names: Sequence[str], values: Floats, knots: list[Floats], weights: Floats
) -> tuple[FeatureCurve, ...]:
    found: list[FeatureCurve] = []
    start = 0
    for name, column, bends in zip(names, values.T, knots, strict=True):
        part = weights[:, start : start + len(bends) + 2]
        start += len(bends) + 2
        found.append(
            FeatureCurve(
                name=name,
                least=round(float(column.min()), WEIGHT_DIGITS),
                most=round(float(column.max()), WEIGHT_DIGITS),
                knots=tuple(np.round(bends, WEIGHT_DIGITS).tolist()),
                weights=tuple(tuple(row) for row in np.round(part, WEIGHT_DIGITS).tolist()),
            )
        )
    return tuple(found)


def _make_design(values: Floats, knots: list[Floats]) -> Floats:
    """For each number: itself, its excess over each knot, and whether there was nothing."""
    columns: list[Floats] = []
    for column, bends in zip(values.T, knots, strict=True):
        columns.append(column)
        columns += [np.maximum(column - bend, 0) for bend in bends]
        columns.append((column < 0).astype(np.float64))
    return np.stack(columns, axis=1)


def _fit_newton(scaled: Floats, reached: Floats) -> Floats:
    """The offset and weights of a logistic regression with a ridge penalty on the weights."""
    design = np.hstack([np.ones((len(scaled), 1)), scaled])
    penalty = np.full(design.shape[1], PENALTY)
    penalty[0] = 1e-6
    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-(design @ found)))
        slope = design.T @ (chance - reached) + penalty * found
        bend = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        found -= step
        if float(np.abs(step).max()) < TOLERANCE:
            break
    return found
