"""The command `ablate`: the contribution of each part of a system."""

from pathlib import Path
from typing import Any

import click

from recall_bench.cli.console import MultiValueCommand, format_json, forward_to_stderr
from recall_bench.cli.options import (
    PATH,
    add_json_option,
    option,
    read_flags,
    setting_options,
)


@click.command("ablate", cls=MultiValueCommand)
@setting_options("adapter", "data", adapter="The system, as for `run`")
@option("--profile", type=PATH, help="YAML profile of the base variant; flags win over it.")
@setting_options(
    *("personas", "ranges", "arcs", "sample", "groups_enabled", "seed", "judge", "judges"),
    "config",
    judge="The judge, as for `run`",
)
@click.option(
    "--grid",
    multiple=True,
    metavar="KEY=VALUE,VALUE",
    help="A setting to vary and its values [each part of hybrid off and on].",
)
@click.option(
    "--one-at-a-time/--full",
    default=True,
    help="Change one setting at a time, or run every combination of --grid [one at a time].",
)
@setting_options(
    "into",
    "parallelism",
    into="Folder for all runs; existing runs continue [a folder named after the settings]",
)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a Markdown table.")
@add_json_option("Print the table as JSON.")
def ablate_command(
    profile: Path | None,
    grid: tuple[str, ...],
    one_at_a_time: bool,
    *,
    as_markdown: bool,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> None:
    """Run variants of a system on the same questions, and compare them with the base.

    Without --grid each part of the built-in hybrid is switched, one at a time. Each variant is a
    run of its own; finished runs are not repeated.
    """
    from recall_bench.cli.console import show_activity, show_build
    from recall_bench.core.errors import UsageError
    from recall_bench.features.comparison.ablation import plan_ablation, read_grid, run_ablation
    from recall_bench.features.comparison.ablation_report import (
        compare_variants,
        render_markdown,
        render_text,
    )

    if as_json and as_markdown:
        raise UsageError("--json and --markdown exclude each other; give one")
    if not one_at_a_time and not grid:
        raise UsageError("--full needs at least one --grid KEY=VALUE,VALUE")
    settings = read_flags(profile, flags)
    ablation = plan_ablation(settings, read_grid(grid) or None, full=not one_at_a_time)
    for note in ablation.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"runs: {ablation.folder}", err=True)
    with forward_to_stderr(), show_activity() as show:
        done = run_ablation(ablation, show, show_build)
        show("comparing")
        comparison = compare_variants(
            ablation.variants,
            done.folders,
            adapter=ablation.settings.adapter,
            base_config=ablation.base,
        )
    for warning in done.warnings:
        click.echo(f"note: {warning}", err=True)
    if as_json:
        click.echo(format_json(comparison))
    else:
        click.echo((render_markdown if as_markdown else render_text)(comparison))
