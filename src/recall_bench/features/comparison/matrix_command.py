"""The command `matrix`: several systems, settings and seeds with one report."""

from pathlib import Path
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
    from recall_bench.features.comparison.matrix_cells import MatrixCell
    from recall_bench.features.comparison.matrix_run import MatrixResult


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
    from recall_bench.features.comparison.matrix_progress import watch_cells
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
    with forward_to_stderr(), watch_cells() as watcher:
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
