"""`run`: the benchmark itself."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recall_bench.cli.listed import ListedCommand
from recall_bench.core.plan import Calendar, Lifecycle

if TYPE_CHECKING:
    from recall_bench.ending import Finished
    from recall_bench.profile import Settings

F = TypeVar("F", bound=Callable[..., Any])

_PATH = click.Path(path_type=Path)
_COUNT = click.IntRange(min=1)
_NUMBER = click.IntRange(min=0)


def _option(*names: str, **settings: Any) -> Callable[[F], F]:  # noqa: ANN401 - click's own
    """An option that is absent unless given, so that a profile can supply it."""
    if isinstance(settings.get("type"), click.IntRange):
        settings["metavar"] = "MS" if names[0].endswith("timeout") else "N"
    return click.option(*names, default=None, **settings)


@click.command("run", cls=ListedCommand)
@_option(
    "--adapter",
    help="Built-in name, file.py[:factory], module:factory or grpc://host:port [hybrid].",
)
@_option("--data", type=_PATH, help="Folder that holds the personas [those of the package].")
@_option("--profile", type=_PATH, help="YAML profile; flags win over it.")
@_option("--judge", help="offline, stub, file.py[:name] or module:name [offline].")
@_option("--appellate-judge", help="Second judge that reviews what the first one failed.")
@_option(
    "--judge-memory-window",
    type=_NUMBER,
    help="Show the judge so many days either side of the evidence [0: none].",
)
@_option("--personas", multiple=True, help="Personas to run [all of --data; harbour-office].")
@_option(
    "--ranges",
    multiple=True,
    help="Checkpoints [30d 90d 6mo 1y full; for harbour-office every:5].",
)
@_option("--arcs", help="The story, by its arcs file [arcs-1000d.yaml, or the only one].")
@_option("--sample", type=_NUMBER, help="Older questions at each checkpoint at most [all].")
@_option("--groups-enabled/--no-groups-enabled", help="Ask the two group categories too [no].")
@_option("--seed", type=int, help="Order and sample of the questions [42].")
@_option("--repeats", type=click.IntRange(1, 1000), help="Put every question so many times [1].")
@_option(
    "--lifecycle",
    type=click.Choice([str(way) for way in Lifecycle]),
    help="How a memory reaches a checkpoint [forked if it can be copied, else fresh].",
)
@_option(
    "--calendar",
    type=click.Choice([str(way) for way in Calendar]),
    help="Where a day's date comes from [metadata].",
)
@_option("--allow-gaps/--no-allow-gaps", help="Accept days that are missing from the story.")
@_option("--parallelism", type=_COUNT, help="Questions, and verdicts, at a time [1].")
@_option("--timeout", "timeout_ms", type=_COUNT, help="Milliseconds for an answer [30000].")
@_option(
    "--grpc-timeout", "grpc_timeout_ms", type=_COUNT, help="Milliseconds for a gRPC call [120000]."
)
@_option(
    "--ingest-timeout",
    "ingest_timeout_ms",
    type=_COUNT,
    help="Milliseconds to take in a day, or to settle [1800000].",
)
@_option(
    "--judge-timeout", "judge_timeout_ms", type=_COUNT, help="Milliseconds for a verdict [120000]."
)
@_option(
    "--error-budget",
    type=click.FloatRange(0, 1),
    help="Share of failed trials that makes scores invalid [0.05].",
)
@_option("--dry-run/--no-dry-run", help="Only the first checkpoint of each persona.")
@_option("--skip-preflight/--no-skip-preflight", help="Do not try the output paths first.")
@_option(
    "--into",
    type=_PATH,
    help="Run folder; the same folder continues [one by plan in recall-runs/].",
)
@_option("--resume", type=_PATH, help="Go on with this run folder, given the run's own flags.")
@_option("--skip-catchup-ingest/--no-skip-catchup-ingest", help="Trust what the system attests.")
@_option("--retry-errors/--no-retry-errors", help="Put failed questions again.")
@_option(
    "--json-out", type=_PATH, help="Where result.json goes; without --into the run lives beside it."
)
@_option("--question-log", type=_PATH, help="Where questions.jsonl goes [the run folder].")
@click.option("--no-question-log", is_flag=True, help="Write no questions.jsonl.")
@_option("--progress-jsonl", type=_PATH, help="Where progress.jsonl goes [the run folder].")
@_option("--failure-log", type=_PATH, help="Where failures.jsonl goes [the run folder].")
@click.option("--no-heatmap-png", is_flag=True, help="Draw no pictures.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--heatmap", "as_grid", is_flag=True, help="Print the heatmap as JSON.")
def run_command(
    profile: Path | None,
    as_json: bool,
    as_grid: bool,
    no_question_log: bool,
    no_heatmap_png: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Live through every persona, ask at every checkpoint, and grade the answers.

    With no arguments it runs the thirty days of harbour-office against the built-in hybrid memory.
    """
    from recall_bench.library import read_settings

    given = {name: value for name, value in flags.items() if value is not None and value != ()}
    for name, kind in (("lifecycle", Lifecycle), ("calendar", Calendar)):
        if name in given:
            given[name] = kind(given[name])
    if "question_log" in given:
        given["write_question_log"] = True
    if no_question_log:
        given["write_question_log"] = False
    if no_heatmap_png:
        given["heatmap_png"] = False
    settings = read_settings(profile, given)
    return _carried_out(settings, "grid" if as_grid else "json" if as_json else "text")


def _carried_out(settings: "Settings", shape: str) -> int:
    from recall_bench.assemble import assemble
    from recall_bench.cli.building import building
    from recall_bench.cli.watch import Watch, display
    from recall_bench.ending import carry_out

    # stdout is the answer: what an adapter prints is commentary, whatever it meant.
    with contextlib.redirect_stdout(sys.stderr):
        job = assemble(settings, building=building)
        for warning in job.warnings:
            click.echo(f"note: {warning}", err=True)
        click.echo(f"run folder: {job.folder}", err=True)
        with display() as shown:
            finished = carry_out(job, Watch(job, shown))
    _print(finished, shape)
    click.echo(f"files: {', '.join(_files(finished))} in {job.folder}", err=True)
    if (problem := _problem(finished)) is not None:
        click.echo(f"error: {problem}", err=True)
    return finished.exit_code


def _files(finished: "Finished") -> list[str]:
    return sorted(
        path.name for path in finished.folder.path.iterdir() if not path.name.startswith(".")
    )


def _problem(finished: "Finished") -> str | None:
    """What ended badly, and what to do about it."""
    overall = finished.summary.overall
    match finished.exit_code:
        case 0:
            return None
        case 5:
            return (
                f"the system failed at {overall.not_answered} of {overall.owed} questions; "
                "failures.jsonl says why; when that is mended, repeat with --retry-errors"
            )
        case 6 if finished.stopped_by is None:
            return (
                f"{overall.owed - overall.judged - overall.not_answered} answers could not be "
                "judged; the same command judges them"
            )
    if finished.stopped_by is not None:
        return str(finished.stopped_by)
    return f"{overall.open} questions could not be put; the same command tries again"


def _print(finished: "Finished", shape: str) -> None:
    from recall_bench.library import heatmap_json, result_json, text_report

    if shape == "grid":
        click.echo(heatmap_json(finished.summary))
    elif shape == "json":
        for part in result_json(finished.folder):
            click.echo(part, nl=False)
    else:
        click.echo(text_report(finished.folder, finished.summary))
