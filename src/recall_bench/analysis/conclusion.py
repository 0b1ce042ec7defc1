"""What a comparison comes to, in a sentence that claims no more than the data do."""

from collections.abc import Sequence

from recall_bench.analysis.contrasts import Contrast, RunCard
from recall_bench.analysis.figures import format_delta, format_interval, format_p
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.summary import RunStatus
from recall_bench.statistics.comparison import PairedComparison
from recall_bench.statistics.estimate import IntervalMethod
from recall_bench.statistics.power import ALPHA


def describe_conclusion(contrast: Contrast, runs: Sequence[RunCard]) -> str:
    """Which run is better and how sure that is, or what a difference would have had to be."""
    both = runs[0], next(run for run in runs if run.letter == contrast.letter)
    first, second = map(_name_run, both)
    if contrast.is_identical:
        return (
            f"{second} and {first} are identical: each of the {contrast.owed:,} trials that both "
            "owe came to the same"
        )
    found = contrast.overall.comparison
    if is_significant(found):
        sentence = _describe_winner(contrast, first, second)
    else:
        sentence = (
            f"no difference between {first} and {second} can be told: {describe_difference(found)}"
        )
        sentence += _describe_limit(found)
    if found.difference.is_small:
        sentence += f"; {found.difference.questions} questions are few, and the interval may be off"
    for run in both:
        if run.status is not RunStatus.VALID:
            sentence += (
                f"; {run.letter} is {run.status.value}, and {found.difference.trials:,} of "
                f"{contrast.owed:,} trials that both owe could be compared"
            )
    conditions = [each.what for each in contrast.unlike if each.is_condition]
    if conditions:
        sentence += f"; but the runs differ in {' and '.join(conditions)}, which may be all of it"
    return sentence


def is_significant(comparison: PairedComparison) -> bool:
    """Whether the p-value, adjusted where it is one of several, is small enough."""
    adjusted = comparison.p_adjusted
    return (comparison.p_value if adjusted is None else adjusted) <= ALPHA


def describe_difference(comparison: PairedComparison) -> str:
    """The difference with its interval and its p-value."""
    words = f"{format_delta(comparison.difference.value)} points of {FULL_MARKS}"
    if (interval := format_interval(comparison.difference)) is not None:
        words += f" ({comparison.difference.level:.0%}".replace("%", " %") + f" {interval})"
    words += f", {format_p(comparison.p_value, sign=True)}"
    if comparison.p_adjusted is not None:
        words += f", adjusted for several runs {format_p(comparison.p_adjusted)}"
    return words


def _describe_winner(contrast: Contrast, first: str, second: str) -> str:
    found = contrast.overall.comparison
    is_up = found.difference.value > 0
    words = "is better than" if is_up else "is worse than"
    if any(each.is_condition for each in contrast.unlike):
        # The marks are higher; whether the system is better cannot be known from them.
        words = "scored higher than" if is_up else "scored lower than"
    sentence = f"{second} {words} {first}: {describe_difference(found)}"
    if found.difference.method is IntervalMethod.PERSONAS and not found.difference.excludes_zero:
        sentence += (
            "; this holds for these personas, and the interval, which is for others like them, "
            "leaves it open"
        )
    return sentence


def _describe_limit(found: PairedComparison) -> str:
    if not found.wins + found.losses:
        return "; no question came to other points"
    if found.detectable is None:
        return "; so few questions could not have shown any difference"
    return f"; a difference below {found.detectable:.2f} could not have been seen reliably"


def _name_run(run: RunCard) -> str:
    return f"{run.letter} ({run.system})"
