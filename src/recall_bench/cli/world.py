"""`world`: play a persona, prove what was played, and say what it is like."""

from pathlib import Path
from typing import Any

import click


@click.group("world")
def world_command() -> None:
    """Build persona datasets whose every answer is true by construction, and prove it."""


@world_command.command("build")
@click.option(
    "--persona",
    required=True,
    metavar="ID|DIR",
    help="A shipped persona, or a folder with sources of your own.",
)
@click.option("--arcs", metavar="FILE", help="Which story, where there are several.")
@click.option("--days", type=click.IntRange(1), help="How long; default: as long as the story.")
@click.option("--seed", type=int, default=0, show_default=True, help="0 is as authored.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder to put the persona into."
)
@click.option(
    "--density",
    type=click.FloatRange(0.1, 10),
    default=1.0,
    show_default=True,
    help="Words a day, relative to the usual.",
)
@click.option(
    "--distance",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="How far the questions' wording is from the text's.",
)
@click.option(
    "--distractors",
    type=click.FloatRange(0, 1),
    default=0.25,
    show_default=True,
    help="Share of threads that look like an earlier one.",
)
@click.option(
    "--restatements",
    type=click.FloatRange(0, 1),
    default=0.15,
    show_default=True,
    help="Chance that a thread's values are told once more, weeks later.",
)
def build_command(
    persona: str,
    out: Path,
    arcs: str | None,
    days: int | None,
    **knobs: Any,  # noqa: ANN401 - one number for each knob
) -> None:
    """Play a persona day by day and write it as a dataset in the public format."""
    from recall_bench.cli.building import building
    from recall_bench.worlds import build_world

    folder = build_world(persona, out, arcs=arcs, days=days, building=building, knobs=knobs)
    click.echo(f"{folder}")
