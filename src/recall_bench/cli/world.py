"""The command `world`: build, verify and describe simulated personas."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click
import msgspec

from recall_bench.cli.console import format_json
from recall_bench.cli.options import EDITION, add_json_option, add_output_option
from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plain_text import format_quantity
from recall_bench.core.plan import list_default_ranges
from recall_bench.core.record import Record
from recall_bench.core.scenario import CATEGORIES
from recall_bench.core.settings import Settings
from recall_bench.core.temporary_files import TemporaryFolder
from recall_bench.datasets.dataset_statistics import CATEGORY
from recall_bench.datasets.lint.lint_corpus import Severity
from recall_bench.generate.worlds import WorldReport

_NAMES = click.argument("names", nargs=-1, metavar="[PERSONA|DIR]...")
_ARCS = click.option("--arcs", metavar="FILE", help="The story, if there are several.")


@click.group("world")
def world_command() -> None:
    """Build simulated personas, whose answers are true by construction, and verify them."""


@world_command.command("build")
@click.option(
    "--persona",
    required=True,
    metavar="ID|DIR",
    help="A shipped persona, or a folder with your own sources.",
)
@_ARCS
@click.option("--days", type=click.IntRange(1), help="Length [that of the story].")
@EDITION
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
    edition: int | None,
    **knobs: Any,  # noqa: ANN401 - one number for each knob
) -> None:
    """Build a persona, simulated or from a written or life edition, in the public format."""
    from recall_bench.cli.console import show_build
    from recall_bench.generate.worlds import build_world

    folder = build_world(
        persona, out, arcs=arcs, days=days, edition=edition, building=show_build, knobs=knobs
    )
    click.echo(f"{folder}")


@world_command.command("check")
@_NAMES
@_ARCS
@click.option(
    "--all", "everything", is_flag=True, help="List every finding, also warnings of the lints."
)
@add_json_option("Print all findings as JSON.")
def check_command(
    names: tuple[str, ...], arcs: str | None, *, everything: bool, as_json: bool
) -> int:
    """Derive every answer from the text independently, and lint the dataset.

    Name shipped personas or folders; without a name all shipped personas are checked, and built
    first if necessary. A folder with the sources of a written or life edition has them checked.
    Exits with 3 if an answer does not follow from the text, a lint finds an error, or the sources
    break a rule; warnings are only counted.
    """
    from recall_bench.cli.console import show_activity, show_build
    from recall_bench.generate.worlds import find_worlds, verify_and_lint

    if any(Path(name, "entities.yaml").is_file() for name in names):
        return _check_lives(names, as_json=as_json)
    if any(Path(name, "story.yaml").is_file() for name in names):
        return _check_written(names, as_json=as_json)
    worlds = find_worlds(names, arcs=arcs)
    width = max(len(world.name) for world in worlds)
    results = []
    for world in worlds:
        with show_activity() as show:
            results.append(verify_and_lint(world, building=show_build, on_progress=show))
        if not as_json:
            click.echo(format_world_line(results[-1], f"{world.name:{width}}"))
            for found in list_findings(results[-1], everything=everything):
                click.echo(found)
    if as_json:
        click.echo(format_json(results))
    unsound = [result.persona for result in results if not result.is_sound]
    if unsound:
        click.echo(f"error: not verified: {', '.join(unsound)}; see the findings above", err=True)
    return DataError.exit_code if unsound else 0


def _check_written(names: tuple[str, ...], *, as_json: bool) -> int:
    """Print every rule that the sources of written editions break."""
    from recall_bench.generate.written.checks import check_sources, count_sources
    from recall_bench.generate.written.sources import read_written

    results = []
    for name in names:
        sources = read_written(Path(name))
        found, counts = check_sources(sources), count_sources(sources)
        results.append({"folder": name, "counts": counts, "findings": found})
        if not as_json:
            click.echo(
                f"{name}  {format_quantity(counts.days, 'day')}, {counts.words:,} words, "
                f"{format_quantity(counts.facts, 'fact')} "
                f"({counts.revised:,} revised twice or more), "
                f"{format_quantity(len(sources.questions), 'question')}, "
                f"{format_quantity(len(found), 'finding')}"
            )
            for finding in found:
                click.echo(f"  {finding}")
    return _conclude_source_check(results, as_json=as_json)


def _check_lives(names: tuple[str, ...], *, as_json: bool) -> int:
    """Print every rule that the sources of life editions break."""
    from recall_bench.generate.life.checks import find_faults
    from recall_bench.generate.life.sources import read_life
    from recall_bench.generate.life.sufficiency import find_shortages
    from recall_bench.generate.life.wording_replies import check_wordings

    results = []
    for name in names:
        sources = read_life(Path(name))
        faults = find_faults(sources)
        found = [*faults, *find_shortages(sources), *(() if faults else check_wordings(sources))]
        results.append({"folder": name, "findings": found})
        if not as_json:
            kinds = sources.entities.kinds.values()
            entities = sum(kind.count for kind in kinds)
            attributes = sum(kind.count * len(kind.attributes) for kind in kinds)
            click.echo(
                f"{name}  {entities:,} entities with {attributes:,} attributes, "
                f"{len(sources.processes):,} processes, {format_quantity(len(found), 'finding')}"
            )
            for finding in found:
                click.echo(f"  {finding}")
    return _conclude_source_check(results, as_json=as_json)


def _conclude_source_check(results: Sequence[dict[str, Any]], *, as_json: bool) -> int:
    """Print the results as JSON if wanted; the exit code of a check of sources."""
    if as_json:
        click.echo(format_json(results))
    is_broken = any(result["findings"] for result in results)
    if is_broken:
        click.echo("error: the sources break rules; see the findings above", err=True)
    return DataError.exit_code if is_broken else 0


@world_command.command("release")
@click.argument("personas", nargs=-1, metavar="[PERSONA]...")
def release_command(personas: tuple[str, ...]) -> None:
    """Build the shipped personas, all or those named, and record their digests.

    Needed after changes of the sources or the simulator: a corpus with another digest is refused,
    so that scores under one name are comparable. A life edition that is complete and proved becomes
    the newest of its story; the earlier one stays buildable with --edition 1.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.generate.worlds import record_release

    for persona, stories in record_release(personas, show_build).items():
        for arcs, corpus in stories.items():
            click.echo(
                f"{persona} {arcs}: {corpus.days} days, {corpus.questions} questions, "
                f"digest {corpus.digest[:12]}"
            )


