"""`compare`: which of several runs is better, and whether that can be told."""

from pathlib import Path

import click

from recall_bench.cli.answer import format_json
from recall_bench.cli.options import PATH


@click.command("compare")
@click.argument("baseline", type=PATH)
@click.argument("others", type=PATH, nargs=-1, required=True)
@click.option(
    "--intersect",
    is_flag=True,
    help="Compare what the runs have in common, even if they are unlike, unfinished or invalid.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def compare_command(
    baseline: Path, others: tuple[Path, ...], *, intersect: bool, as_json: bool
) -> None:
    """Compare runs with BASELINE, paired by trial: OTHERS are the folders of one run or more.

    Prints which is better and how sure that is, by category, checkpoint and persona; or that no
    difference can be told, and how large one would have had to be.
    """
    from recall_bench.analysis.comparing import compare_runs
    from recall_bench.analysis.comparison_text import render_comparison
    from recall_bench.reporting.folder import RunFolder

    folders = [RunFolder.open(path) for path in (baseline, *others)]
    report = compare_runs(folders, intersect=intersect)
    click.echo(format_json(report) if as_json else render_comparison(report))
