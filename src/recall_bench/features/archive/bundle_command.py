"""The command `bundle`: one file of a run that others can verify."""

from pathlib import Path

import click

from recall_bench.cli.console import show_build
from recall_bench.cli.options import PATH, option

SUFFIX = ".bundle"


@click.command("bundle")
@click.argument("run", type=PATH)
@option("-o", "--into", type=PATH, metavar="FILE", help="The bundle [RUN.bundle].")
@option("--sign", "key", type=PATH, metavar="KEY", help="Sign it with this private SSH key.")
def bundle_command(run: Path, *, into: Path | None, key: Path | None) -> None:
    """Write the finished run in the folder RUN as one file, which `verify` derives again anywhere.

    It holds the journal, the result and what they were made with. The same run gives the same
    bytes. Shipped stories are named by persona, edition and seed instead of their text.
    """
    from recall_bench.features.archive.bundle_signature import sign_bundle
    from recall_bench.features.archive.run_bundle import make_bundle
    from recall_bench.stories.dataset_folder import format_size

    bundle = into or run.with_name(f"{run.name}{SUFFIX}")
    manifest = make_bundle(run, bundle, show_build)
    click.echo(f"bundle: {bundle} ({format_size(bundle.stat().st_size)})")
    if manifest.dataset.items:
        click.echo(
            "note: the days are not in it, but its journal holds the questions and answers of your "
            "own data; publish it only if you may",
            err=True,
        )
    if key is not None:
        click.echo(f"signature: {sign_bundle(bundle, key)}")
