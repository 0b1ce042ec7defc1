"""`world`: play a persona, prove what was played, and say what it is like."""

from pathlib import Path
from typing import Any

import click

from recall_bench.cli.answer import format_json
from recall_bench.errors import DataError

_NAMES = click.argument("names", nargs=-1, metavar="[PERSONA|DIR]...")
_ARCS = click.option("--arcs", metavar="FILE", help="Which story, where there are several.")


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
@_ARCS
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
    from recall_bench.cli.building import show_build
    from recall_bench.worlds import build_world

    folder = build_world(persona, out, arcs=arcs, days=days, building=show_build, knobs=knobs)
    click.echo(f"{folder}")


@world_command.command("check")
@_NAMES
@_ARCS
@click.option("--all", "everything", is_flag=True, help="List every finding, lint's warnings too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every finding in it.")
def check_command(
    names: tuple[str, ...], arcs: str | None, *, everything: bool, as_json: bool
) -> int:
    """Derive every answer from the text again, and lint what was built.

    Name shipped personas or folders with built ones; without a name all shipped personas are
    checked, and played first if need be. Exits with 3 if an answer does not follow from the text
    or anything is found wrong; warnings of the lints are only counted.
    """
    from recall_bench.cli.building import show_build
    from recall_bench.cli.doing import show_activity
    from recall_bench.cli.examined import format_world_line, list_findings
    from recall_bench.worlds import find_worlds, verify_and_lint

    worlds = find_worlds(names, arcs=arcs)
    width = max(len(world.name) for world in worlds)
    results = []
    for world in worlds:
        with show_activity() as telling:
            results.append(verify_and_lint(world, building=show_build, telling=telling))
        if not as_json:
            click.echo(format_world_line(results[-1], f"{world.name:{width}}"))
            for found in list_findings(results[-1], everything=everything):
                click.echo(found)
    if as_json:
        click.echo(format_json(results))
    unsound = [result.persona for result in results if not result.is_sound]
    if unsound:
        click.echo(f"error: not proved: {', '.join(unsound)}; see what was found", err=True)
    return DataError.exit_code if unsound else 0


@world_command.command("release")
def release_command() -> None:
    """Play every shipped persona anew and put its digest on record.

    For whoever changes the sources or the simulator: a corpus that is not the one on record is
    refused, so that scores under one name always compare.
    """
    from recall_bench.cli.building import show_build
    from recall_bench.worlds import record_release

    for persona, stories in record_release(show_build).items():
        for arcs, corpus in stories.items():
            click.echo(
                f"{persona} {arcs}: {corpus.days} days, {corpus.questions} questions, "
                f"digest {corpus.digest[:12]}"
            )


@world_command.command("stats")
@_NAMES
@_ARCS
@click.option(
    "--baselines",
    is_flag=True,
    help="Score the built-in systems and two constant answers too; takes minutes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def stats_command(
    names: tuple[str, ...], arcs: str | None, *, baselines: bool, as_json: bool
) -> None:
    """Draw the portrait of any dataset in the public format.

    How long and how new its days are, how long its threads are spoken of, what is asked when, and
    how far a constant answer gets.
    """
    from recall_bench.cli.building import show_build
    from recall_bench.cli.doing import show_activity
    from recall_bench.portrait.drawing import compute_statistics
    from recall_bench.portrait.rendering import render_statistics
    from recall_bench.worlds import find_worlds

    found = []
    for world in find_worlds(names, arcs=arcs):
        folder = world.find_folder(show_build)
        with show_activity() as telling:
            telling(f"reading {world.name}")
            portrait = compute_statistics(folder, world.arcs)
            scores = None
            if baselines:
                from recall_bench.cli import baselines as scoring

                last_day = portrait.calendar.last_day
                scores = scoring.score_baselines(folder, world.arcs, last_day, telling)
        found.append({"portrait": portrait, "baselines": scores})
        if not as_json:
            click.echo(render_statistics(portrait) + "\n")
            if scores:
                click.echo(scoring.render_scores(scores) + "\n")
    if as_json:
        click.echo(format_json(found))
