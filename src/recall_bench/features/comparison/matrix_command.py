"""The command `matrix`: several systems, settings and seeds with one report."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.console import format_json, forward_to_stderr
from recall_bench.cli.options import (
    PATH,
    add_json_option,
    select_given,
    setting_options,
)

if TYPE_CHECKING:
    from rich.live import Live

    from recall_bench.core.event import Event
    from recall_bench.core.trial_states import TrialStates
    from recall_bench.engine.experiment import CellOutcome, ExperimentCell
    from recall_bench.features.comparison.matrix_cells import MatrixCell
    from recall_bench.features.comparison.matrix_progress import MatrixBoard
    from recall_bench.features.comparison.matrix_run import MatrixResult

_QUARTERS = 4
"""Progress lines per cell in a log."""


@click.command("matrix")
@click.argument("file", type=PATH)
@click.option(
    "--only", multiple=True, metavar="PATTERN", help="Run only matching cells, such as 'hybrid*'."
)
@click.option("--list", "as_list", is_flag=True, help="List the cells; run nothing.")
@click.option(
    "--report", "only_report", is_flag=True, help="Report on finished cells; run nothing."
)
@setting_options(
    *("into", "executor", "workers", "ray_address", "max_cost_usd", "max_tokens", "max_calls"),
    *("parallelism", "retry_errors"),
    into="Folder for all cells; existing cells continue [as the file says]",
    executor="Where cells are executed [as the file says, else local]",
    max_cost_usd="Stop when the judges and readers of all cells have cost this much",
    max_tokens="Stop when the judges and readers of all cells have used this many tokens",
)
@add_json_option("Print the report as JSON.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the report as Markdown.")
def matrix_command(
    file: Path,
    only: tuple[str, ...],
    *,
    as_list: bool,
    only_report: bool,
    as_json: bool,
    as_markdown: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Run every combination of systems, settings and seeds in FILE, and compare them.

    Each cell is an ordinary run in its own folder. The same command continues an interrupted
    matrix; finished cells are not repeated. The exit code is the largest of the cells.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.core.errors import UsageError
    from recall_bench.features.comparison.matrix_cells import select_cells
    from recall_bench.features.comparison.matrix_run import (
        open_matrix,
        run_matrix,
        write_matrix_report,
    )

    if as_json and as_markdown:
        raise UsageError("--json and --markdown exclude each other; give one")
    matrix, cells = open_matrix(file, select_given(flags))
    if as_list:
        for cell in select_cells(cells, only):
            click.echo(_format_cell(cell))
        return 0
    shape = "json" if as_json else "markdown" if as_markdown else "text"
    if only_report:
        with forward_to_stderr():
            report, _ = write_matrix_report(matrix, cells)
        _print_report(report, shape)
        return 0
    click.echo(f"matrix folder: {matrix.into}", err=True)
    with forward_to_stderr(), _watch_cells() as watcher:
        done = run_matrix(matrix, cells, only=only, watcher=watcher, building=show_build)
    _print_report(done.report, shape)
    _print_conclusion(done)
    return done.exit_code


def _format_cell(cell: "MatrixCell") -> str:
    from recall_bench.engine.experiment import is_run_finished

    state = "done" if is_run_finished(cell.folder) else "begun" if cell.folder.exists() else "new"
    return f"{cell.label:<40} {state:<6} {cell.folder}"


def _print_report(report: object, shape: str) -> None:
    from recall_bench.features.comparison.matrix_records import MatrixReport
    from recall_bench.features.comparison.matrix_text import render_markdown, render_text

    if shape == "json":
        click.echo(format_json(report))
    elif isinstance(report, MatrixReport):
        click.echo(render_markdown(report) if shape == "markdown" else render_text(report))


def _print_conclusion(done: "MatrixResult") -> None:
    into = done.matrix.into
    names = ", ".join(path.relative_to(into).as_posix() for path in done.files)
    click.echo(f"files: {names} in {into}", err=True)
    for each in done.outcomes:
        if each.exit_code:
            click.echo(f"error: {each.cell.label}: {each.reason}", err=True)
    if all(outcome.was_finished for outcome in done.outcomes):
        click.echo(
            "note: all cells were finished already; nothing was run. To run them again, "
            "name another folder with --into",
            err=True,
        )


class _MatrixLog:
    """Plain lines at the start, each quarter and the end of a cell."""

    def __init__(self, board: "MatrixBoard") -> None:
        self._board = board
        self._quarters: dict[str, int] = {}

    def begin(self, cell: "ExperimentCell") -> None:
        self._board.begin(cell)
        click.echo(f"{cell.label}: started", err=True)

    def note(self, cell: "ExperimentCell", event: "Event", states: "TrialStates") -> None:
        self._board.note(cell, event, states)
        line = self._board.lines[cell.label]
        quarters = _QUARTERS * line.done // line.owed if line.owed else 0
        if _QUARTERS > quarters > self._quarters.setdefault(cell.label, quarters):
            self._quarters[cell.label] = quarters
            said = f"{line.label}: {line.done:,} of {line.owed:,}"
            click.echo(f"{said} | {self._board.format_total()}", err=True)

    def end(self, outcome: "CellOutcome") -> None:
        self._board.end(outcome)
        label = outcome.cell.label
        said = "finished before" if outcome.was_finished else outcome.stage.value
        if outcome.reason is not None:
            said = f"{said} ({outcome.reason})" if outcome.was_begun else outcome.reason
        click.echo(f"{label}: {said}", err=True)


class _MatrixScreen:
    """A screen with a line per cell and a total."""

    def __init__(self, board: "MatrixBoard", live: "Live") -> None:
        self._board = board
        self._live = live

    def render_screen(self) -> str:
        """The lines of the cells; without room, waiting and then finished cells are left out."""
        lines = list(self._board.lines.values())
        room = max(1, self._live.console.size.height - 3)
        for state in ("waiting", "done"):
            over = [line for line in reversed(lines) if line.stage == state]
            for line in over[: max(0, len(lines) - room)]:
                lines.remove(line)
        hidden = len(self._board.lines) - len(lines)
        more = [f"… {hidden} more"] if hidden else []
        return "\n".join([*(line.format() for line in lines), *more, self._board.format_total()])

    def begin(self, cell: "ExperimentCell") -> None:
        self._board.begin(cell)
        self._refresh()

    def note(self, cell: "ExperimentCell", event: "Event", states: "TrialStates") -> None:
        self._board.note(cell, event, states)
        self._refresh()

    def end(self, outcome: "CellOutcome") -> None:
        self._board.end(outcome)
        self._refresh()

    def _refresh(self) -> None:
        from rich.text import Text

        self._live.update(Text(self.render_screen()))


@contextmanager
def _watch_cells() -> Iterator[Any]:
    """A function that makes a watcher of cells: a screen at a terminal, lines in a log."""
    from recall_bench.features.comparison.matrix_progress import MatrixBoard

    def make_log(cells: "Sequence[MatrixCell]", warnings: Sequence[str]) -> _MatrixLog:
        for warning in warnings:
            click.echo(f"note: {warning}", err=True)
        return _MatrixLog(MatrixBoard([cell.label for cell in cells], monotonic))

    if not sys.stderr.isatty():
        yield make_log
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4) as live:

        def make_screen(cells: "Sequence[MatrixCell]", warnings: Sequence[str]) -> _MatrixScreen:
            for warning in warnings:
                live.console.print(f"note: {warning}", markup=False, highlight=False)
            return _MatrixScreen(MatrixBoard([cell.label for cell in cells], monotonic), live)

        yield make_screen
