"""Systems by each of several judges: the range of a score, and what depends on the judge."""

from collections.abc import Hashable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeVar

from recall_bench.core.record import ComputedRecord
from recall_bench.engine.runs.counted_marks import POINTS
from recall_bench.metrics.bootstrap import RESAMPLES, TemplateNames
from recall_bench.metrics.comparison import TrialMarks, adjust_p_values, compare
from recall_bench.reporting.formats import format_score
from recall_bench.reporting.judge_order import (
    JudgedDifference,
    OrderAgreement,
    classify_order,
    describe_order,
)
from recall_bench.reporting.run_contrast import is_significant

K = TypeVar("K", bound=Hashable)
JUDGES_HEAD = "judges"
"""The head of a column with the range of a score over judges."""


class JudgeMean(ComputedRecord, frozen=True, kw_only=True):
    """The score of a system by one judge."""

    judge: str
    mean: float
    """Points of six, over the trials that every judge has marked."""


class JudgedPair(NamedTuple):
    """What one judge gave two systems, trial by trial."""

    first: TrialMarks
    second: TrialMarks
    templates: TemplateNames | None = None


def list_judge_means(points: Mapping[str, TrialMarks]) -> tuple[JudgeMean, ...]:
    """List the score by each judge that judged anything, over the trials that all of them marked.

    Otherwise a judge that failed at the hard questions would seem a mild one. There is none for a
    single judge, and none if no trial is marked by all.
    """
    known = {name: marks for name, marks in points.items() if marks}
    if len(known) < 2:
        return ()
    first, *others = known.values()
    common = [trial for trial in first if all(trial in marks for marks in others)]
    if not common:
        return ()
    return tuple(
        JudgeMean(judge=name, mean=fmean(marks[trial] for trial in common))
        for name, marks in known.items()
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


def compare_by_judge(
    pairs: Mapping[str, Mapping[K, JudgedPair]], *, resamples: int = RESAMPLES
) -> dict[K, list[JudgedDifference]]:
    """Compare the two systems of each pair by every judge.

    The p-values of one judge are adjusted over all its pairs, as those of the first judge are.
    """
    found: dict[K, list[JudgedDifference]] = {}
    for judge, named in pairs.items():
        compared = {
            key: each
            for key, pair in named.items()
            if (
                each := compare(
                    pair.first,
                    pair.second,
                    limits=POINTS,
                    templates=pair.templates,
                    resamples=resamples,
                )
            )
            is not None
        }
        adjusted = adjust_p_values({key: each.p_value for key, each in compared.items()})
        for key, alone in compared.items():
            each = alone.replace(p_adjusted=adjusted[key])
            found.setdefault(key, []).append(JudgedDifference(judge, each, is_significant(each)))
    return found


def describe_orders(found: Mapping[str, Sequence[JudgedDifference]], base: str) -> tuple[str, ...]:
    """Say for which systems the order with the base depends on the judge, or that none does."""
    known = {name: each for name, each in found.items() if len(each) > 1}
    unlike = [
        describe_order(each, base, name)
        for name, each in known.items()
        if classify_order(each) is not OrderAgreement.SAME
    ]
    if known and not unlike:
        count = max(map(len, known.values()))
        return (f"All {count} judges say the same of every order with {base}.",)
    return tuple(f"{words[:1].upper()}{words[1:]}." for words in unlike)
