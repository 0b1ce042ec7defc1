"""A matrix from its file to its report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.ending import execute
from recall_bench.matrix.budget import SharedBudget
from recall_bench.matrix.cells import MatrixCell, assemble_cells, list_cells, select_cells
from recall_bench.matrix.file import Matrix, apply_limits, read_matrix
from recall_bench.matrix.findings import MatrixReport
from recall_bench.matrix.one_by_one import ExecuteJob, run_cells_in_turn
from recall_bench.matrix.outcome import CellOutcome, MatrixWatcher, find_worst_code
from recall_bench.matrix.together import run_cells_together
from recall_bench.replacement import replace_file
from recall_bench.settings import Executor
from recall_bench.shipped import BuildProgress

REPORT, PAGE, PICTURE, DRAWING = "matrix.json", "matrix.md", "matrix.png", "matrix.svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixResult:
    """A matrix that came to a stop, and its report."""

    matrix: Matrix
    outcomes: tuple[CellOutcome, ...]
    report: MatrixReport
    files: tuple[Path, ...]

    @property
    def exit_code(self) -> int:
        """The largest of the cells'; an interruption is larger than any other."""
        return find_worst_code(self.outcomes)


def open_matrix(
    path: Path, given: Mapping[str, Any] | None = None
) -> tuple[Matrix, tuple[MatrixCell, ...]]:
    """The matrix of a file with flags over it, and all its cells; nothing is tried yet."""
    flags = dict(given or {})
    matrix = read_matrix(path)
    matrix = replace(matrix, limits=apply_limits(matrix.limits, flags))
    if (into := flags.pop("into", None)) is not None:
        matrix = replace(matrix, into=Path(into))
    for name in ("max_cost_usd", "max_tokens", "max_calls"):
        flags.pop(name, None)
    return matrix, list_cells(matrix, flags)


def run_matrix(
    matrix: Matrix,
    cells: Sequence[MatrixCell],
    *,
    only: Sequence[str] = (),
    watcher: Callable[[Sequence[MatrixCell], Sequence[str]], MatrixWatcher],
    building: BuildProgress | None = None,
    carry: ExecuteJob | None = None,
) -> MatrixResult:
    """Check every cell that is wanted, carry them out, and report on the whole.

    The watcher is made of the cells to follow and what they were warned of, each thing once.
    """
    wanted = select_cells(cells, only)
    found = assemble_cells(wanted, building)
    warnings = tuple(dict.fromkeys(line for each in found for line in each.warnings))
    budget = SharedBudget.from_folders(matrix.limits, [cell.folder for cell in cells])
    watching = watcher(wanted, warnings)
    if carry is None and all(cell.settings.executor is not Executor.LOCAL for cell in wanted):
        outcomes = run_cells_together(found, watching, budget)
    else:
        outcomes = run_cells_in_turn(found, watching, budget, carry or execute)
    report, files = write_matrix_report(matrix, cells, outcomes)
    return MatrixResult(matrix=matrix, outcomes=outcomes, report=report, files=files)


def write_matrix_report(
    matrix: Matrix, cells: Sequence[MatrixCell], outcomes: Sequence[CellOutcome] = ()
) -> tuple[MatrixReport, tuple[Path, ...]]:
    """The report on what the folders hold now, and the files it was written to."""
    from recall_bench.matrix.comparing import build_matrix_report
    from recall_bench.matrix.picture import draw_matrix
    from recall_bench.matrix.rendering import render_markdown

    report = build_matrix_report(matrix, cells, outcomes)
    into = matrix.into
    files = [into / REPORT, into / PAGE]
    has_picture = any(setting.systems for setting in report.settings)
    whole = msgspec.json.format(msgspec.json.encode(report), indent=2)
    replace_file(into / REPORT, whole + b"\n")
    page = render_markdown(report, picture=PICTURE if has_picture else None)
    replace_file(into / PAGE, page.encode())
    if has_picture:
        draw_matrix(report, into / PICTURE, into / DRAWING)
        files += [into / PICTURE, into / DRAWING]
    return report, tuple(files)
