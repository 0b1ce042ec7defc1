"""What a run that stopped leaves behind, and the exit code that follows."""

from dataclasses import dataclass

from recall_bench.core.errors import BenchError
from recall_bench.core.plan import Shard
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import RunStatus, Summary, are_reviews_over_budget


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardProgress:
    """The trials that one shard owes, and those still to be asked or judged."""

    part: Shard
    owed: int
    open: int

    def __str__(self) -> str:
        return f"part {self.part}: {self.owed - self.open:,} of {self.owed:,} trials"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunResult:
    """How a run ended."""

    folder: RunFolder
    summary: Summary
    warnings: tuple[str, ...]
    stopped_by: BenchError | None = None
    """What ended it early: an unreachable system or judge, a spent budget, an interruption."""
    was_finished: bool = False
    """Whether the folder held the finished run already, so that nothing was asked."""
    part: ShardProgress | None = None
    """The progress of the shard, where the run is one; the rest of the plan does not count."""

    @property
    def is_valid(self) -> bool:
        """Whether the scores may be quoted: everything was asked, and failures were few."""
        return self.summary.validity.status is RunStatus.VALID

    @property
    def exit_code(self) -> int:
        """As the table in `recall_bench.core.errors` has it."""
        if self.stopped_by is not None:
            return self.stopped_by.exit_code
        overall, part = self.summary.overall, self.part
        if self.summary.unstarted or (overall.open if part is None else part.open):
            return 4
        owed = overall.owed if part is None else part.owed
        if overall.not_answered > self.summary.plan.error_budget * owed:
            return 5
        reviews, others = self.summary.reviews, self.summary.other_verdicts
        if (
            overall.not_judged
            or are_reviews_over_budget(reviews, self.summary.plan.error_budget)
            or any(each.failed for each in others)
        ):
            return 6
        return 4 if reviews.open or any(each.open for each in others) else 0

    def __repr__(self) -> str:
        status, system = self.summary.validity.status.value, self.folder.plan.system.name
        return f"<{type(self).__name__}: {system}, {status}, {str(self.folder.path)!r}>"
