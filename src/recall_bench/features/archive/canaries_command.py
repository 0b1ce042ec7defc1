"""The command `canaries`: a file of questions that hallucinate reliably, checked on every run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import PATH, add_json_option
from recall_bench.core.errors import UsageError

if TYPE_CHECKING:
    from recall_bench.engine.runs.trials import TrialTable
    from recall_bench.reporting.analyses.canaries import CanaryWatch

_FILE = click.option(
    "--file",
    type=PATH,
    default=Path("canaries.json"),
    show_default=True,
    help="The file of canaries.",
)
_JSON = add_json_option("Print everything as JSON.")


@click.group("canaries")
def canaries_command() -> None:
    """Keep a file of questions that hallucinate reliably, and check runs against it."""


@canaries_command.command("update")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@_FILE
@_JSON
def update_command(runs: tuple[Path, ...], *, file: Path, as_json: bool) -> None:
    """Find the canaries of RUNS, taken together, and update the file.

    Canaries that are healed or whose question has changed are removed; those that the runs asked
    too rarely are kept.
    """
    from recall_bench.reporting.analyses.canaries import (
        compare_canaries,
        read_canaries,
        update_canaries,
        write_canaries,
    )

    canaries = read_canaries(file) if file.exists() else ()
    tables = _read_runs(runs)
    now = update_canaries(canaries, tables)
    write_canaries(file, now, tables)
    _print_watch(compare_canaries(tables, canaries, file=str(file)), as_json=as_json)
    click.echo(f"{file}: {len(now):,} kept", err=True)


@canaries_command.command("check")
@click.argument("run", type=PATH)
@_FILE
@_JSON
def check_command(run: Path, *, file: Path, as_json: bool) -> None:
    """List new, healed and changed canaries of RUN. The file is not changed."""
    from recall_bench.reporting.analyses.canaries import watch_file

    (table,) = _read_runs([run])
    _print_watch(watch_file(table, file), as_json=as_json)


def _read_runs(paths: Sequence[Path]) -> "list[TrialTable]":
    """The trials of the runs; UsageError for repeated or ungraded answers."""
    from recall_bench.engine.runs.run_folder import RunFolder
    from recall_bench.engine.runs.summary import STUB
    from recall_bench.engine.runs.trials import identify_answers, read_trials

    first: dict[object, Path] = {}
    tables = []
    for path in paths:
        folder = RunFolder.open(path)
        # The same answers twice would look like evidence from two runs.
        answers = identify_answers(folder)
        if answers in first:
            raise UsageError(
                f"{first[answers]} and {path} are the same run, or its answers judged again; name "
                "one of them"
            )
        first[answers] = path
        table = read_trials(folder)
        if folder.plan.judge.name == STUB or not table.hallucinations:
            raise UsageError(
                f"{path}: no answer was judged for grounding; judge them with "
                "`recall-bench rejudge`"
            )
        tables.append(table)
    return tables


def _print_watch(watch: "CanaryWatch", *, as_json: bool) -> None:
    from recall_bench.reporting.report_sections import describe_canaries
    from recall_bench.reporting.sections import render_parts

    if as_json:
        click.echo(format_json(watch))
    else:
        click.echo("\n".join(render_parts(describe_canaries(watch, most=None))))
