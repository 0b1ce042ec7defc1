"""`plan`: what a run would do and take, before anything is spent."""

from pathlib import Path
from typing import Any

import click

from recall_bench.cli.answer import format_json, forward_to_stderr
from recall_bench.cli.asking import resolve_file_settings
from recall_bench.cli.listed import MultiValueCommand
from recall_bench.cli.options import PATH, option, read_flags
from recall_bench.cli.run import run_command

_SECONDS = click.FloatRange(min=0)


@click.command("plan", cls=MultiValueCommand)
@option("--profile", type=PATH, help="YAML profile; flags win over it.")
@click.option("--estimate", "estimates", is_flag=True, help="Say what it takes, too.")
@click.option(
    "--from",
    "earlier",
    type=PATH,
    multiple=True,
    help="Run folders to estimate from [the newest of this system and this judge].",
)
@option(
    "--seconds-per-answer",
    "answer_s",
    type=_SECONDS,
    metavar="S",
    help="What an answer takes, such as a published rate [as measured].",
)
@option(
    "--seconds-per-day",
    "day_s",
    type=_SECONDS,
    metavar="S",
    help="What feeding a day takes [as measured].",
)
@option(
    "--seconds-per-verdict",
    "verdict_s",
    type=_SECONDS,
    metavar="S",
    help="What a verdict takes [as measured].",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def plan_command(
    profile: Path | None,
    estimates: bool,
    *,
    earlier: tuple[Path, ...],
    answer_s: float | None,
    day_s: float | None,
    verdict_s: float | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option of `run`
) -> None:
    """Say what a run with these flags would do, and with --estimate what it would take.

    It takes the flags of `run`. Nothing is fed, asked, judged or written.
    """
    from recall_bench.cli.building import show_build
    from recall_bench.planning.asking_nobody import dry_plan
    from recall_bench.planning.estimating import StatedTimes, estimate_run, make_outline
    from recall_bench.planning.text import render_estimate, render_outline

    flags.pop("no_heatmap_png", None)
    settings = read_flags(profile, resolve_file_settings(flags))
    said = StatedTimes(answer_s=answer_s, day_s=day_s, verdict_s=verdict_s)
    with forward_to_stderr(), dry_plan(settings, show_build) as job:
        for warning in job.warnings:
            click.echo(f"note: {warning}", err=True)
        if estimates or earlier or any(each is not None for each in (answer_s, day_s, verdict_s)):
            found = estimate_run(job, earlier=earlier, stated_s=said)
            text = format_json(found) if as_json else render_estimate(found)
        else:
            shown = make_outline(job)
            text = format_json(shown) if as_json else render_outline(shown)
    click.echo(text)


def _list_run_flags() -> list[click.Parameter]:
    """Every flag of `run` that says what is run, and how."""
    own = {each.name for each in plan_command.params} | {"as_grid"}
    return [each for each in run_command.params if each.name not in own]


plan_command.params += _list_run_flags()
