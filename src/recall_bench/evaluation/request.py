"""What `eval` is asked for, beside what any run can be told."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from recall_bench.errors import UsageError
from recall_bench.evaluation.methodologies import STRICT
from recall_bench.settings import Settings

REPORTS = Path("reports")
"""Where reports go that were not given a folder."""


class EvalMode(StrEnum):
    """What of a history is kept to be searched."""

    RAW = "raw"
    CONSOLIDATED = "consolidated"
    """What a system makes of it, in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRequest:
    """A dataset, how it is measured, and how much of it."""

    dataset: str
    settings: Settings = field(default_factory=Settings)
    protocol: str = STRICT
    mode: EvalMode = EvalMode.RAW
    errata: tuple[str, ...] = ()
    """Optional corrections to lay over the gold: `audit`, or `audit=FILE`."""
    categories: tuple[str, ...] = ()
    """Only these; empty means all."""
    max_scenarios: int | None = None
    scenario_offset: int = 0
    skip_qa: bool = False
    answers_from: Path | None = None
    """A run folder whose recorded answers are judged and measured again; nobody is asked."""
    rebuild: bool = False
    floors: bool = True
    reports: Path = REPORTS

    def __post_init__(self) -> None:
        if self.max_scenarios is not None and self.max_scenarios < 1:
            raise UsageError(f"--max-scenarios: {self.max_scenarios} leaves nothing to ask")
        if self.scenario_offset < 0:
            raise UsageError(
                f"--scenario-offset: {self.scenario_offset} is no count; say how many to skip"
            )
