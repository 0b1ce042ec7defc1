"""The command `list`: available personas, systems and checkpoints."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import DATA, add_json_option
from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import format_quantity

if TYPE_CHECKING:
    from recall_bench.stories.persona_list import StoryEntry


@click.command("list")
@DATA
@click.option("--systems", is_flag=True, help="List the systems that --adapter accepts by name.")
@click.option("--ranges", is_flag=True, help="List the named checkpoints with their days.")
@add_json_option("Print JSON.")
def list_command(data: Path | None, systems: bool, ranges: bool, as_json: bool) -> None:
    """List the personas of a data folder, or those of the package; or systems, or checkpoints."""
    from recall_bench.stories.persona_list import list_personas

    if ranges:
        _list_ranges(as_json)
        return
    if systems:
        if data is not None:
            raise UsageError("--systems: systems are in no data folder; leave out --data")
        _list_systems(as_json)
        return
    personas = list_personas(data)
    if as_json:
        click.echo(format_json(personas))
        return
    for persona in personas:
        click.echo(f"{persona.id}  {persona.name}, {persona.role}")
        for story in persona.stories:
            click.echo(f"    {story.arcs}  {_format_size(story)}")
    click.echo("A run asks the questions about groups and sessions only with --groups-enabled.")


def _format_size(story: "StoryEntry") -> str:
    if story.problems:
        it = "it" if story.problems == 1 else "them"
        return f"{format_quantity(story.problems, 'problem')}; `recall-bench run` names {it}"
    days, questions = story.days or 0, story.questions or 0
    return f"{format_quantity(days, 'day')}, {format_quantity(questions, 'question')}"


def _list_systems(as_json: bool) -> None:
    from recall_bench.core.user_code import describe_plugins

    plugins = describe_plugins("systems")
    if as_json:
        click.echo(format_json([{"name": name, "description": text} for name, text in plugins]))
        return
    width = max((len(name) for name, _ in plugins), default=0)
    for name, text in plugins:
        click.echo(f"{name:{width}}  {text}".rstrip())


def _list_ranges(as_json: bool) -> None:
    from recall_bench.core.plan import FULL, NAMED_RANGES

    if as_json:
        import json

        rows = [{"label": label, "days": days} for label, days in NAMED_RANGES.items()]
        click.echo(json.dumps(rows, indent=2))
        return
    for label, days in NAMED_RANGES.items():
        click.echo(f"{label:>5}  {'every day there is' if days == FULL else f'{days} days'}")
    click.echo("Also: any count (45, 45d, 2w, 3mo, 2y) and steps (every:7, every:2w).")
