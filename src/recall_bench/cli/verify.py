"""The command `verify`: derive a run again."""

from pathlib import Path

import click

from recall_bench.cli.console import format_json, show_build
from recall_bench.cli.options import DATA, PATH, add_json_option

_DIFFERS = 3


@click.command("verify")
@click.argument("run", type=PATH)
@DATA
@add_json_option("Print the checks as JSON.")
def verify_command(run: Path, *, data: Path | None, as_json: bool) -> int:
    """Derive everything in the folder RUN again: journal, trials, data, verdicts and files.

    Answers are judged again if the judge is the offline one of this version. The exit code is 3 if
    something differs; what cannot be verified is said.
    """
    from recall_bench.running.run_verification import render_verification, verify_run

    found = verify_run(run, data, show_build)
    click.echo(format_json(found) if as_json else render_verification(found))
    return _DIFFERS if found.has_differences else 0
