"""A matrix from its file to its report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.ending import carry_out
from recall_bench.matrix.budget import Budget
from recall_bench.matrix.cells import Cell, assembled, cells_of, selected
from recall_bench.matrix.file import Matrix, overlaid_limits, read_matrix
from recall_bench.matrix.findings import MatrixReport
from recall_bench.matrix.one_by_one import CarryOut, carry_out_one_by_one
from recall_bench.matrix.outcome import Outcome, Watcher, worst
from recall_bench.matrix.together import carry_out_together
from recall_bench.replacement import replace_file
from recall_bench.settings import Executor
from recall_bench.shipped import Building

REPORT, PAGE, PICTURE, DRAWING = "matrix.json", "matrix.md", "matrix.png", "matrix.svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A matrix that came to a stop, and its report."""

    matrix: Matrix
    outcomes: tuple[Outcome, ...]
    report: MatrixReport
    files: tuple[Path, ...]

    @property
    def exit_code(self) -> int:
        """The largest of the cells'; an interruption is larger than any other."""
        return worst(self.outcomes)


def opened(path: Path, given: Mapping[str, Any] | None = None) -> tuple[Matrix, tuple[Cell, ...]]:
    """The matrix of a file with flags over it, and all its cells; nothing is tried yet."""
    flags = dict(given or {})
    matrix = read_matrix(path)
    matrix = replace(matrix, limits=overlaid_limits(matrix.limits, flags))
    if (into := flags.pop("into", None)) is not None:
        matrix = replace(matrix, into=Path(into))
    for name in ("max_cost_usd", "max_tokens", "max_calls"):
        flags.pop(name, None)
    return matrix, cells_of(matrix, flags)


def carried_out(
    matrix: Matrix,
    cells: Sequence[Cell],
    *,
    only: Sequence[str] = (),
    watcher: Callable[[Sequence[Cell], Sequence[str]], Watcher],
    building: Building | None = None,
    carry: CarryOut | None = None,
) -> Done:
    """Check every cell that is wanted, carry them out, and report on the whole.

    The watcher is made of the cells to follow and what they were warned of, each thing once.
    """
    wanted = selected(cells, only)
    found = assembled(wanted, building)
    warnings = tuple(dict.fromkeys(line for each in found for line in each.warnings))
    budget = Budget.of(matrix.limits, [cell.folder for cell in cells])
    watching = watcher(wanted, warnings)
    if carry is None and all(cell.settings.executor is not Executor.LOCAL for cell in wanted):
        outcomes = carry_out_together(found, watching, budget)
    else:
        outcomes = carry_out_one_by_one(found, watching, budget, carry or carry_out)
    report, files = reported(matrix, cells, outcomes)
    return Done(matrix=matrix, outcomes=outcomes, report=report, files=files)


def reported(
    matrix: Matrix, cells: Sequence[Cell], outcomes: Sequence[Outcome] = ()
) -> tuple[MatrixReport, tuple[Path, ...]]:
    """The report on what the folders hold now, and the files it was written to."""
    from recall_bench.matrix.comparing import report_on
    from recall_bench.matrix.picture import draw
    from recall_bench.matrix.rendering import markdown

    report = report_on(matrix, cells, outcomes)
    into = matrix.into
    files = [into / REPORT, into / PAGE]
    has_picture = any(setting.systems for setting in report.settings)
    whole = msgspec.json.format(msgspec.json.encode(report), indent=2)
    replace_file(into / REPORT, whole + b"\n")
    page = markdown(report, picture=PICTURE if has_picture else None)
    replace_file(into / PAGE, page.encode())
    if has_picture:
        draw(report, into / PICTURE, into / DRAWING)
        files += [into / PICTURE, into / DRAWING]
    return report, tuple(files)
