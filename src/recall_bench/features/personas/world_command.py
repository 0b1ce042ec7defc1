"""The command `world`: simulate personas from sources, and describe any dataset."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import add_json_option, add_output_option
from recall_bench.core.atomic_file import TemporaryFolder
from recall_bench.core.errors import DataError
from recall_bench.core.plan import list_default_ranges
from recall_bench.core.record import Record
from recall_bench.core.scenario import CATEGORIES
from recall_bench.core.settings import Settings
from recall_bench.stories.dataset_statistics import CATEGORY

_NAMES = click.argument("names", nargs=-1, metavar="[PERSONA|DIR]...")
_ARCS = click.option("--arcs", metavar="FILE", help="The story, if there are several.")


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
@_ARCS
@click.option("--days", type=click.IntRange(1), help="Length [that of the story].")
@click.option("--seed", type=int, default=0, show_default=True, help="0 is the story as authored.")
@add_output_option("Folder to put the persona into.", required=True)
@click.option(
    "--density",
    type=click.FloatRange(0.1, 10),
    default=1.0,
    show_default=True,
    help="Words per day, relative to the usual.",
)
@click.option(
    "--distance",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="How far the wording of questions is from the text.",
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
    help="Probability that the values of a thread are repeated weeks later.",
)
def build_command(
    persona: str,
    out: Path,
    arcs: str | None,
    days: int | None,
    **knobs: Any,  # noqa: ANN401 - one number for each knob
) -> None:
    """Simulate a persona: its folder has the public format, for `run --data`."""
    from recall_bench.cli.console import show_build
    from recall_bench.features.personas.worlds import build_world

    folder = build_world(persona, out, arcs=arcs, days=days, building=show_build, knobs=knobs)
    click.echo(f"{folder}")


@world_command.command("stats")
@_NAMES
@_ARCS
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
    from recall_bench.features.personas.worlds import find_worlds
    from recall_bench.stories.dataset_statistics import compute_statistics, render_statistics

    found = []
    for world in find_worlds(names, arcs=arcs):
        folder = world.find_folder()
        with show_activity() as show:
            show(f"reading {world.name}")
            portrait = compute_statistics(folder, world.arcs)
            scores = None
            if baselines:
                last_day = portrait.calendar.last_day
                scores = score_baselines(folder, world.arcs, last_day, show)
        found.append({"portrait": portrait, "baselines": scores})
        if not as_json:
            click.echo(render_statistics(portrait) + "\n")
            if scores:
                click.echo(render_scores(scores) + "\n")
    if as_json:
        click.echo(format_json(found))


SYSTEMS = ("none", "random", "recency", "bm25", "vector", "hybrid", "oracle")

CONSTANTS = {"No": "No.", "refusal": "I'm not able to share that; it is confidential."}
"""Constant answers by the name of their column."""

_CELL_WIDTH = 8


class ConstantAdapter:
    """An adapter that always gives the same answer."""

    def __init__(self, reply: str) -> None:
        self._reply = reply

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        """Ignore the day."""

    def query(self, question: str, context: object) -> str:  # noqa: ARG002 - part of the protocol
        """The constant answer."""
        return self._reply


class BaselineScore(Record, frozen=True, kw_only=True):
    """The mean scores, of 6, of one system."""

    system: str
    categories: dict[str, float | None]
    """At the last checkpoint; None without questions."""
    checkpoints: dict[str, float | None]
    """Over all categories."""


def score_baselines(
    folder: Path, arcs: str, last_day: int, show: Callable[[str], None]
) -> tuple[BaselineScore, ...]:
    """The score of each system at the usual checkpoints, with groups enabled."""
    ranges = list_default_ranges(last_day)
    place = folder.resolve()
    story = Settings(
        data=place.parent,
        personas=(place.name,),
        arcs=arcs,
        ranges=ranges,
        groups_enabled=True,
        heatmap_png=False,
        write_question_log=False,
    )
    scores = []
    for name in (*SYSTEMS, *CONSTANTS):
        show(f"asking {name} about {place.name}")
        scores.append(_score_system(name, story))
    return tuple(scores)


def _score_system(name: str, story: Settings) -> BaselineScore:
    from recall_bench.library import run

    is_constant = name in CONSTANTS
    adapter = ConstantAdapter if is_constant else name
    config = {"reply": CONSTANTS[name]} if is_constant else {}
    with TemporaryFolder("score") as scratch:
        finished = run(story, adapter=adapter, config=config, into=Path(scratch, "run"))
        if finished.stopped_by is not None:
            raise finished.stopped_by
        if not finished.is_valid:
            raise DataError(f"{name}: {finished.summary.validity.reason}; its scores are invalid")
        columns = finished.summary.checkpoints
    last = columns[-1]
    return BaselineScore(
        system=name,
        categories={category: last.get_tally(category).mean for category in CATEGORIES},
        checkpoints={column.checkpoint.label: column.overall.mean for column in columns},
    )


def render_scores(scores: Sequence[BaselineScore]) -> str:
    """Two tables: the categories at the last checkpoint, and the checkpoints."""
    last = list(scores[0].checkpoints)[-1]
    return "\n".join(
        [
            *_render_table(
                f"score of 100 at {last}", scores, [score.categories for score in scores]
            ),
            "",
            *_render_table("score of 100 overall", scores, [score.checkpoints for score in scores]),
        ]
    )


def _render_table(
    title: str, scores: Sequence[BaselineScore], columns: Sequence[dict[str, float | None]]
) -> list[str]:
    from recall_bench.core.plain_text import Column, Table, render_text
    from recall_bench.reporting.formats import format_score

    heads = (Column(score.system, _CELL_WIDTH) for score in scores)
    rows = [(row, *(format_score(column[row]) for column in columns)) for row in columns[0]]
    first = Column(title, CATEGORY - 1, is_text=True)
    return render_text(Table([first, *heads], rows, gap=""))
