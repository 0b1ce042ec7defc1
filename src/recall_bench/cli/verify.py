"""The command `verify`: derive a run again."""

from collections.abc import Sequence
from pathlib import Path

import click

from recall_bench.cli.console import format_json, show_build
from recall_bench.cli.options import DATA, PATH, add_json_option, option
from recall_bench.core.errors import BenchError, UsageError

_DIFFERS = 3


@click.command("verify")
@click.argument("run", type=PATH)
@DATA
@option(
    "--signers",
    type=PATH,
    metavar="FILE",
    help="Who may have signed a bundle: people and SSH keys.",
)
@add_json_option("Print the checks as JSON.")
def verify_command(run: Path, *, data: Path | None, signers: Path | None, as_json: bool) -> int:
    """Derive everything in the folder or bundle RUN again: journal, trials, data, verdicts, files.

    If RUN is a folder of runs, each of them is verified. Answers are judged again if the judge is
    the offline one of this version. Nothing in a bundle is executed. The exit code is 3 if
    something differs; what cannot be verified is said.
    """
    from recall_bench.running.run_bundle import verify_bundle
    from recall_bench.running.run_verification import render_verification, verify_run
    from recall_bench.runs.bundle_file import is_bundle
    from recall_bench.runs.journal import JOURNAL, find_run_folders

    if signers is not None and not is_bundle(run):
        raise UsageError("--signers: only bundles are signed; `recall-bench bundle` makes one")
    if is_bundle(run):
        found = verify_bundle(run, data, show_build, signers=signers)
        click.echo(format_json(found) if as_json else render_verification(found))
        return _DIFFERS if found.has_differences else 0
    several = [] if (run / JOURNAL).exists() else list(find_run_folders(run))
    if not several:
        found = verify_run(run, data, show_build)
        click.echo(format_json(found) if as_json else render_verification(found))
        return _DIFFERS if found.has_differences else 0
    return _verify_each(several, data, as_json=as_json)


def _verify_each(runs: Sequence[Path], data: Path | None, *, as_json: bool) -> int:
    """Verify all runs, also after one that differs or cannot be read."""
    from recall_bench.running.run_verification import render_verification, verify_run

    verified, codes = [], [0]
    for run in runs:
        try:
            found = verify_run(run, data, show_build)
        except BenchError as error:
            click.echo(f"{run}: {error}", err=True)
            codes.append(error.exit_code)
            continue
        verified.append(found)
        codes.append(_DIFFERS if found.has_differences else 0)
        if not as_json:
            click.echo(render_verification(found, has_heading=True) + "\n")
    if as_json:
        click.echo(format_json(verified))
    return max(codes)
