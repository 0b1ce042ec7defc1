"""The model that a calibration is."""

import numpy as np
import pytest
from numpy.typing import NDArray

from recall_bench.features.judges.calibration_fit import fit_weights
from recall_bench.judging.offline.calibration import GOALS, AdditiveModel, Floats

RNG = np.random.default_rng(11)


Flags = NDArray[np.bool_]


def columns(reached: Flags) -> Floats:
    return np.repeat(reached[:, None], len(GOALS), axis=1).astype(np.float64)


def chances(names: list[str], values: Floats, reached: Flags) -> list[float]:
    model = AdditiveModel(fit_weights(names, values, columns(reached)))
    rows = (dict(zip(names, map(float, row), strict=True)) for row in values)
    return [model.predict(row).get_pass_chance("grounded") for row in rows]


def test_it_learns_what_rises_and_falls() -> None:
    values = RNG.uniform(0, 1, (3000, 2))
    reached = np.abs(values[:, 0] - 0.5) < 0.2
    found = np.array(chances(["x", "noise"], values, reached))
    inside, outside = found[reached].mean(), found[~reached].mean()
    assert inside > outside + 0.35


def test_where_there_is_nothing_is_distinguished_from_zero() -> None:
    values = np.where(RNG.random((2000, 1)) < 0.5, -1.0, RNG.uniform(0, 1, (2000, 1)))
    reached = values[:, 0] < 0
    found = np.array(chances(["x"], values, reached))
    assert found[reached].min() > 0.8
    assert found[~reached].max() < 0.2


def test_its_probabilities_are_those_of_the_data() -> None:
    values = RNG.uniform(0, 1, (6000, 1))
    reached = RNG.random(6000) < 0.2 + 0.6 * values[:, 0]
    found = np.array(chances(["x"], values, reached))
    for low in (0.0, 0.25, 0.5, 0.75):
        part = (values[:, 0] >= low) & (values[:, 0] < low + 0.25)
        assert found[part].mean() == pytest.approx(reached[part].mean(), abs=0.03)


def test_a_number_that_never_changes_has_no_say() -> None:
    values = np.hstack([RNG.uniform(0, 1, (500, 1)), np.full((500, 1), 3.0)])
    sums = fit_weights(["x", "constant"], values, columns(values[:, 0] > 0.5))
    assert all(abs(weight) < 1e-6 for row in sums.curves[1].weights for weight in row)


def test_the_same_data_give_the_same_model() -> None:
    values = RNG.uniform(0, 1, (400, 3))
    reached = columns(values[:, 0] > values[:, 1])
    assert fit_weights(["a", "b", "c"], values, reached) == fit_weights(
        ["a", "b", "c"], values, reached
    )
