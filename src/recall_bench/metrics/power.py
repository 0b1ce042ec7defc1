"""What so many questions can show, and how many it takes, before anything is spent.

Two systems are put to the same questions, so what counts is how much their difference varies from
question to question. Asking one question again helps only as far as the answers to it vary.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from recall_bench.core.errors import UsageError
from recall_bench.core.record import Record
from recall_bench.metrics.bootstrap import ResampledUnit, TrialGroups, group_trials

ALPHA: Final = 0.05
"""How often a difference may be claimed where there is none."""
POWER: Final = 0.8
"""How often a difference of the size in question is to be noticed."""

_MOST = 10**9
_STEPS = 40


class DifferenceSpread(Record, frozen=True, kw_only=True):
    """How far differences between two systems vary, trial by trial."""

    deviation: float
    """The standard deviation of the difference on one trial."""
    correlation: float = 0.0
    """How alike the differences on one question are: 0 not at all, 1 the same each time."""

    def __post_init__(self) -> None:
        if not (self.deviation > 0 and math.isfinite(self.deviation)):
            raise UsageError(f"a standard deviation of {self.deviation:g} is not above 0")
        if not 0 <= self.correlation <= 1:
            raise UsageError(f"a correlation of {self.correlation:g} is not between 0 and 1")

    def compute_question_deviation(self, asks: float = 1) -> float:
        """The standard deviation of a question's mean difference, asked so many times."""
        if not asks >= 1:
            raise UsageError(f"a question cannot be asked {asks:g} times; it takes 1 or more")
        return self.deviation * math.sqrt((1 + (asks - 1) * self.correlation) / asks)


def measure_spread(
    differences: Sequence[float], questions: Sequence[str]
) -> DifferenceSpread | None:
    """The spread seen in differences, each of a question, by analysis of variance.

    The correlation is 1 where no question was asked twice, the careful guess: re-asks are then
    taken to add nothing. None for fewer than two questions, or where nothing varies.
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
    """How far a mean difference is off by chance, and how many questions, or personas, say so.

    These are what varies, however many trials each has. None for fewer than two.
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
    """How often a true difference is noticed, given the standard error of its estimate.

    By Student's test over so many questions, or personas.
    """
    from scipy.special import nctdtr, stdtrit

    if error == 0:
        return 1.0 if difference else alpha
    freedom, shift = clusters - 1, abs(difference) / error
    edge = float(stdtrit(freedom, 1 - alpha / 2))
    missed = float(nctdtr(freedom, shift, edge) - nctdtr(freedom, shift, -edge))
    # So far out the library sometimes has no figure: nothing is missed there.
    return 1.0 if math.isnan(missed) and shift > edge else 1.0 - missed


def find_detectable(
    error: float, clusters: int, *, alpha: float = ALPHA, power: float = POWER
) -> float:
    """The smallest true difference that is noticed as often as `power` says."""
    _check_levels(alpha, power)
    if clusters < 2:
        raise UsageError("one question shows no difference, however large; ask two or more")
    low, high = 0.0, error
    while compute_power(high, error, clusters, alpha=alpha) < power:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        noticed = compute_power(middle, error, clusters, alpha=alpha) >= power
        low, high = (low, middle) if noticed else (middle, high)
    return high


def find_sample_size(
    difference: float,
    spread: DifferenceSpread,
    *,
    asks: float = 1,
    alpha: float = ALPHA,
    power: float = POWER,
) -> int:
    """How many different questions it takes to notice a true difference that often."""
    _check_levels(alpha, power)
    if not (math.isfinite(difference) and difference):
        raise UsageError(f"a difference of {difference:g} cannot be looked for; name another")
    deviation = spread.compute_question_deviation(asks)

    def is_enough(questions: int) -> bool:
        error = deviation / math.sqrt(questions)
        return compute_power(difference, error, questions, alpha=alpha) >= power

    low, high = 1, 2
    while not is_enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise UsageError(
                f"a difference of {difference:g} takes more than {_MOST:,} questions; "
                "look for a larger one"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _check_levels(alpha: float, power: float) -> None:
    if not 0 < alpha < power < 1:
        raise UsageError(f"alpha {alpha:g} and power {power:g} must be 0 < alpha < power < 1")
