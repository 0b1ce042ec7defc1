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

    If RUN is a folder of runs and bundles, each of them is verified. Answers are judged again if
    the judge is the offline one of this version. Nothing in a bundle is executed. The exit code is
    3 if something differs; what cannot be verified is said.
    """
    from recall_bench.features.archive.bundle_file import is_bundle
    from recall_bench.features.archive.run_bundle import find_runs, open_run
    from recall_bench.features.archive.run_verification import render_verification

    if signers is not None and not is_bundle(run):
        raise UsageError("--signers: only bundles are signed; `recall-bench bundle` makes one")
    places = find_runs(run) if run.is_dir() else [run]
    if list(places) != [run]:
        return _verify_each(places, data, as_json=as_json)
    with open_run(run) as opened:
        verification = opened.verify(data, show_build, signers=signers)
    click.echo(format_json(verification) if as_json else render_verification(verification))
    return _DIFFERS if verification.has_differences else 0


def _verify_each(places: Sequence[Path], data: Path | None, *, as_json: bool) -> int:
    """Verify all runs, also after one that differs or cannot be read."""
    from recall_bench.features.archive.run_bundle import open_run
    from recall_bench.features.archive.run_verification import render_verification

    verified, codes = [], [0]
    for place in places:
        try:
            with open_run(place) as opened:
                verification = opened.verify(data, show_build)
        except BenchError as error:
            click.echo(f"{place}: {str(error).removeprefix(f'{place}: ')}", err=True)
            codes.append(error.exit_code)
            continue
        verified.append(verification)
        codes.append(_DIFFERS if verification.has_differences else 0)
        if not as_json:
            click.echo(render_verification(verification, has_heading=True) + "\n")
    if as_json:
        click.echo(format_json(verified))
    return max(codes)
