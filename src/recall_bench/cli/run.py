"""`run`: the benchmark itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.answer import commentary
from recall_bench.cli.listed import ListedCommand
from recall_bench.cli.options import (
    CONFIG,
    COUNT,
    NUMBER,
    PATH,
    choice,
    judge_options,
    option,
    read_flags,
)
from recall_bench.core.plan import Calendar, Lifecycle

if TYPE_CHECKING:
    from recall_bench.ending import Finished
    from recall_bench.job import Job


@click.command("run", cls=ListedCommand)
@option(
    "--adapter",
    help="Name, file.py[:factory], module:factory, grpc://, http://, command:PROGRAM, once:PROGRAM "
    "or system.yaml [hybrid].",
)
@CONFIG
@option("--data", type=PATH, help="Folder that holds the personas [those of the package].")
@option("--profile", type=PATH, help="YAML profile; flags win over it.")
@option(
    "--reader",
    help="Who answers from what the system finds: extractive or provider:model "
    "[extractive, for systems that do not answer themselves].",
)
@option("--top-k", type=COUNT, help="Passages of a reply that are looked at [10].")
@option(
    "--max-context-tokens",
    type=COUNT,
    metavar="TOKENS",
    help="About how much of them at most [no limit].",
)
@option(
    "--endpoint/--no-endpoint",
    help="Start a model endpoint for the system, and count what it spends there [where needed].",
)
@option(
    "--system-model",
    metavar="MODEL",
    help="What the system's model endpoint passes chats on to, as provider:model [none].",
)
@option(
    "--system-embedder",
    metavar="MODEL",
    help="What it embeds with, as provider:model [the embedded word vectors].",
)
@judge_options
@option("--personas", multiple=True, help="Personas to run [all of --data; harbour-office].")
@option(
    "--ranges",
    multiple=True,
    help="Checkpoints [30d 90d 6mo 1y full; for harbour-office every:5].",
)
@option("--arcs", help="The story, by its arcs file [arcs-1000d.yaml, or the only one].")
@option("--sample", type=NUMBER, help="Older questions at each checkpoint at most [all].")
@option("--groups-enabled/--no-groups-enabled", help="Ask the two group categories too [no].")
@option("--seed", type=int, help="Order and sample of the questions [42].")
@option("--repeats", type=click.IntRange(1, 1000), help="Put every question so many times [1].")
@option(
    "--lifecycle",
    type=choice(Lifecycle),
    help="How a memory reaches a checkpoint [forked if it can be copied, else fresh].",
)
@option(
    "--calendar",
    type=choice(Calendar),
    help="Where a day's date comes from [metadata].",
)
@option("--allow-gaps/--no-allow-gaps", help="Accept days that are missing from the story.")
@option("--parallelism", type=COUNT, help="Questions, and verdicts, at a time [1].")
@option("--timeout", "timeout_ms", type=COUNT, help="Milliseconds for an answer [30000].")
@option(
    "--grpc-timeout", "grpc_timeout_ms", type=COUNT, help="Milliseconds for a gRPC call [120000]."
)
@option("--grpc-ca", type=PATH, help="Certificates to trust for grpcs:// [the system's own].")
@option(
    "--ingest-timeout",
    "ingest_timeout_ms",
    type=COUNT,
    help="Milliseconds to take in a day, or to settle [1800000].",
)
@option(
    "--error-budget",
    type=click.FloatRange(0, 1),
    help="Share of failed trials that makes scores invalid [0.05].",
)
@option("--dry-run/--no-dry-run", help="Only the first checkpoint of each persona.")
@option("--skip-preflight/--no-skip-preflight", help="Do not try the output paths first.")
@option(
    "--into",
    type=PATH,
    help="Run folder; the same folder continues [one by plan in recall-runs/].",
)
@option("--resume", type=PATH, help="Go on with this run folder, given the run's own flags.")
@option("--skip-catchup-ingest/--no-skip-catchup-ingest", help="Trust what the system attests.")
@option("--retry-errors/--no-retry-errors", help="Put failed questions again.")
@option(
    "--json-out", type=PATH, help="Where result.json goes; without --into the run lives beside it."
)
@option("--question-log", type=PATH, help="Where questions.jsonl goes [the run folder].")
@click.option("--no-question-log", is_flag=True, help="Write no questions.jsonl.")
@option("--progress-jsonl", type=PATH, help="Where progress.jsonl goes [the run folder].")
@option("--failure-log", type=PATH, help="Where failures.jsonl goes [the run folder].")
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
    from recall_bench.assemble import assemble
    from recall_bench.cli.building import building

    if flags["question_log"] is not None:
        flags["write_question_log"] = True
    if no_question_log:
        flags["write_question_log"] = False
    if no_heatmap_png:
        flags["heatmap_png"] = False
    settings = read_flags(profile, flags)
    with commentary():
        finished = carried_out(assemble(settings, building=building))
    _print(finished, "grid" if as_grid else "json" if as_json else "text")
    conclude(finished, problem_of(finished))
    return finished.exit_code


def carried_out(job: "Job") -> "Finished":
    """Run the job to its end in front of people."""
    from recall_bench.cli.watch import Watch, display
    from recall_bench.ending import carry_out

    for warning in job.warnings:
        click.echo(f"note: {warning}", err=True)
    click.echo(f"run folder: {job.folder}", err=True)
    with display() as shown:
        return carry_out(job, Watch(job, shown))


def conclude(finished: "Finished", problem: str | None) -> None:
    """Say where the files are, and what ended badly."""
    place = finished.folder.path
    names = sorted(path.name for path in place.iterdir() if not path.name.startswith("."))
    click.echo(f"files: {', '.join(names)} in {place}", err=True)
    if finished.was_finished:
        click.echo(
            f"note: this run was finished on {finished.folder.ended:%Y-%m-%d at %H:%M} UTC and "
            "nobody was asked anything; choose another folder with --into to run it again",
            err=True,
        )
    if problem is not None:
        click.echo(f"error: {problem}", err=True)


def problem_of(finished: "Finished") -> str | None:
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
    failures = (each for persona in finished.summary.personas for each in persona.feed_failures)
    first = next(failures, None)
    why = "" if first is None else f" ({first.stage} failed: {first.message})"
    return f"{overall.open} questions could not be put{why}; the same command tries again"


def _print(finished: "Finished", shape: str) -> None:
    from recall_bench.library import heatmap_json, result_json, text_report

    if shape == "grid":
        click.echo(heatmap_json(finished.summary))
    elif shape == "json":
        for part in result_json(finished.folder):
            click.echo(part, nl=False)
    else:
        click.echo(text_report(finished.folder, finished.summary))
