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

DISAGREEMENT: Final = 0.3
"""The assumed share of tests that only one of two versions passes."""

_MAX_QUESTIONS = 10**9
"""The search for a number of questions gives up here."""
_STEPS = 40
_FAR = 5
"""Numbers of differing tests further from the mean, in standard deviations, are ignored."""
_MANY_TESTS = 500
"""From this many tests on, the number that differ is taken to be its mean."""


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
    return _bisect(
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


def find_detectable_share(tests: int, disagreement: float = DISAGREEMENT) -> float | None:
    """Find the smallest difference of two paired shares that McNemar's exact test detects.

    `disagreement` is the probability that only one of the two versions passes a test. None if
    even a one-sided disagreement would not be detected.
    """
    splits = _list_splits(tests, disagreement)

    def detects(share: float) -> bool:
        return _compute_split_power(splits, share) >= POWER

    if not detects(1.0):
        return None
    return (2 * _bisect(detects, 0.5, 1.0) - 1) * disagreement


def _bisect(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _list_splits(tests: int, disagreement: float) -> list[tuple[float, int, int]]:
    """List the likely numbers of differing tests: weight, number, and most losses allowed."""
    from scipy.special import bdtr

    middle = round(tests * disagreement)
    reach = math.ceil(_FAR * math.sqrt(tests * disagreement * (1 - disagreement)))
    if tests > _MANY_TESTS:
        reach = 0
    found = []
    for differing in range(max(0, middle - reach), min(tests, middle + reach) + 1):
        tails = 2 * bdtr(np.arange(differing // 2 + 1), differing, 0.5)
        allowed = int(np.searchsorted(tails, ALPHA, side="right"))
        if allowed:
            below = float(bdtr(differing - 1, tests, disagreement)) if differing else 0.0
            weight = float(bdtr(differing, tests, disagreement)) - below if reach else 1.0
            found.append((weight, differing, allowed - 1))
    return found


def _compute_split_power(splits: list[tuple[float, int, int]], share: float) -> float:
    """Compute how often the split is uneven enough, if a differing test is won with `share`."""
    from scipy.special import bdtr

    return sum(
        weight * float(bdtr(most, differing, 1 - share) + bdtr(most, differing, share))
        for weight, differing, most in splits
    )
