"""Statistical power: the difference that a number of questions detects, and the reverse.

Two systems answer the same questions, so what matters is how much their difference varies between
questions. Asking a question again helps only as far as its answers vary.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from recall_bench.core.errors import UsageError
from recall_bench.core.record import ComputedRecord
from recall_bench.metrics.bootstrap import ResampledUnit, TrialGroups, group_trials

ALPHA: Final = 0.05
"""How often a difference may be claimed where there is none."""
POWER: Final = 0.8
"""How often a true difference should be detected."""

_MAX_QUESTIONS = 10**9
"""The search for a number of questions gives up here."""
_STEPS = 40


class DifferenceSpread(ComputedRecord, frozen=True, kw_only=True):
    """How much the differences between two systems vary."""

    deviation: float
    """The standard deviation of the difference on one trial."""
    correlation: float = 0.0
    """The correlation of the differences on one question."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.deviation > 0 and math.isfinite(self.deviation)):
            raise UsageError(f"a standard deviation of {self.deviation:g} is not above 0")
        if not 0 <= self.correlation <= 1:
            raise UsageError(f"a correlation of {self.correlation:g} is not between 0 and 1")

    def compute_question_deviation(self, asks: float = 1) -> float:
        """The standard deviation of the mean difference of a question asked `asks` times."""
        if not asks >= 1:
            raise UsageError(f"a question cannot be asked {asks:g} times; give 1 or more")
        return self.deviation * math.sqrt((1 + (asks - 1) * self.correlation) / asks)


def measure_spread(
    differences: Sequence[float], questions: Sequence[str]
) -> DifferenceSpread | None:
    """Measure the spread of differences by analysis of variance.

    The correlation is 1 where no question was asked twice, the careful assumption that asking
    again adds nothing. None for fewer than two questions, or where nothing varies.
    """
    values = np.asarray(differences, np.float64)
    groups = group_trials(questions, [""] * len(questions))
    if groups.questions < 2 or np.ptp(values) == 0:
        return None
    sizes = np.bincount(groups.question).astype(np.float64)
    means = np.bincount(groups.question, weights=values) / sizes
    trials, count = float(sizes.sum()), groups.questions
    between = float(sizes @ (means - values.mean()) ** 2) / (count - 1)
    if trials == count:
        return DifferenceSpread(deviation=math.sqrt(between), correlation=1.0)
    within = float(((values - means[groups.question]) ** 2).sum()) / (trials - count)
    usual = (trials - float(sizes @ sizes) / trials) / (count - 1)
    alike = max(0.0, (between - within) / usual)
    return DifferenceSpread(
        deviation=math.sqrt(alike + within), correlation=alike / (alike + within)
    )


def compute_standard_error(
    differences: Sequence[float],
    groups: TrialGroups,
    drawn: ResampledUnit = ResampledUnit.QUESTIONS,
) -> tuple[float, int] | None:
    """Compute the standard error of a mean difference, and the number of clusters behind it.

    None for fewer than two clusters.
    """
    if not len(differences):
        return None
    values = np.asarray(differences, np.float64)
    off = groups.sum_columns((values - values.mean())[:, np.newaxis], drawn)[:, 0]
    clusters = len(off)
    if clusters < 2:
        return None
    return math.sqrt(clusters / (clusters - 1) * float(off @ off)) / len(values), clusters


def compute_power(difference: float, error: float, clusters: int, *, alpha: float = ALPHA) -> float:
    """Compute how often Student's test over the clusters detects a true difference."""
    from scipy.special import nctdtr, stdtrit

    if error == 0:
        return 1.0 if difference else alpha
    freedom, shift = clusters - 1, abs(difference) / error
    edge = float(stdtrit(freedom, 1 - alpha / 2))
    missed = float(nctdtr(freedom, shift, edge) - nctdtr(freedom, shift, -edge))
    # Far out scipy sometimes returns NaN: nothing is missed there.
    return 1.0 if math.isnan(missed) and shift > edge else 1.0 - missed


def find_detectable(
    error: float, clusters: int, *, alpha: float = ALPHA, power: float = POWER
) -> float:
    """Find the smallest true difference that is detected with this power."""
    _check_levels(alpha, power)
    if clusters < 2:
        raise UsageError("one question cannot show a difference; ask two or more")
    low, high = 0.0, error
    while compute_power(high, error, clusters, alpha=alpha) < power:
        low, high = high, 2 * high
    return bisect_threshold(
        lambda size: compute_power(size, error, clusters, alpha=alpha) >= power, low, high
    )


def find_sample_size(
    difference: float,
    spread: DifferenceSpread,
    *,
    asks: float = 1,
    alpha: float = ALPHA,
    power: float = POWER,
) -> int:
    """Find the number of questions that detects a true difference with this power."""
    _check_levels(alpha, power)
    if not (math.isfinite(difference) and difference):
        raise UsageError(f"a difference of {difference:g} cannot be detected; give another")
    deviation = spread.compute_question_deviation(asks)

    def is_enough(questions: int) -> bool:
        error = deviation / math.sqrt(questions)
        return compute_power(difference, error, questions, alpha=alpha) >= power

    low, high = 1, 2
    while not is_enough(high):
        low, high = high, 2 * high
        if high > _MAX_QUESTIONS:
            raise UsageError(
                f"a difference of {difference:g} takes more than {_MAX_QUESTIONS:,} questions; "
                "give a larger one"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _check_levels(alpha: float, power: float) -> None:
    if not 0 < alpha < power < 1:
        raise UsageError(f"alpha {alpha:g} and power {power:g} must be 0 < alpha < power < 1")


def find_fewest_questions(alpha: float = ALPHA) -> int:
    """Find the number of questions below which no sign-flip p-value can be this small."""
    return math.ceil(1 - math.log2(alpha))


def bisect_threshold(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    """Find the least value that is enough, between one that is not and one that is."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
