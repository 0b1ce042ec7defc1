"""Whether the order of two systems depends on the judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from recall_bench.core.plain_text import join_words
from recall_bench.metrics.comparison import PairedComparison
from recall_bench.reporting.formats import OF_100, format_delta, format_p


class OrderAgreement(StrEnum):
    """What several judges say about the order of two systems."""

    SAME = "same"
    """All find the same one better, or none finds a significant difference."""
    SIGNIFICANCE = "significance"
    """The difference is significant by some judges, and not by others."""
    REVERSED = "reversed"
    """Some find the first one better, others the second; not all of that is significant."""
    CONTRADICTED = "contradicted"
    """One system is significantly better by one judge, and the other one by another."""


@dataclass(frozen=True, slots=True)
class JudgedDifference:
    """The difference of two systems by one judge."""

    judge: str
    comparison: PairedComparison
    is_significant: bool

    @property
    def direction(self) -> int:
        """1 if the second system has more points, -1 if it has fewer, 0 if as many."""
        value = self.comparison.difference.value
        return (value > 0) - (value < 0)

    def __str__(self) -> str:
        points = format_delta(self.comparison.difference.value * OF_100, 1)
        adjusted = "" if self.comparison.p_adjusted is None else "adjusted "
        p_value = format_p(self.comparison.final_p, sign=True)
        return f"{points} by {self.judge}, {adjusted}{p_value}"


def classify_order(found: Sequence[JudgedDifference]) -> OrderAgreement:
    """Classify what the judges say about the order."""
    certain = {each.direction for each in found if each.is_significant}
    if len(certain) > 1:
        return OrderAgreement.CONTRADICTED
    if {1, -1} <= {each.direction for each in found} and certain:
        return OrderAgreement.REVERSED
    if len({each.is_significant for each in found}) > 1:
        return OrderAgreement.SIGNIFICANCE
    return OrderAgreement.SAME


def describe_order(found: Sequence[JudgedDifference], first: str, second: str) -> str:
    """What the judges say about the order of two systems, in a sentence."""
    said = "; ".join(map(str, found))
    match classify_order(found):
        case OrderAgreement.CONTRADICTED:
            certain = [each for each in found if each.is_significant]
            up = join_words(each.judge for each in certain if each.direction > 0)
            down = join_words(each.judge for each in certain if each.direction < 0)
            return (
                f"the order of {first} and {second} depends on the judge: {second} is better by "
                f"{up}, and {first} by {down} ({said})"
            )
        case OrderAgreement.REVERSED:
            return (
                f"the order of {first} and {second} depends on the judge, though only one order is "
                f"significant ({said})"
            )
        case OrderAgreement.SIGNIFICANCE:
            yes = join_words(each.judge for each in found if each.is_significant)
            no = join_words(each.judge for each in found if not each.is_significant)
            return (
                f"the difference between {first} and {second} is significant by {yes}, and not by "
                f"{no} ({said})"
            )
        case OrderAgreement.SAME:
            if not any(each.is_significant for each in found):
                return (
                    f"no judge of {len(found)} finds a significant difference between {first} and "
                    f"{second} ({said})"
                )
            return f"all {len(found)} judges agree on the order of {first} and {second} ({said})"
