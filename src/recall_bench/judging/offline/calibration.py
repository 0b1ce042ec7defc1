"""From features to probabilities: a small additive model, trained offline.

Each feature enters as a piecewise linear function with a few knots. The weighted sum is the
log-odds that a mark reaches a number of points. There is one sum for each point of each mark, and a
separate set for answers without readable evidence. The weights are data, trained by
`recall-bench judge-lab calibrate`.
"""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import accumulate, islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from recall_bench.core.record import Record
from recall_bench.core.verdict import PASS, SCALES

Floats = NDArray[np.float64]

CALIBRATION_FILE = "calibration.json"

GOALS = tuple((mark, points) for mark, top in SCALES.items() for points in range(1, top + 1))
"""Every point of every mark, in order: one probability each."""


class FeatureCurve(Record, frozen=True, kw_only=True):
    """The weights of one feature."""

    name: str
    least: float
    most: float
    """The training range; values beyond it count as its end."""
    knots: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    """For each goal: the slope, its change at each knot, and the weight of a missing feature."""


class ModelWeights(Record, frozen=True, kw_only=True):
    """The model for answers with, or without, evidence."""

    offsets: tuple[float, ...]
    """For each goal."""
    curves: tuple[FeatureCurve, ...]


def digest_question(question: str) -> str:
    """A short digest of a question's text."""
    return sha256(" ".join(question.lower().split()).encode()).hexdigest()[:12]


class Training(Record, frozen=True, kw_only=True):
    """What the weights were trained on."""

    answers: int
    questions: int
    traces: tuple[str, ...]
    """Digests of the training questions, to recognise them later."""
    penalty: float


class Calibration(Record, frozen=True, kw_only=True):
    """Both models and their training."""

    training: Training
    with_evidence: ModelWeights
    without_evidence: ModelWeights


def scale_odds(chance: float, factor: float) -> float:
    """The chance whose odds are those of this one, multiplied."""
    return factor * chance / (1.0 - chance + factor * chance)


@dataclass(frozen=True, slots=True)
class PassChances:
    """The chance that an answer deserves at least each number of points, by mark; never rising."""

    chances: dict[str, tuple[float, ...]]

    def get_pass_chance(self, mark: str) -> float:
        """The probability of a pass."""
        return self.chances[mark][PASS[mark] - 1]

    def count_points(self, mark: str) -> int:
        """The number of points that are more likely deserved than not."""
        return sum(chance >= 0.5 for chance in self.chances[mark])

    def scale_odds(self, factor: float) -> "PassChances":
        """The same, with the odds of every point multiplied."""
        return PassChances(
            {
                mark: tuple(scale_odds(each, factor) for each in found)
                for mark, found in self.chances.items()
            }
        )

    def limit(self, mark: str, chance: float) -> "PassChances":
        """The same, with no chance of the mark above this one."""
        capped = tuple(min(each, chance) for each in self.chances[mark])
        return PassChances(self.chances | {mark: capped})

    def ensure(self, mark: str, chance: float) -> "PassChances":
        """The same, with the chance of a pass in the mark at least this one."""
        passing = PASS[mark]
        found = self.chances[mark]
        raised = (*(max(each, chance) for each in found[:passing]), *found[passing:])
        return PassChances(self.chances | {mark: raised})


class AdditiveModel:
    """A model ready for use."""

    def __init__(self, sums: ModelWeights) -> None:
        self.names = tuple(curve.name for curve in sums.curves)
        self._knots = [np.array(curve.knots, dtype=np.float64) for curve in sums.curves]
        self._least = np.array([curve.least for curve in sums.curves], dtype=np.float64)
        self._most = np.array([curve.most for curve in sums.curves], dtype=np.float64)
        self._flat = np.concatenate(self._knots)
        self._owner = np.repeat(np.arange(len(self._knots)), [len(k) for k in self._knots])
        parts = [np.array(curve.weights, dtype=np.float64) for curve in sums.curves]
        own = np.array([part[:, 0] for part in parts])
        bends = np.concatenate([part[:, 1:-1].T for part in parts])
        nothing = np.array([part[:, -1] for part in parts])
        self._weights = np.concatenate([own, bends, nothing])
        self._offsets = np.array(sums.offsets, dtype=np.float64)

    def predict(self, numbers: dict[str, float]) -> PassChances:
        """The chances for these features; all of them must be there."""
        values = np.fromiter(map(numbers.__getitem__, self.names), np.float64, len(self.names))
        values = np.minimum(np.maximum(values, self._least), self._most)
        bent = np.maximum(values[self._owner] - self._flat, 0)
        odds = np.concatenate((values, bent, values < 0)) @ self._weights + self._offsets
        return make_pass_chances(1 / (1 + np.exp(-odds)))


def make_pass_chances(chances: Floats) -> PassChances:
    """The chances of all goals by mark; more points are never likelier than fewer."""
    found: dict[str, tuple[float, ...]] = {}
    listed = iter(chances.tolist())
    for mark, top in SCALES.items():
        found[mark] = tuple(accumulate(islice(listed, top), min))
    return PassChances(found)


@cache
def load_calibration() -> Calibration:
    """The calibration shipped with the package."""
    raw = files(__package__ or "").joinpath(CALIBRATION_FILE).read_bytes()
    return msgspec.json.decode(raw, type=Calibration)


@cache
def load_model(*, with_evidence: bool) -> AdditiveModel:
    """The shipped model for answers with, or without, evidence."""
    calibration = load_calibration()
    return AdditiveModel(
        calibration.with_evidence if with_evidence else calibration.without_evidence
    )


def encode_calibration(calibration: Calibration) -> bytes:
    """The file's bytes, indented so that two trainings can be compared."""
    raw: dict[str, Any] = msgspec.to_builtins(calibration)
    return msgspec.json.format(msgspec.json.encode(raw), indent=1) + b"\n"
