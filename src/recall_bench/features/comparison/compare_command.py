"""The commands `compare` and `plan power`: how runs differ, and how many questions show it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.console import MultiValueCommand, format_json
from recall_bench.cli.options import COUNT, PATH, SCORE, add_json_option, option
from recall_bench.core.errors import UsageError

if TYPE_CHECKING:
    from recall_bench.features.comparison.power_plan import PowerBasis


class _RunArgument(click.Argument):
    """Folders of runs. If one is missing, the error says how many are needed."""

    def process_value(self, ctx: click.Context, value: object) -> object:
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter as error:
            raise click.UsageError(
                "name two runs or more: recall-bench compare BASELINE OTHER", ctx
            ) from error


@click.command("compare")
@click.argument("baseline", cls=_RunArgument, type=PATH)
@click.argument("others", cls=_RunArgument, type=PATH, nargs=-1, required=True)
@click.option(
    "--intersect",
    is_flag=True,
    help="Compare common trials even if the runs differ, are unfinished or invalid.",
)
@SCORE
@option("--judge", metavar="NAME", help="Judge of the runs to go by [the first of each].")
@add_json_option("Print everything as JSON.")
def compare_command(
    baseline: Path,
    others: tuple[Path, ...],
    *,
    intersect: bool,
    score: str | None,
    judge: str | None,
    as_json: bool,
) -> None:
    """Compare runs with BASELINE, paired by trial: OTHERS are the folders of one run or more.

    Prints differences with intervals by category, checkpoint and persona, and the smallest
    difference that the runs could have shown. Runs of `eval` are compared by their protocol's
    score, runs of one behaviour suite with one seed figure by figure. Runs with several judges are
    compared by each; a note says if the order depends on the judge.
    """
    from recall_bench.core.plain_text import clean_text
    from recall_bench.engine.runs.judge_sensitivity import find_judge_view
    from recall_bench.engine.runs.run_folder import RunFolder
    from recall_bench.features.comparison.comparison_text import render_comparison
    from recall_bench.reporting.run_comparison import compare_runs
    from recall_bench.reporting.suites.suite_comparison import (
        compare_suites,
        render_suite_comparison,
    )

    folders = [RunFolder.open(path) for path in (baseline, *others)]
    for doubt in filter(None, (folder.doubt for folder in folders)):
        click.echo(f"note: {clean_text(doubt)}", err=True)
    if any(folder.plan.behaviour is not None for folder in folders):
        comparison = compare_suites(folders, intersect=intersect)
        click.echo(format_json(comparison) if as_json else render_suite_comparison(comparison))
        return
    folders = [find_judge_view(folder, judge) for folder in folders]
    report = compare_runs(folders, intersect=intersect, score=score)
    click.echo(format_json(report) if as_json else render_comparison(report))


_SHARE = click.FloatRange(min=0, max=1, min_open=True, max_open=True)
_ABOVE_ZERO = click.FloatRange(min=0, min_open=True)


@click.command("power", cls=MultiValueCommand)
@option(
    "--difference",
    type=_ABOVE_ZERO,
    metavar="POINTS",
    help="The difference to detect; prints the questions it takes.",
)
@option("--questions", type=COUNT, help="Number of questions; prints the difference they detect.")
@click.option(
    "--runs",
    type=PATH,
    multiple=True,
    help="Folders of one run, or two, to measure the variance from.",
)
@option(
    "--sd",
    type=_ABOVE_ZERO,
    metavar="POINTS",
    help="The standard deviation of differences, instead of --runs.",
)
@option(
    "--correlation",
    type=click.FloatRange(min=0, max=1),
    metavar="SHARE",
    help="Correlation of the differences on one question, with --sd [1: repeats add nothing].",
)
@option(
    "--asks",
    type=click.FloatRange(min=1),
    metavar="N",
    help="How often each question is asked [as in --runs, or once].",
)
@click.option(
    "--power",
    "wanted",
    type=_SHARE,
    default=0.8,
    metavar="SHARE",
    help="Wanted power [0.8].",
)
@click.option(
    "--alpha",
    type=_SHARE,
    default=0.05,
    metavar="SHARE",
    help="Significance level [0.05].",
)
@add_json_option("Print everything as JSON.")
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
    """Compute how many questions a difference between two systems takes, in points of 100.

    Both systems get the same questions, so the variance of their difference from question to
    question counts: two pilot runs estimate it best.
    """
    from recall_bench.features.comparison.power_plan import plan_power, render_power

    ground = (
        _use_stated_sd(sd, correlation, asks)
        if not runs
        else _measure_runs(runs, sd, correlation, asks)
    )
    plan = plan_power(ground, difference=difference, questions=questions, alpha=alpha, power=wanted)
    click.echo(format_json(plan) if as_json else render_power(plan))


def _use_stated_sd(sd: float | None, correlation: float | None, asks: float | None) -> "PowerBasis":
    from recall_bench.features.comparison.power_plan import state_basis

    if sd is None:
        raise UsageError(
            "the variance of differences is not known; name one or two runs with --runs, or give "
            "--sd"
        )
    return state_basis(sd, correlation, asks)


def _measure_runs(
    runs: tuple[Path, ...], sd: float | None, correlation: float | None, asks: float | None
) -> "PowerBasis":
    from recall_bench.engine.runs.run_folder import RunFolder
    from recall_bench.features.comparison.power_plan import measure_pilot
    from recall_bench.reporting.trial_scores import read_scored_trials

    if sd is not None or correlation is not None:
        raise UsageError("--sd and --correlation are measured from --runs; give one or the other")
    tables = [read_scored_trials(RunFolder.open(path)) for path in runs]
    return measure_pilot(tables, [str(path) for path in runs], asks)
