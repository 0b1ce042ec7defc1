"""One limit for money and tokens that all cells of a matrix share."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from recall_bench.core.usage import Usage
from recall_bench.job import Job
from recall_bench.journal import JOURNAL
from recall_bench.matrix.file import MatrixLimits
from recall_bench.reporting.folder import RunFolder


def read_spent(folder: Path) -> Usage:
    """What judging and reading have cost in a run folder, as its journal says."""
    if not (folder / JOURNAL).exists() or not (folder / JOURNAL).stat().st_size:
        return Usage()
    standings = RunFolder.open(folder).states
    return standings.usage + standings.reading_usage


@dataclass(slots=True)
class SharedBudget:
    """What all cells may spend, and what each has spent so far."""

    limits: MatrixLimits
    spent: dict[Path, Usage]

    @classmethod
    def from_folders(cls, limits: MatrixLimits, folders: Iterable[Path]) -> "SharedBudget":
        """With what the journals in these folders say was spent before.

        Journals may be large: without a limit none of them is read.
        """
        budget = cls(limits, {})
        for folder in folders:
            budget.update(folder)
        return budget

    @property
    def total(self) -> Usage:
        """What all cells have spent."""
        return sum(self.spent.values(), start=Usage())

    def update(self, folder: Path) -> None:
        """Read again what a cell has spent, if anything depends on it."""
        if (self.limits.max_cost_usd, self.limits.max_tokens) != (None, None):
            self.spent[folder] = read_spent(folder)

    @property
    def exhausted(self) -> str | None:
        """Which limit was reached, in words; None while there is something left."""
        total, limits = self.total, self.limits
        if limits.max_cost_usd is not None and total.cost_usd >= limits.max_cost_usd:
            return f"all cells together cost ${total.cost_usd:.4f} of ${limits.max_cost_usd:.4f}"
        if limits.max_tokens is not None and total.tokens >= limits.max_tokens:
            return f"all cells together took {total.tokens:,} of {limits.max_tokens:,} tokens"
        return None

    def record(self, folder: Path, spent: Usage) -> None:
        """Take notice of what a cell has spent by now."""
        self.spent[folder] = spent

    def sum_others(self, folder: Path) -> Usage:
        """What all other cells have spent by now."""
        others = (spent for place, spent in self.spent.items() if place != folder)
        return sum(others, start=Usage())

    def bind(self, job: Job) -> None:
        """Let a cell keep to the limit of all, counting what the others have spent by then."""
        job.settings = replace(
            job.settings,
            max_cost_usd=self.limits.max_cost_usd,
            max_tokens=self.limits.max_tokens,
        )
        job.elsewhere = partial(self.sum_others, job.folder)
