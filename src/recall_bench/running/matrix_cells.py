"""One limit for money and tokens that all cells of a matrix share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import anyio

from recall_bench.core.errors import (
    BenchError,
    BudgetSpent,
    OtherPlan,
    Problems,
    SystemGone,
    UsageError,
)
from recall_bench.core.event import Event
from recall_bench.core.settings import Settings, apply_overrides
from recall_bench.core.trial_states import TrialStates
from recall_bench.core.usage import Usage
from recall_bench.generate.shipped_personas import BuildProgress
from recall_bench.running.assembly import assemble
from recall_bench.running.executor import refuse_impossible
from recall_bench.running.experiment import is_run_finished, read_result
from recall_bench.running.job import Job
from recall_bench.running.matrix_file import Matrix, MatrixLimits
from recall_bench.runs.journal import JOURNAL
from recall_bench.runs.output_paths import move_outputs
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.run_result import RunResult


def read_spent(folder: Path) -> Usage:
    """What judging and reading have cost in a run folder, as its journal says."""
    if not (folder / JOURNAL).exists() or not (folder / JOURNAL).stat().st_size:
        return Usage()
    states = RunFolder.open(folder).states
    return states.usage + states.reading_usage


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
        job.spent_elsewhere = partial(self.sum_others, job.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """One system under one setting by one seed, over all personas."""

    setting: str
    seed: int
    system: str
    settings: Settings

    @property
    def label(self) -> str:
        """Names it within the matrix, as its folder does."""
        return f"{self.setting}/{self.seed}/{self.system}"

    @property
    def folder(self) -> Path:
        """Where its run lives."""
        if self.settings.into is None:
            raise AssertionError("every cell has a folder of its own")
        return self.settings.into


@dataclass(slots=True, kw_only=True)
class AssembledCell:
    """A cell with its job."""

    cell: MatrixCell
    job: Job | BenchError
    """Why there is none, where the system cannot be reached."""

    @property
    def warnings(self) -> list[str]:
        """What was noticed about the job."""
        return self.job.warnings if isinstance(self.job, Job) else []


def list_cells(matrix: Matrix, given: Mapping[str, Any] | None = None) -> tuple[MatrixCell, ...]:
    """Every cell, by setting, seed and system; `given` are flags, which win over the file."""
    return tuple(
        MatrixCell(
            setting=setting.name,
            seed=seed,
            system=system.name,
            settings=_make_settings(
                matrix,
                {**matrix.shared, **setting.given, **system.given, **(given or {}), "seed": seed},
                Path(setting.name, str(seed), system.name),
            ),
        )
        for setting, seed, system in product(matrix.settings, matrix.seeds, matrix.systems)
    )


def _make_settings(matrix: Matrix, given: dict[str, Any], place: Path) -> Settings:
    settings = move_outputs(apply_overrides(Settings(), given), matrix.into / place)
    pictures = bool(given.get("heatmap_png", False))
    return replace(settings, max_calls=matrix.limits.max_calls, heatmap_png=pictures)


def select_cells(cells: Sequence[MatrixCell], patterns: Sequence[str]) -> tuple[MatrixCell, ...]:
    """The cells whose system, or whole name, is like one of the patterns; all without any."""
    if not patterns:
        return tuple(cells)
    found = tuple(
        cell
        for cell in cells
        if any(
            fnmatchcase(name, pattern) for pattern in patterns for name in (cell.system, cell.label)
        )
    )
    if not found:
        known = ", ".join(dict.fromkeys(cell.system for cell in cells))
        raise UsageError(
            f"--only: {' '.join(patterns)} is like no cell; the systems are {known}, and --list "
            "shows every cell"
        )
    return found


def assemble_cells(
    cells: Sequence[MatrixCell], building: BuildProgress | None = None
) -> tuple[AssembledCell, ...]:
    """A job for every cell; all that is wrong with any of them is raised at once.

    So is what an executor cannot do, before any cell is begun. A system that cannot be reached just
    now does not fail the matrix: its cell has no job, and the other cells run.
    """
    found: list[AssembledCell] = []
    problems: dict[str, BenchError] = {}
    others: dict[str, list[MatrixCell]] = {}
    for cell in cells:
        try:
            job = assemble(cell.settings, building=building)
            found.append(AssembledCell(cell=cell, job=job))
            refuse_impossible(job)
        except SystemGone as gone:
            found.append(AssembledCell(cell=cell, job=gone))
        except OtherPlan as other:
            others.setdefault(str(other).removeprefix(f"{cell.folder} "), []).append(cell)
        except Problems as several:
            problems |= {_describe_problem(cell, each): each for each in several.problems}
        except BenchError as problem:
            problems[_describe_problem(cell, problem)] = problem
    problems |= {words: UsageError(words) for words in _describe_other_plans(others)}
    if problems:
        close_all(found)
        raise Problems([_make_error(words, each) for words, each in problems.items()])
    return tuple(found)


def _describe_problem(cell: MatrixCell, problem: BenchError) -> str:
    """The problem, with the cell's name unless it is the same in all: a file is missing once."""
    text = str(problem)
    return text if str(cell.folder) in text else f"{cell.system}: {text}"


