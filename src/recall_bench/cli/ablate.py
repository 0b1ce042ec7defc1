"""`ablate`: what each part of a system is worth."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.console import format_json, forward_to_stderr
from recall_bench.cli.options import (
    CONFIG,
    COUNT,
    NUMBER,
    PATH,
    MultiValueCommand,
    option,
    read_flags,
)

if TYPE_CHECKING:
    from recall_bench.reporting.ablation_report import AblationReport


@click.command("ablate", cls=MultiValueCommand)
@option("--adapter", help="The system: a built-in by name, or as `run` takes it [hybrid].")
@option("--data", type=PATH, help="Folder that holds the personas [those of the package].")
@option("--profile", type=PATH, help="YAML profile of the base; flags win over it.")
@option("--personas", multiple=True, help="Personas to run [all of --data; harbour-office].")
@option("--ranges", multiple=True, help="Checkpoints, as `run` takes them.")
@option("--arcs", help="The story, by its arcs file [arcs-1000d.yaml, or the only one].")
@option("--sample", type=NUMBER, help="Older questions at each checkpoint at most [all].")
@option("--groups-enabled/--no-groups-enabled", help="Ask the two group categories too [no].")
@option("--seed", type=int, help="Order and sample of the questions [42].")
@option("--judge", help="Who judges, as `run` takes it [offline].")
@CONFIG
@click.option(
    "--grid",
    multiple=True,
    metavar="KEY=VALUE,VALUE",
    help="A setting to vary, and its values [each part of hybrid off or on].",
)
@click.option(
    "--one-at-a-time/--full",
    default=True,
    help="Change one setting at a time, or run every combination of --grid [one at a time].",
)
@option("--into", type=PATH, help="Folder for the runs; the same one continues [by settings].")
@option("--parallelism", type=COUNT, help="Questions, and verdicts, at a time [1].")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a Markdown table.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def ablate_command(
    profile: Path | None,
    grid: tuple[str, ...],
    one_at_a_time: bool,
    *,
    as_markdown: bool,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> None:
    """Run variants of a system on the same questions, and print how far each differs.

    Without --grid every part of the built-in hybrid is turned the other way round, one at a time.
    Each variant is a run of its own; what is finished is not run again.
    """
    from recall_bench.cli.console import show_activity, show_build
    from recall_bench.core.errors import UsageError
    from recall_bench.reporting.ablation_report import compare_variants
    from recall_bench.running.ablation import plan_ablation, read_grid, run_ablation

    if as_json and as_markdown:
        raise UsageError("--json and --markdown are two shapes of one table; say one")
    if not one_at_a_time and not grid:
        raise UsageError("--full: combines what --grid names; name the settings to vary")
    settings = read_flags(profile, flags)
    ablation = plan_ablation(settings, read_grid(grid) or None, full=not one_at_a_time)
    for note in ablation.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"runs: {ablation.folder}", err=True)
    with forward_to_stderr(), show_activity() as telling:
        done = run_ablation(ablation, telling, show_build)
        telling("comparing")
        comparison = compare_variants(
            ablation.variants,
            done.folders,
            adapter=ablation.settings.adapter,
            base_config=ablation.base,
        )
    for warning in done.warnings:
        click.echo(f"note: {warning}", err=True)
    _print_comparison(comparison, "json" if as_json else "markdown" if as_markdown else "table")


def _print_comparison(comparison: "AblationReport", shape: str) -> None:
    from recall_bench.reporting.ablation_report import render_markdown, render_table, render_text

    if shape == "json":
        click.echo(format_json(comparison))
    elif shape == "markdown":
        click.echo(render_markdown(comparison))
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(render_table(comparison))
    else:
        click.echo(render_text(comparison))
