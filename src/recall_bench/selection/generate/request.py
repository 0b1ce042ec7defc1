"""What `select generate` is asked for."""

import re
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from recall_bench.errors import UsageError

OFFLINE = "offline"
"""The writer that needs no model."""

_NAME = re.compile(r"[^\W_](?:[\w .-]*\w)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """Memories, and how many tests of which kind to make of them."""

    memories: Path
    out: Path
    """Where the tests go; tests that lie there already are not repeated."""
    samples: int = 1
    amount: int | None = None
    """Memories to pick for each sample: 0 makes tests that recall nothing, and None draws 1 to 5
    anew for every sample."""
    name: str | None = None
    """What the files are called; None calls each by its content."""
    model: str = OFFLINE
    """Who writes: `offline`, or a model as `--judge` takes it."""
    pool: bool = False
    """Whether all memories are looked at for what is relevant, not only the picked ones."""
    seed: int = 42
    max_cost_usd: float | None = None

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise UsageError(f"--samples: {self.samples} makes no test; say 1 or more")
        if self.amount is not None and self.amount < 0:
            raise UsageError(f"--amount: {self.amount} is no count; say 0 for no-recall tests")
        if self.name is not None and not _NAME.fullmatch(self.name):
            raise UsageError(
                f"--name: {self.name!r:.60} is no name for a file; use letters, digits and dashes"
            )
        cost = self.max_cost_usd
        if cost is not None and not (isfinite(cost) and cost >= 0):
            raise UsageError(f"--max-cost: {cost} is not a sum of money; say US dollars")
