"""`compare`: which of several runs is better, and whether that can be told."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import COUNT, PATH, MultiValueCommand, option
from recall_bench.core.errors import UsageError

if TYPE_CHECKING:
    from recall_bench.reporting.power_plan import PowerBasis


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
    from recall_bench.reporting.comparison_text import render_comparison
    from recall_bench.reporting.run_comparison import compare_runs
    from recall_bench.runs.run_folder import RunFolder

    folders = [RunFolder.open(path) for path in (baseline, *others)]
    report = compare_runs(folders, intersect=intersect)
    click.echo(format_json(report) if as_json else render_comparison(report))


_SHARE = click.FloatRange(min=0, max=1, min_open=True, max_open=True)
_ABOVE_ZERO = click.FloatRange(min=0, min_open=True)


@click.command("power", cls=MultiValueCommand)
@option("--difference", type=_ABOVE_ZERO, metavar="POINTS", help="How many questions it takes.")
@option("--questions", type=COUNT, help="The smallest difference that so many show.")
@click.option(
    "--runs",
    type=PATH,
    multiple=True,
    help="Folders of one run, or two, to take from how far differences vary.",
)
@option(
    "--sd", type=_ABOVE_ZERO, metavar="POINTS", help="Or how far one varies, from trial to trial."
)
@option(
    "--correlation",
    type=click.FloatRange(min=0, max=1),
    metavar="SHARE",
    help="How alike the differences on one question are, with --sd [1: re-asks add nothing].",
)
@option(
    "--asks",
    type=click.FloatRange(min=1),
    metavar="N",
    help="How often each question is put [as in --runs, or once].",
)
@click.option(
    "--power",
    "wanted",
    type=_SHARE,
    default=0.8,
    metavar="SHARE",
    help="How often it is to be noticed [0.8].",
)
@click.option(
    "--alpha",
    type=_SHARE,
    default=0.05,
    metavar="SHARE",
    help="How often there may be a false alarm [0.05].",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def power_command(
    difference: float | None,
    questions: int | None,
    *,
    runs: tuple[Path, ...],
    sd: float | None,
    correlation: float | None,
    asks: float | None,
    wanted: float,
    alpha: float,
    as_json: bool,
) -> None:
    """Say how many questions a difference between two systems takes, in points of 6.

    Two systems are put to the same questions, so what counts is how much their difference varies
    from question to question: a pilot of two runs says it best.
    """
    from recall_bench.reporting.power_plan import plan_power, render_power

    ground = (
        _use_stated_sd(sd, correlation, asks)
        if not runs
        else _measure_runs(runs, sd, correlation, asks)
    )
    found = plan_power(
        ground, difference=difference, questions=questions, alpha=alpha, power=wanted
    )
    click.echo(format_json(found) if as_json else render_power(found))


def _use_stated_sd(sd: float | None, correlation: float | None, asks: float | None) -> "PowerBasis":
    from recall_bench.reporting.power_plan import state_basis

    if sd is None:
        raise UsageError(
            "how far differences vary is not known; name one run or two with --runs, or say --sd"
        )
    return state_basis(sd, correlation, asks)


def _measure_runs(
    runs: tuple[Path, ...], sd: float | None, correlation: float | None, asks: float | None
) -> "PowerBasis":
    from recall_bench.reporting.power_plan import measure_pilot
    from recall_bench.runs.run_folder import RunFolder
    from recall_bench.runs.trials import read_trials

    if sd is not None or correlation is not None:
        raise UsageError("--sd and --correlation are taken from --runs; say one or the other")
    tables = [read_trials(RunFolder.open(path)) for path in runs]
    return measure_pilot(tables, [str(path) for path in runs], asks)