@world_command.command("reword")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--requests",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write every question with its answer and evidence, one JSON object a line.",
)
@click.option(
    "--replies",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help='Take wordings: {"id": …, "ask": …} or {"id": …, "drop": "why"} a line.',
)
def reword_command(folder: Path, requests: Path | None, replies: tuple[Path, ...]) -> int:
    """Word the questions of a life edition one by one.

    DIR holds its sources. Questions are made from templates; a writer can word each of those of
    the story as authored anew, or drop it. Replies that lose a name or a figure, add one that the
    evidence does not tell, or give the answer away are refused and listed; the others are kept in
    wordings.jsonl beside the sources. Exits with 3 if any was refused.
    """
    from recall_bench.generate.life.question_wordings import read_wordings, write_wordings
    from recall_bench.generate.life.sources import read_life
    from recall_bench.generate.life.wording_replies import (
        accept_replies,
        iterate_wording_requests,
        read_replies,
        render_templates,
    )

    if (requests is None) == (not replies):
        raise UsageError("give either --requests or --replies")
    edition = render_templates(read_life(folder))
    wordings = read_wordings(folder)
    if requests is not None:
        lines = [msgspec.json.encode(each) for each in iterate_wording_requests(edition, wordings)]
        replace_file(requests, b"".join(line + b"\n" for line in lines))
        click.echo(f"{requests}: {format_quantity(len(lines), 'question')}")
        return 0
    taken, faults = accept_replies(
        edition, wordings, [reply for path in replies for reply in read_replies(path)]
    )
    path = write_wordings(folder, taken)
    dropped = sum(each.drop is not None for each in taken.values())
    for fault in faults:
        click.echo(str(fault))
    click.echo(
        f"{path}: {format_quantity(len(taken) - dropped, 'wording')}, {dropped:,} dropped, "
        f"{len({str(fault).split(':', 1)[0] for fault in faults}):,} refused"
    )
    return DataError.exit_code if faults else 0


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

    Length and novelty of its days, duration of its threads, questions over time, and the score of
    constant answers.
    """
    from recall_bench.cli.console import show_activity, show_build
    from recall_bench.datasets.dataset_statistics import compute_statistics, render_statistics
    from recall_bench.generate.thread_statistics import compute_threads
    from recall_bench.generate.worlds import find_worlds

    found = []
    for world in find_worlds(names, arcs=arcs):
        folder = world.find_folder(show_build)
        with show_activity() as show:
            show(f"reading {world.name}")
            portrait = compute_statistics(folder, world.arcs, count_threads=compute_threads)
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


MAX_SHOWN = 5
"""Findings of one kind that are listed without --all."""

_WIDTH = 100


def format_world_line(report: WorldReport, name: str) -> str:
    """A world in one line."""
    proof, lint = report.proof, report.lint
    return (
        f"{name}  {format_quantity(lint.days, 'day')}, {proof.rederived:,} of {proof.questions:,} "
        f"answers re-derived, {format_quantity(len(proof.findings), 'finding')}, lint "
        f"{format_quantity(lint.count(Severity.ERROR), 'error')} "
        f"{format_quantity(lint.count(Severity.WARNING), 'warning')}"
    )


def list_findings(report: WorldReport, *, everything: bool) -> Iterator[str]:
    """The findings of the verification, then errors of the lints; with `everything` all of them."""
    proved = [(str(found.code), found.where, found.message) for found in report.proof.findings]
    linted = [
        (f"lint {found.severity}, {found.code}", found.where, found.message)
        for found in report.lint.findings
        if everything or found.severity is Severity.ERROR
    ]
    for group in (sorted(proved, key=lambda found: found[0]), linted):
        for kind, several in groupby(group, key=lambda found: found[0]):
            yield from _list_kind(kind, [found[1:] for found in several], everything=everything)


def _list_kind(kind: str, several: Sequence[tuple[str, str]], *, everything: bool) -> Iterator[str]:
    yield f"  {kind} ({len(several):,})"
    shown = several if everything else several[:MAX_SHOWN]
    for where, message in shown:
        yield from textwrap.wrap(
            f"{where}: {message}", _WIDTH, initial_indent="    ", subsequent_indent="      "
        )
    if len(shown) < len(several):
        yield f"    and {len(several) - len(shown):,} more; --all lists them"


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
    from recall_bench.core.tables import Column, Table, render_text
    from recall_bench.reporting.formats import format_score

    heads = (Column(score.system, _CELL_WIDTH) for score in scores)
    rows = [(row, *(format_score(column[row]) for column in columns)) for row in columns[0]]
    first = Column(title, CATEGORY - 1, is_text=True)
    return render_text(Table([first, *heads], rows, gap=""))
