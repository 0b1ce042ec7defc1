"""How far one version of a selector is from another that was put to the same tests."""

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import fmean

from recall_bench.core.record import Record
from recall_bench.metrics.pairs import compare_pairs
from recall_bench.metrics.shares import compute_mcnemar, compute_wilson

Trials = Sequence[bool]
"""Whether a test was PERFECT, each time it came to a class."""


class SelectionChange(Record, frozen=True, kw_only=True):
    """What the later version has more of, in its share of PERFECT, over the tests of both."""

    tests: int
    """Those that came to a class in both."""
    left_out: int
    """Those that failed or were not put in one of the two: they are in no figure here."""
    value: float
    interval: tuple[float, float] | None
    """At 95 %; None where a single test says nothing about others."""
    better: int
    """Tests that were PERFECT more often than before."""
    worse: int
    p: float
    """How likely at least so uneven a split of the two is by chance: exact and two-sided."""


def measure_change(
    before: Mapping[str, Trials], after: Mapping[str, Trials]
) -> SelectionChange | None:
    """The change from one version to the next, test by test; None if no test came to both.

    Where every test was put once, the interval is Newcombe's for paired shares and p is the exact
    McNemar test. With repeats a test counts once, by its share, whole tests are drawn again for
    the interval, and p is the same test on the tests that rose and fell.
    """
    both = sorted(name for name in before.keys() & after.keys() if before[name] and after[name])
    if not both:
        return None
    pairs = [(fmean(before[name]), fmean(after[name])) for name in both]
    rises = [new - old for old, new in pairs]
    better, worse = sum(rise > 0 for rise in rises), sum(rise < 0 for rise in rises)
    if all(len(before[name]) == len(after[name]) == 1 for name in both):
        interval: tuple[float, float] | None = _compute_newcombe(
            sum(old == new == 1 for old, new in pairs), better, worse, len(both)
        )
    else:
        found = compare_pairs(rises, both, ["suite"] * len(both))
        interval = None if found is None else found.interval
    return SelectionChange(
        tests=len(both),
        left_out=len(before.keys() | after.keys()) - len(both),
        value=fmean(rises),
        interval=interval,
        better=better,
        worse=worse,
        p=compute_mcnemar(better, worse),
    )


def _compute_newcombe(always: int, better: int, worse: int, tests: int) -> tuple[float, float]:
    """The interval of a difference of paired shares (Newcombe 1998, method 10).

    It does not shrink to nothing where no test changed, as drawing tests again would.
    """
    never = tests - always - better - worse
    new, old = always + better, always + worse
    low_new, high_new = compute_wilson(new, tests)
    low_old, high_old = compute_wilson(old, tests)
    share_new, share_old = new / tests, old / tests
    alike = always * never - better * worse
    # The correction keeps few tests from looking more alike than they are.
    alike_corrected = max(alike - tests / 2, 0) if alike > 0 else alike
    spread = sqrt(new * (tests - new) * old * (tests - old))
    phi = alike_corrected / spread if spread else 0.0
    below = _combine_errors(share_new - low_new, high_old - share_old, phi)
    above = _combine_errors(high_new - share_new, share_old - low_old, phi)
    return max(-1.0, share_new - share_old - below), min(1.0, share_new - share_old + above)


def _combine_errors(one: float, other: float, phi: float) -> float:
    return sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))
