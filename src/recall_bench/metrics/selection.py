"""Scores of a selection against what was expected, and the power of a suite."""

from collections.abc import Collection
from enum import StrEnum

from recall_bench.core.record import ComputedRecord

PROTOCOL, EVAL_VERSION = "selection/exact", "exact-1"
"""How tests are scored, and the version of it that plans and reports declare."""


class SelectionOutcome(StrEnum):
    """The three classes that partition all selections, and two outcomes without a class."""

    PERFECT = "PERFECT"
    """Nothing missing, nothing extra."""
    OVERRECALL = "OVERRECALL"
    """Nothing missing, something extra."""
    UNDERRECALL = "UNDERRECALL"
    """Something missing, whether or not something is extra."""
    ERROR = "ERROR"
    """The selector failed. Not counted in any class or mean."""
    SKIP = "SKIP"
    """The prompt is empty and was not asked."""


CLASSES = (SelectionOutcome.PERFECT, SelectionOutcome.OVERRECALL, SelectionOutcome.UNDERRECALL)
NO_CLASS = (SelectionOutcome.ERROR, SelectionOutcome.SKIP)


class SelectionComparison(Record, frozen=True, kw_only=True):
    """One selection compared with the expected one."""

    outcome: SelectionOutcome
    missing: tuple[str, ...]
    """Expected and not recalled, in the order of the test."""
    extra: tuple[str, ...]
    """Recalled and not expected, in the order of the selector."""
    precision: float | None
    """None where nothing was recalled."""
    recall: float | None
    """None where nothing was expected."""
    f1: float
    """1 where nothing was expected and nothing recalled."""
    jaccard: float


def compare_selection(expected: Collection[str], recalled: Collection[str]) -> SelectionComparison:
    """The class of a selection, and its scores."""
    missing = tuple(name for name in expected if name not in recalled)
    extra = tuple(name for name in recalled if name not in expected)
    both = len(expected) - len(missing)
    union = len(expected) + len(extra)
    within = SelectionOutcome.OVERRECALL if extra else SelectionOutcome.PERFECT
    outcome = SelectionOutcome.UNDERRECALL if missing else within
    total = len(expected) + len(recalled)
    return SelectionComparison(
        outcome=outcome,
        missing=missing,
        extra=extra,
        precision=both / len(recalled) if recalled else None,
        recall=both / len(expected) if expected else None,
        f1=2 * both / total if total else 1.0,
        jaccard=both / union if union else 1.0,
    )


POWER = 0.8
"""Wanted probability of detecting the difference."""
DISAGREEMENT = 0.3
"""Assumed share of tests that are PERFECT for only one of two versions."""

_Z_POWER = NormalDist().inv_cdf(POWER)
_STEPS = 20
"""Bisection steps: more digits than are printed."""
_FAR = 5
"""Standard deviations around the mean number of differing tests that are summed."""
_MANY = 500


def find_detectable(tests: int, disagreement: float = DISAGREEMENT) -> float | None:
    """The smallest difference of shares that is detected between two versions on the same tests.

    `disagreement` is the probability that a test is PERFECT for one of them only, so the number of
    such tests is random as well. None if even all of them in one direction would not be enough.
    """
    splits = _list_splits(tests, disagreement)
    low, high = 0.5, 1.0
    if _compute_power(splits, high) < POWER:
        return None
    for _ in range(_STEPS):
        share = (low + high) / 2
        low, high = (low, share) if _compute_power(splits, share) >= POWER else (share, high)
    return (2 * high - 1) * disagreement


def find_detectable_apart(tests: int, share: float = 0.5) -> float | None:
    """The same for two versions on different tests, that many each: needs far more tests."""
    smallest = (Z + _Z_POWER) * sqrt(2 * share * (1 - share) / tests)
    return smallest if smallest <= 1 else None


def describe_power(tests: int) -> str:
    """What a suite of that many tests can show, in words."""
    low, high = compute_wilson(tests / 2, tests)
    known = f"a share of a half is known to {low:.0%} to {high:.0%}"
    count = f"{tests} test{'s' * (tests != 1)}"
    smallest = find_detectable_share(tests)
    if smallest is None:
        return f"{count}: too few to tell two versions apart; {known}"
    return (
        f"{count}: two versions on the same tests can be told apart if they differ by about "
        f"{100 * smallest:.0f} points (where {DISAGREEMENT:.0%} of the tests are perfect for one "
        f"of the two only); {known}"
    )


def _list_splits(tests: int, disagreement: float) -> list[tuple[float, int, int]]:
    """Probability of each number of differing tests, and the most that may go the other way.

    Very improbable numbers are left out, and so are those too small to be significant.
    """
    middle = round(tests * disagreement)
    reach = ceil(_FAR * sqrt(tests * disagreement * (1 - disagreement)))
    if tests > _MANY:
        # The number of differing tests is then so close to its mean that the power is the same.
        reach = 0
    found = []
    for differing in range(max(0, middle - reach), min(tests, middle + reach) + 1):
        most = _find_most(differing)
        if most is not None:
            weight = exp(_compute_log_chance(differing, tests, disagreement)) if reach else 1.0
            found.append((weight, differing, most))
    return found


def _find_most(differing: int) -> int | None:
    """The most tests in one direction for which the exact test is significant; None if none."""
    tail, found = 0.0, None
    for k in range(differing // 2 + 1):
        tail += exp(_compute_log_chance(k, differing, 0.5))
        if 2 * tail > 1 - LEVEL:
            break
        found = k
    return found


def _compute_power(splits: list[tuple[float, int, int]], share: float) -> float:
    """Probability of a significant split if each differing test is better with this share."""
    return sum(
        weight
        * (_compute_at_most(most, differing, 1 - share) + _compute_at_most(most, differing, share))
        for weight, differing, most in splits
    )


def _compute_at_most(most: int, of: int, share: float) -> float:
    """The binomial probability of at most `most`."""
    if share in (0.0, 1.0):
        return 1.0 if share == 0.0 or most >= of else 0.0
    import numpy as np

    table = _get_log_factorials(of + 1)
    k = np.arange(most + 1)
    logs = table[of] - table[k] - table[of - k] + k * log(share) + (of - k) * log(1 - share)
    return float(np.exp(logs).sum())


@lru_cache(maxsize=1)
def _compute_log_factorials(size: int) -> "Floats":
    import numpy as np

    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size)))])


def _get_log_factorials(size: int) -> "Floats":
    """Logarithms of factorials, for at least `size` numbers."""
    return _compute_log_factorials(1 << max(10, size.bit_length()))


def _compute_log_chance(count: int, of: int, share: float) -> float:
    """The logarithm of the binomial probability of `count`; the share is neither 0 nor 1."""
    ways = lgamma(of + 1) - lgamma(count + 1) - lgamma(of - count + 1)
    return ways + count * log(share) + (of - count) * log(1 - share)
