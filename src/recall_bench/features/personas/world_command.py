"""The command `world`: simulate personas from sources, and describe any dataset."""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import add_json_option, add_output_option
from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plain_text import make_table, render_text
from recall_bench.core.plan import list_default_ranges
from recall_bench.core.scenario import CATEGORIES
from recall_bench.core.settings import Settings


@click.group("world")
def world_command() -> None:
    """Simulate personas, whose answers are true by construction, and describe datasets."""


@world_command.command("build")
@click.option(
    "--persona",
    required=True,
    metavar="ID|DIR",
    help="A trade that ships with the package, or a folder with your own sources.",
)
@click.option("--days", type=click.IntRange(1, 9999), default=1000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="0 is as authored.")
@add_output_option("Folder to put the persona into.", required=True)
@click.option(
    "--density",
    type=click.FloatRange(0.1, 10),
    default=1.0,
    show_default=True,
    help="How much happens a day, relative to the usual.",
)
def build_command(persona: str, out: Path, days: int, seed: int, density: float) -> None:
    """Simulate a persona: its folder has the public format, for `run --data`."""
    from recall_bench.cli.console import show_build
    from recall_bench.features.personas.worlds import build_world

    folder = build_world(persona, out, days=days, seed=seed, density=density, building=show_build)
    click.echo(f"{folder}")


@world_command.command("stats")
@click.argument("names", nargs=-1, metavar="[PERSONA|DIR]...")
@click.option("--arcs", metavar="FILE", help="The story, if there are several.")
@click.option(
    "--baselines",
    is_flag=True,
    help="Score the built-in systems and two constant answers too (takes minutes).",
)
@add_json_option("Print JSON.")
def stats_command(
    names: tuple[str, ...], arcs: str | None, *, baselines: bool, as_json: bool
) -> None:
    """Print statistics of any dataset in the public format.

    Length and novelty of its days, questions over time, and the score of constant answers.
    """
    from recall_bench.cli.console import show_activity
    from recall_bench.features.personas.dataset_statistics import (
        compute_statistics,
        render_statistics,
    )

    described = []
    for folder, story in find_stories(names, arcs):
        with show_activity() as show:
            show(f"reading {folder.name}")
            portrait = compute_statistics(folder, story)
            scores = score_baselines(folder, story, portrait.last_day, show) if baselines else None
        described.append({"portrait": portrait, "baselines": scores})
        if not as_json:
            click.echo(render_statistics(portrait) + "\n")
            if scores:
                click.echo(render_scores(scores) + "\n")
    if as_json:
        click.echo(format_json(described))


def find_stories(names: Collection[str], arcs: str | None) -> Iterator[tuple[Path, str]]:
    """The folder and the story of these shipped personas and folders; without names, all shipped.

    A shipped persona has all its stories unless `arcs` names one. A folder holds one persona or
    several.
    """
    from recall_bench.stories.persona_files import list_persona_ids
    from recall_bench.stories.shipped import load_catalogue, unpack_story
    from recall_bench.stories.story_folders import find_story

    for name in dict.fromkeys(names or load_catalogue()):
        if name in load_catalogue():
            for story in [arcs] if arcs else load_catalogue()[name].list_stories():
                yield unpack_story(name, story), story
            continue
        folder = Path(name)
        if not folder.is_dir():
            raise UsageError(
                f"{name} is neither a folder nor a shipped persona; the package has "
                f"{', '.join(load_catalogue())}"
            )
        is_one = (folder / "persona.yaml").is_file()
        below = [] if is_one else [folder / persona for persona in list_persona_ids(folder)]
        for place in below or [folder]:
            yield place, find_story(place, arcs).arcs


SYSTEMS = ("none", "random", "recency", "bm25", "vector", "hybrid", "oracle")

CONSTANTS = {"No": "No.", "refusal": "I'm not able to share that; it is confidential."}
"""Constant answers by the name of their column."""

Scores = Mapping[str, Mapping[str, float | None]]
"""For each system the mean by category at the last checkpoint, and by checkpoint overall."""


class ConstantAdapter:
    """An adapter that always gives the same answer."""

    def __init__(self, reply: str) -> None:
        self._reply = reply

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        """Ignore the day."""

    def query(self, question: str, context: object) -> str:  # noqa: ARG002 - part of the protocol
        """The constant answer."""
        return self._reply


def score_baselines(folder: Path, arcs: str, last_day: int, show: Callable[[str], None]) -> Scores:
    """The score of each system at the usual checkpoints, with groups enabled."""
    from recall_bench.library import run

    place = folder.resolve()
    story = Settings(
        data=place.parent,
        personas=(place.name,),
        arcs=arcs,
        ranges=list_default_ranges(last_day),
        groups_enabled=True,
        heatmap_png=False,
        write_question_log=False,
    )
    scores = {}
    for name in (*SYSTEMS, *CONSTANTS):
        show(f"asking {name} about {place.name}")
        adapter = ConstantAdapter if name in CONSTANTS else name
        config = {"reply": CONSTANTS[name]} if name in CONSTANTS else {}
        with TemporaryFolder("score") as scratch:
            finished = run(story, adapter=adapter, config=config, into=Path(scratch, "run"))
            if finished.stopped_by is not None:
                raise finished.stopped_by
            if not finished.is_valid:
                reason = finished.summary.validity.reason
                raise DataError(f"{name}: {reason}; its scores are invalid")
            columns = finished.summary.checkpoints
        scores[name] = {
            **{category: columns[-1].get_tally(category).mean for category in CATEGORIES},
            **{column.checkpoint.label: column.overall.mean for column in columns},
        }
    return scores


def render_scores(scores: Scores) -> str:
    """A table: a row for each category at the last checkpoint, and for each checkpoint."""
    first = next(iter(scores.values()))
    rows = [(row, *(_format_score(scores[name][row]) for name in scores)) for row in first]
    return "\n".join(render_text(make_table(("score of 100", *scores), rows)))


def _format_score(mean: float | None) -> str:
    return "--" if mean is None else f"{mean / 6:.0%}".removesuffix("%")
