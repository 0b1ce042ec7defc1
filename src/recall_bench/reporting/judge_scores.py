"""Systems by each of several judges: the range of a score, and what depends on the judge."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import TypeVar

from recall_bench.core.plain_text import join_words
from recall_bench.core.record import ComputedRecord
from recall_bench.engine.runs.counted_marks import POINTS
from recall_bench.metrics.bootstrap import RESAMPLES
from recall_bench.metrics.comparison import (
    MarkPair,
    PairedComparison,
    TrialMarks,
    compare_each,
)
from recall_bench.reporting.formats import (
    OF_100,
    format_delta,
    format_p,
    format_score,
    format_sentence,
)

K = TypeVar("K", bound=Hashable)
JUDGES_HEAD = "judges"
"""The head of a column with the range of a score over judges."""


class JudgeMean(ComputedRecord, frozen=True, kw_only=True):
    """The score of a system by one judge."""

    judge: str
    mean: float
    """Points of six, over the trials that every judge has marked."""


def list_judge_means(points: Mapping[str, TrialMarks]) -> tuple[JudgeMean, ...]:
    """List the score by each judge that judged anything, over the trials that all of them marked.

    Otherwise a judge that failed at the hard questions would seem a mild one. There is none for a
    single judge, and none if no trial is marked by all.
    """
    judged = {name: marks for name, marks in points.items() if marks}
    common = set.intersection(*map(set, judged.values())) if len(judged) > 1 else set()
    if not common:
        return ()
    return tuple(
        JudgeMean(judge=name, mean=fmean(mark for trial, mark in marks.items() if trial in common))
        for name, marks in judged.items()
    )


def format_judge_range(means: Sequence[JudgeMean]) -> str | None:
    """The lowest and the highest score of 100; None without several judges."""
    if not means:
        return None
    values = [mean.mean for mean in means]
    return f"{format_score(min(values), 1)}–{format_score(max(values), 1)}"


def describe_judge_column(names: Sequence[str]) -> str:
    """What the column shows, in a sentence."""
    return (
        f"{JUDGES_HEAD}: the lowest and the highest score by {', '.join(names)}, over the answers "
        "that all of them have marked; the first gives the score and all other figures."
    )


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

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant by this judge."""
        return self.comparison.is_significant

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


def compare_by_judge(
    pairs: Mapping[str, Mapping[K, MarkPair]], *, resamples: int = RESAMPLES
) -> dict[K, list[JudgedDifference]]:
    """Compare the two systems of each pair by every judge.

    The p-values of one judge are adjusted over all its pairs, as those of the first judge are.
    """
    differences: dict[K, list[JudgedDifference]] = {}
    for judge, named in pairs.items():
        for key, comparison in compare_each(named, limits=POINTS, resamples=resamples).items():
            differences.setdefault(key, []).append(JudgedDifference(judge, comparison))
    return differences


def classify_order(differences: Sequence[JudgedDifference]) -> OrderAgreement:
    """Classify what the judges say about the order."""
    certain = {difference.direction for difference in differences if difference.is_significant}
    if len(certain) > 1:
        return OrderAgreement.CONTRADICTED
    if {1, -1} <= {difference.direction for difference in differences} and certain:
        return OrderAgreement.REVERSED
    if len({difference.is_significant for difference in differences}) > 1:
        return OrderAgreement.SIGNIFICANCE
    return OrderAgreement.SAME


def describe_order(differences: Sequence[JudgedDifference], first: str, second: str) -> str:
    """What the judges say about the order of two systems, in a sentence."""
    certain = [difference for difference in differences if difference.is_significant]
    both, words_by_judge = f"{first} and {second}", "; ".join(map(str, differences))
    match classify_order(differences):
        case OrderAgreement.CONTRADICTED:
            up = join_words(difference.judge for difference in certain if difference.direction > 0)
            down = join_words(
                difference.judge for difference in certain if difference.direction < 0
            )
            words = f"the order of {both} depends on the judge: {second} is better by {up}, "
            words += f"and {first} by {down}"
        case OrderAgreement.REVERSED:
            words = f"the order of {both} depends on the judge, though only one order is "
            words += "significant"
        case OrderAgreement.SIGNIFICANCE:
            yes = join_words(difference.judge for difference in certain)
            no = join_words(
                difference.judge for difference in differences if not difference.is_significant
            )
            words = f"the difference between {both} is significant by {yes}, and not by {no}"
        case OrderAgreement.SAME if certain:
            words = f"all {len(differences)} judges agree on the order of {both}"
        case OrderAgreement.SAME:
            words = f"no judge of {len(differences)} finds a significant difference between {both}"
    return f"{words} ({words_by_judge})"


def describe_orders(
    differences: Mapping[str, Sequence[JudgedDifference]], base: str
) -> tuple[str, ...]:
    """Say for which systems the order with the base depends on the judge, or that none does."""
    judged = {name: difference for name, difference in differences.items() if len(difference) > 1}
    unlike = [
        format_sentence(describe_order(own, base, name))
        for name, own in judged.items()
        if classify_order(own) is not OrderAgreement.SAME
    ]
    if judged and not unlike:
        count = max(map(len, judged.values()))
        return (f"All {count} judges say the same of every order with {base}.",)
    return tuple(unlike)
