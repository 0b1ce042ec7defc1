"""`run`: the benchmark itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.answer import forward_to_stderr
from recall_bench.cli.asking import (
    file_options,
    question_options,
    resolve_file_settings,
    resume_options,
    system_options,
)
from recall_bench.cli.listed import MultiValueCommand
from recall_bench.cli.options import NUMBER, PATH, judge_options, make_choice, option, read_flags
from recall_bench.cli.spreading import worker_options
from recall_bench.core.plan import Calendar, Ingest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recall_bench.ending import Finished
    from recall_bench.job import Job

_MAX_NAMED = 5
"""So many questions are named; more are counted."""


@click.command("run", cls=MultiValueCommand)
@system_options
@option("--data", type=PATH, help="Folder that holds the personas [those of the package].")
@option("--profile", type=PATH, help="YAML profile; flags win over it.")
@question_options
@worker_options
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
@option(
    "--calendar",
    type=make_choice(Calendar),
    help="Where a day's date comes from [metadata].",
)
@option(
    "--ingest",
    type=make_choice(Ingest),
    help="The form in which the system is fed the days [days].",
)
@option("--allow-gaps/--no-allow-gaps", help="Accept days that are missing from the story.")
@option("--dry-run/--no-dry-run", help="Only the first checkpoint of each persona.")
@resume_options
@file_options
@click.option("--no-heatmap-png", is_flag=True, help="Draw no pictures.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--heatmap", "as_grid", is_flag=True, help="Print the heatmap as JSON.")
def run_command(
    profile: Path | None,
    as_json: bool,
    as_grid: bool,
    no_heatmap_png: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Live through every persona, ask at every checkpoint, and grade the answers.

    With no arguments it runs the thirty days of harbour-office against the built-in hybrid memory.
    """
    from recall_bench.assemble import assemble
    from recall_bench.cli.building import show_build

    if no_heatmap_png:
        flags["heatmap_png"] = False
    settings = read_flags(profile, resolve_file_settings(flags))
    with forward_to_stderr():
        job = assemble(settings, building=show_build)
        job.warnings += warn_lost_questions(job)
        finished = run_job(job)
    if as_grid or as_json or is_reportable(finished):
        print_run(finished, "grid" if as_grid else "json" if as_json else "text")
    print_conclusion(finished, find_problem(finished))
    return finished.exit_code


def is_reportable(finished: "Finished") -> bool:
    """Whether there is anything to report: a run may be stopped before its first answer."""
    overall = finished.summary.overall
    return finished.stopped_by is None or overall.open < overall.owed


def warn_lost_questions(job: "Job") -> "Iterator[str]":
    """Which questions of each persona cannot be answered in full from the form that is fed."""
    from recall_bench.core.schedule import plan_checkpoints
    from recall_bench.lint.omissions import find_lost_questions

    plan = job.plan
    for card in plan.scenarios if plan.ingest is not Ingest.DAYS else ():
        items = job.questions[card.id].items
        asked = {
            items[i].id
            for sheet in plan_checkpoints(items, card.last_day, plan)
            for i in sheet.asked
        }
        lost = [
            item.id for item in find_lost_questions(job.staff.load(card.id)) if item.id in asked
        ]
        if lost:
            yield (
                f"{card.id}: {len(lost)} of {len(asked)} questions ask for an exact value that "
                f"the logs of their days hold and the {plan.ingest} up to then do not, so nobody "
                f"can know it: {', '.join(lost[:_MAX_NAMED])}{', …' if len(lost) > _MAX_NAMED else ''}"
            )


def run_job(job: "Job") -> "Finished":
    """Run the job to its end in front of people."""
    from recall_bench.cli.overview import watch_run
    from recall_bench.ending import execute

    for warning in job.warnings:
        click.echo(f"note: {warning}", err=True)
    click.echo(f"run folder: {job.folder}", err=True)
    with watch_run(job) as (observe, joined):
        return execute(job, observe, joined)


def print_conclusion(finished: "Finished", problem: str | None) -> None:
    """Say where the files are, and what ended badly."""
    place = finished.folder.path
    names = sorted(path.name for path in place.iterdir() if not path.name.startswith("."))
    click.echo(f"files: {', '.join(names)} in {place}", err=True)
    part = finished.part
    if part is not None:
        nothing = "" if part.owed else "; the plan has fewer shards than parts, so it asks nothing"
        click.echo(f"note: {part}{nothing}", err=True)
    if finished.was_finished:
        click.echo(
            f"note: this {'run' if part is None else 'part'} was finished on "
            f"{finished.folder.ended:%Y-%m-%d at %H:%M} UTC and nobody was asked anything; "
            "choose another folder with --into to run it again",
            err=True,
        )
    if problem is not None:
        click.echo(f"error: {problem}", err=True)


def find_problem(finished: "Finished") -> str | None:
    """What ended badly, and what to do about it."""
    overall = finished.summary.overall
    owed = (finished.part or overall).owed
    match finished.exit_code:
        case 0:
            return None
        case 5:
            return (
                f"the system failed at {overall.not_answered} of {owed} questions; "
                "failures.jsonl says why; if that was not its own doing, repeat with "
                "--retry-errors, and a system that was changed needs another folder"
            )
        case 6 if finished.stopped_by is None:
            return f"{overall.not_judged} answers could not be judged; the same command judges them"
    if finished.stopped_by is not None:
        return str(finished.stopped_by)
    if finished.summary.reviews.open and not (finished.part or overall).open:
        return (
            f"{finished.summary.reviews.open} verdicts are still to be reviewed; "
            "the same command has them reviewed"
        )
    failures = (each for persona in finished.summary.personas for each in persona.feed_failures)
    first = next(failures, None)
    why = "" if first is None else f" ({first.stage} failed: {first.message})"
    unput = (finished.part or overall).open
    return f"{unput} questions could not be put{why}; the same command tries again"


def print_run(finished: "Finished", shape: str) -> None:
    """Print the run: its report, its result or its heatmap."""
    from recall_bench.library import heatmap_json, result_json, text_report

    if shape == "grid":
        click.echo(heatmap_json(finished.summary))
    elif shape == "json":
        for part in result_json(finished.folder):
            click.echo(part, nl=False)
    else:
        click.echo(text_report(finished.folder, finished.summary))