def _describe_other_plans(others: Mapping[str, Sequence[MatrixCell]]) -> Iterator[str]:
    """One sentence for all folders that hold another run in the same way."""
    for words, (first, *more) in others.items():
        count = f" and {len(more)} more cell{'' if len(more) == 1 else 's'}: each" if more else ""
        yield f"{first.folder}{count} {words}; or go on with the other cells by --only"


def _make_error(words: str, problem: BenchError) -> BenchError:
    if problem.exit_code == UsageError.exit_code:
        return UsageError(words)
    other = BenchError(words)
    other.exit_code = problem.exit_code
    return other


def close_all(found: Sequence[AssembledCell]) -> None:
    """Close the components of jobs that are not run."""
    for each in found:
        if isinstance(each.job, Job):
            anyio.run(each.job.components.close)


class CellStage(StrEnum):
    """How far a cell has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """Ended without all that is owed, or with more failures than its budget allows."""
    NOT_BEGUN = "not begun"
    """Left for the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutcome:
    """What became of one cell."""

    cell: MatrixCell
    exit_code: int
    reason: str | None = None
    """Why it is not done, where it is not."""
    was_finished: bool = False
    """Whether it was finished before, so that nothing was asked."""
    was_begun: bool = True

    @property
    def stage(self) -> CellStage:
        """Whether it may be reported as done."""
        if self.exit_code == 0:
            return CellStage.DONE
        return CellStage.FAILED if self.was_begun else CellStage.NOT_BEGUN


class MatrixWatcher(Protocol):
    """Follows all cells."""

    def begin(self, cell: MatrixCell) -> None:
        """A cell is started or continued."""

    def note(self, cell: MatrixCell, event: Event, states: TrialStates) -> None:
        """Something happened in it."""

    def end(self, outcome: CellOutcome) -> None:
        """It came to a stop."""


def find_worst_code(outcomes: Sequence[CellOutcome]) -> int:
    """The exit code of the whole: the largest of the cells'."""
    return max((each.exit_code for each in outcomes), default=0)


def skip_cell(cell: MatrixCell, why: BenchError) -> CellOutcome:
    """A cell that was finished before, or one that is left for the next time."""
    if is_run_finished(cell.folder):
        return CellOutcome(cell=cell, exit_code=0, was_finished=True)
    return CellOutcome(
        cell=cell, exit_code=why.exit_code, reason=f"not begun: {why}", was_begun=False
    )


def fail_cell(cell: MatrixCell, why: BenchError) -> CellOutcome:
    """A cell whose system cannot be reached."""
    return CellOutcome(cell=cell, exit_code=why.exit_code, reason=str(why))


def check_known(cell: MatrixCell, job: Job, budget: SharedBudget) -> CellOutcome | None:
    """What became of a cell that needs no work, or may do none; None if it is to be begun."""
    if is_run_finished(cell.folder) and not cell.settings.retry_errors:
        return make_outcome(cell, read_result(job), was_finished=True)
    if (spent := budget.exhausted) is not None:
        return skip_cell(cell, BudgetSpent(f"{spent}; the same command with more goes on"))
    return None


def make_outcome(
    cell: MatrixCell, finished: RunResult, *, was_finished: bool = False
) -> CellOutcome:
    """What became of a cell whose run came to a stop."""
    reason = None
    if finished.stopped_by is not None:
        reason = str(finished.stopped_by)
    elif finished.exit_code:
        reason = finished.summary.validity.reason or _describe_shortfall(finished)
    return CellOutcome(
        cell=cell, exit_code=finished.exit_code, reason=reason, was_finished=was_finished
    )


def _describe_shortfall(finished: RunResult) -> str:
    overall = finished.summary.overall
    return f"{overall.failed} of {overall.owed} trials have no verdict"
