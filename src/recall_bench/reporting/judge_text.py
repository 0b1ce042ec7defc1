"""How much a score depends on the judge, and the headline that labels correct, in words."""

from collections.abc import Sequence
from pathlib import Path

from recall_bench.core.feature import find_offer
from recall_bench.core.plain_text import NO_DATA
from recall_bench.core.record import ComputedRecord
from recall_bench.engine.runs.judge_sensitivity import JudgeSensitivity
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.judge_correction import CorrectedRate
from recall_bench.reporting.formats import format_number, format_score

SPLITS_FILE = "judge-splits.jsonl"
"""Every answer that judges split on, beside the page of a run."""


class CorrectedJudge(ComputedRecord, frozen=True, kw_only=True):
    """The share of right answers by one judge, without its errors."""

    name: str
    right: CorrectedRate | None
    reason: str | None = None
    """Why there is no corrected share."""

    def __str__(self) -> str:
        if self.right is None:
            return f"not corrected: {self.reason}"
        right, (low, high) = self.right, self.right.interval
        ends = "" if low == high else f" ({_percent(low)} to {_percent(high)})"
        return f"{_percent(right.corrected)} % right{ends}, {_percent(right.observed)} % as judged"


class CorrectedHeadline(ComputedRecord, frozen=True, kw_only=True):
    """The share of right answers of a run, corrected by labels."""

    source: str
    """Where the labels are from, in words."""
    judges: tuple[CorrectedJudge, ...]
    """The first gives the headline."""
    cautions: tuple[str, ...] = ()

    @property
    def right(self) -> CorrectedRate | None:
        """The headline; None where the first judge cannot be corrected."""
        return self.judges[0].right

    def describe(self) -> str | None:
        """The corrected share of right answers; None where there is none."""
        if (right := self.right) is None:
            return None
        low, high = map(_percent, right.interval)
        return (
            f"{_percent(right.corrected)} % right ({low} to {high}), corrected by {self.source}; "
            f"{_percent(right.observed)} % as judged"
        )


def _percent(share: float) -> str:
    return format_number(100 * share, 0)


def correct_headline(
    folder: RunFolder, agreements: Sequence[Path] = ()
) -> CorrectedHeadline | None:
    """Correct the share of right answers; None without labels, or without the feature `judges`."""
    correct = find_offer("parts", "judges.correct_headline")
    headline: CorrectedHeadline | None = None if correct is None else correct(folder, agreements)
    return headline


def add_correction(folder: RunFolder, result: str) -> str:
    """The result of a run, after the share of right answers that its labels correct, if any do."""
    headline = correct_headline(folder)
    right = None if headline is None else headline.describe()
    return result if right is None else f"{right} · {result}"


def describe_range(views: JudgeSensitivity) -> str:
    """The range of the scores, the least agreement of two judges, and the splits."""
    names = f"{', '.join(views.names)}; the first gives the score"
    parts = [f"{format_score_range(views)} of 100 over {len(views.judges)} judges ({names})"]
    if (pair := views.weakest_pair) is not None:
        between = "" if len(views.judges) == 2 else f" by {pair.first} and {pair.second}"
        alike = NO_DATA if pair.agreement is None else f"{_percent(pair.agreement)} %"
        kappa = NO_DATA if pair.kappa is None else format_number(pair.kappa, 2)
        parts.append(f"{alike} of verdicts alike{between}, kappa {kappa}")
    parts.append(describe_splits(views))
    if missing := sum(judge.missing for judge in views.judges[1:]):
        parts.append(f"{missing:,} verdicts of other judges missing")
    return " · ".join(parts)


def describe_splits(views: JudgeSensitivity) -> str:
    """How many answers some judges pass and others fail."""
    if not views.splits:
        return f"no split over {views.answers:,} answers"
    return f"split on {len(views.splits):,} of {views.answers:,} answers"


def format_score_range(views: JudgeSensitivity) -> str:
    """The lowest and the highest score in points of 100."""
    low, high = format_score(views.low), format_score(views.high)
    return low if low == high else f"{low} to {high}"
