"""A headline corrected by labels, which the feature `judges` computes."""

from collections.abc import Sequence
from pathlib import Path

from recall_bench.core.feature import find_offer
from recall_bench.core.record import ComputedRecord
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.judge_correction import CorrectedRate


class CorrectedJudge(ComputedRecord, frozen=True, kw_only=True):
    """The share of right answers by one judge, without its errors."""

    name: str
    right: CorrectedRate | None
    reason: str | None = None
    """Why there is no corrected share."""


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


def correct_headline(
    folder: RunFolder, agreements: Sequence[Path] = ()
) -> CorrectedHeadline | None:
    """Correct the share of right answers of a run; None without labels, or without the feature."""
    correct = find_offer("parts", "judges.correct_headline")
    headline: CorrectedHeadline | None = None if correct is None else correct(folder, agreements)
    return headline
