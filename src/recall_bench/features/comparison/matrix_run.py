"""Run the cells of a matrix, and write its report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.redaction import redact_message
from recall_bench.core.settings import Executor, Settings
from recall_bench.engine.experiment import (
    CellOutcome,
    CellWatcher,
    Experiment,
    SharedBudget,
    is_run_finished,
)
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.comparison.matrix_cells import (
    MatrixCell,
    assemble_cells,
    list_cells,
    select_cells,
)
from recall_bench.features.comparison.matrix_file import Matrix, apply_limits, read_matrix
from recall_bench.features.comparison.matrix_records import MatrixReport
from recall_bench.stories.drawn import BuildProgress

REPORT, PAGE, PICTURE, DRAWING = "matrix.json", "matrix.md", "matrix.png", "matrix.svg"
SCORECARD = "_scorecard"
"""The folder of a scorecard beside its cells; no cell can have this name."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MatrixResult:
    """The outcomes of a matrix, and its report."""

    matrix: Matrix
    outcomes: tuple[CellOutcome, ...]
    report: MatrixReport
    files: tuple[Path, ...]

    def __repr__(self) -> str:
        done = sum(outcome.exit_code == 0 for outcome in self.outcomes)
        return f"<MatrixResult: {done} of {len(self.outcomes)} cells done, {self.files!r}>"

    @property
    def exit_code(self) -> int:
        """The largest exit code of the cells; that of a signal is larger than any other."""
        return max((outcome.exit_code for outcome in self.outcomes), default=0)


def open_matrix(
    path: Path, given: Mapping[str, Any] | None = None
) -> tuple[Matrix, tuple[MatrixCell, ...]]:
    """Read a matrix file, apply flags, and list all cells; nothing is tried yet."""
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
    watcher: Callable[[Sequence[MatrixCell], Sequence[str]], CellWatcher],
    building: BuildProgress | None = None,
) -> MatrixResult:
    """Check the selected cells, run them, and write the report on all cells.

    The watcher is made from the selected cells and their warnings.
    """
    selected = select_cells(cells, only)
    assembled = assemble_cells(selected, building)
    jobs = [cell.job for cell in assembled if cell.job is not None]
    warnings = tuple(dict.fromkeys(line for job in jobs for line in job.warnings))
    limits = matrix.limits
    budget = SharedBudget(max_cost_usd=limits.max_cost_usd, max_tokens=limits.max_tokens)
    if (limits.max_cost_usd, limits.max_tokens) != (None, None):
        budget.read_spent(cell.folder for cell in cells)
    outcomes = Experiment(
        cells=assembled,
        watcher=watcher(selected, warnings),
        budget=budget,
        goes_on=True,
        pool=_find_shared_pool(selected),
    ).run()
    report, files = write_matrix_report(matrix, cells, outcomes)
    return MatrixResult(matrix=matrix, outcomes=outcomes, report=report, files=files)


def _find_shared_pool(cells: Sequence[MatrixCell]) -> Settings | None:
    """Return the settings of a pool that all cells can share; None if one runs in this process."""
    if any(cell.settings.executor is Executor.LOCAL for cell in cells):
        return None
    return cells[0].settings


def report_matrix(
    matrix: Matrix,
    cells: Sequence[MatrixCell],
    outcomes: Sequence[CellOutcome] = (),
    **options: int,
) -> MatrixReport:
    """Report what the folders of the cells hold now; options are those of the comparison."""
    from recall_bench.features.comparison.matrix_report import ReportCell, build_matrix_report

    reasons = {
        outcome.cell.label: None if outcome.reason is None else redact_message(outcome.reason)
        for outcome in outcomes
    }
    report_cells = [
        ReportCell(
            setting=cell.setting,
            seed=cell.seed,
            system=cell.system,
            folder=cell.folder,
            reason=reasons.get(cell.label),
            suite=None if cell.suite is None else cell.suite.name,
        )
        for cell in cells
    ]
    systems = [system.name for system in matrix.systems]
    return build_matrix_report(matrix.name, matrix.baseline, systems, report_cells, **options)


def write_matrix_report(
    matrix: Matrix, cells: Sequence[MatrixCell], outcomes: Sequence[CellOutcome] = ()
) -> tuple[MatrixReport, tuple[Path, ...]]:
    """Write the report on what the folders hold now; return it and its files."""
    from recall_bench.features.comparison.matrix_picture import draw_matrix
    from recall_bench.features.comparison.matrix_text import render_markdown
    from recall_bench.reporting.suites.scorecard import write_scorecard
    from recall_bench.reporting.suites.suite_report import (
        build_behaviour_report,
        write_behaviour_report,
    )

    report = report_matrix(matrix, cells, outcomes)
    into = matrix.into
    files = [into / REPORT, into / PAGE]
    has_picture = any(setting.systems for setting in report.settings)
    whole = msgspec.json.format(msgspec.json.encode(report), indent=2)
    replace_file(into / REPORT, whole + b"\n")
    page = render_markdown(report, picture=PICTURE if has_picture else None)
    replace_file(into / PAGE, page.encode())
    for scores in report.suites:
        place = into / scores.setting / str(scores.seed) / SCORECARD
        files += write_scorecard(scores.card, place)
    for cell in cells:
        if cell.suite is not None and is_run_finished(cell.folder):
            folder = RunFolder.open(cell.folder)
            write_behaviour_report(build_behaviour_report(folder), cell.folder)
    if has_picture:
        draw_matrix(report, into / PICTURE, into / DRAWING)
        files += [into / PICTURE, into / DRAWING]
    return report, tuple(files)
