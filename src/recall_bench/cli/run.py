"""The commands `run` and `plan`."""

from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.console import GroupedCommand, format_json, forward_to_stderr
from recall_bench.cli.options import (
    AGENT,
    DATA,
    FILE_NAMES,
    FILES,
    FOLDER,
    JUDGES,
    NO_HEATMAP,
    PATH,
    PROFILE,
    QUESTIONS,
    QUIET,
    SET,
    STORY,
    SYSTEM,
    VERBOSE,
    WORKERS,
    add_json_option,
    option,
    read_flags,
    resolve_file_settings,
    setting_options,
)
from recall_bench.core.errors import BenchError, ReplyPending, UsageError
from recall_bench.core.plain_text import LABEL, clean_text, format_quantity
from recall_bench.core.plan import Ingest
from recall_bench.core.tool_call import LOOP_PREFIX
from recall_bench.core.user_code import is_code_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recall_bench.core.settings import Settings
    from recall_bench.engine.experiment import RunResult
    from recall_bench.engine.job import Job
    from recall_bench.reporting.analyses.attribution import Attribution
    from recall_bench.reporting.publication import PublishedReport

_MAX_NAMED = 5
"""Limit for the questions that a warning names."""


_COMMON = (
    *("adapter", "config", "data", "personas", "ranges"),
    *("sample", "judge", "parallelism", "into", "profile", "more"),
)
_GROUPS = {
    "Common options": _COMMON,
    **{
        title: tuple(name for name in names if name not in _COMMON)
        for title, names in {
            "System": (*SYSTEM, *AGENT),
            "Story": STORY,
            "Questions": (*QUESTIONS, "keep_going"),
            "Judges": JUDGES,
            "Workers": WORKERS,
            "Folder and files": (*FOLDER, *FILE_NAMES, "no_heatmap_png", "page"),
        }.items()
    },
}
"""The options of `run` by title."""


@click.command("run", cls=GroupedCommand, option_groups=_GROUPS)
@setting_options(*SYSTEM, *AGENT)
@DATA
@PROFILE
@setting_options(*QUESTIONS, *WORKERS, *JUDGES, *STORY, *FOLDER)
@FILES
@NO_HEATMAP
@option("--page/--no-page", help="Write the report page [if that takes less than 5 seconds].")
@click.option("--keep-going", is_flag=True, help="Do not stop if the first questions all fail.")
@SET
@QUIET
@VERBOSE
@add_json_option("Print the result as JSON.")
@click.option("--heatmap", "as_grid", is_flag=True, help="Print the heatmap as JSON.")
def run_command(
    *,
    profile: Path | None,
    page: bool | None,
    keep_going: bool,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    as_grid: bool,
    no_heatmap_png: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Ingest every persona, ask at every checkpoint, and grade the answers.

    Without arguments it runs half a year of two personas, executive-assistant and er-physician,
    with the built-in hybrid memory; --arcs arcs-1000d.yaml runs 1,000 days of them.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.engine.assembly import assemble

    if as_json and as_grid:
        raise UsageError("--json and --heatmap both print JSON; leave one of them out")
    if no_heatmap_png:
        flags["heatmap_png"] = False
    settings = read_flags(profile, resolve_file_settings(flags))
    if settings.dry_run:
        click.echo("dry run: stops after the first checkpoint of each persona", err=True)
    with forward_to_stderr():
        job = assemble(settings, building=show_build)
        job.warnings += warn_lost_questions(job)
        finished = run_job(job, is_quiet=quiet, keep_going=keep_going)
        written = write_page(finished, settings, is_wanted=page)
    if as_grid or as_json or is_reportable(finished):
        shape = "grid" if as_grid else "json" if as_json else "text" if verbose else "brief"
        print_run(finished, shape, None if written is None else written.report.attribution)
        place = None if written is None else written.files[0]
        print_page_place(finished, place, to_stderr=as_grid or as_json)
        if not (as_grid or as_json):
            print_next_steps(finished, settings)
    print_conclusion(finished, find_problem(finished), is_quiet=quiet)
    return finished.exit_code


def is_reportable(finished: "RunResult") -> bool:
    """Whether there is anything to report: a run may stop before its first answer."""
    overall = finished.summary.overall
    return finished.stopped_by is None or overall.open < overall.owed


def warn_lost_questions(job: "Job") -> "Iterator[str]":
    """Warnings about questions that the ingested form of the days cannot answer in full."""
    plan = job.plan
    if plan.ingest is Ingest.DAYS:
        return
    from recall_bench.core.schedule import plan_checkpoints
    from recall_bench.stories.lint.value_index import find_lost_questions

    for card in plan.scenarios:
        items = job.questions[card.id].items
        ids = {
            items[i].id
            for point in plan_checkpoints(items, card.last_day, plan)
            for i in point.asked
        }
        lost = [
            item.id for item in find_lost_questions(job.components.load(card.id)) if item.id in ids
        ]
        if lost:
            yield (
                f"{card.id}: {len(lost)} of {len(ids)} questions ask for an exact value that is "
                f"in the logs but not in the {plan.ingest} fed up to then; no system can know it: "
                f"{', '.join(lost[:_MAX_NAMED])}{', …' if len(lost) > _MAX_NAMED else ''}"
            )


def run_job(job: "Job", *, is_quiet: bool = False, keep_going: bool = True) -> "RunResult":
    """Run the job and show its progress, unless it is to be quiet.

    If it is not to keep going, it stops when the first questions all fail in the same way.
    """
    from recall_bench.cli.run_display import watch_run
    from recall_bench.engine.experiment import execute
    from recall_bench.engine.job import EarlyFailureCheck

    for warning in job.warnings:
        click.echo(f"note: {warning}", err=True)
    if not is_quiet:
        click.echo(f"run folder: {job.folder}", err=True)
    with watch_run(job, is_quiet=is_quiet) as (observe, joined):
        return execute(job, observe if keep_going else EarlyFailureCheck(observe), joined)


def print_conclusion(finished: "RunResult", problem: str | None, *, is_quiet: bool = False) -> None:
    """Print where the files are, unless it is to be quiet, and the problem, if any."""
    place = finished.folder.path
    names = sorted(path.name for path in place.iterdir() if not path.name.startswith("."))
    if not is_quiet:
        click.echo(f"files: {', '.join(names)} in {place}", err=True)
    part = finished.part
    if part is not None:
        nothing = (
            ""
            if part.owed
            else "; the plan has fewer work units than shards, so this one asks nothing"
        )
        click.echo(f"note: {part}{nothing}", err=True)
    if finished.was_finished:
        click.echo(
            f"note: this {'run' if part is None else 'part'} was finished on "
            f"{finished.folder.ended:%Y-%m-%d at %H:%M} UTC and nothing was asked; "
            "choose another folder with --into to run it again",
            err=True,
        )
    if problem is not None:
        # A reply that comes later is no error.
        prefix = "" if finished.exit_code == ReplyPending.exit_code else "error: "
        click.echo(f"{prefix}{problem}", err=True)


def find_problem(finished: "RunResult") -> str | None:
    """What went wrong and what to do about it; None if nothing."""
    overall = finished.summary.overall
    owed = (finished.part or overall).owed
    match finished.exit_code:
        case 0:
            return None
        case 5 if finished.stopped_by is None:
            return (
                f"the system failed on {overall.not_answered} of {owed} questions"
                f"{_quote_commonest(finished)}. failures.jsonl lists all. "
                "Cause outside the system: run again with --retry-errors. "
                "System changed: use a new folder with --into"
            )
        case 6 if finished.stopped_by is None:
            return _describe_missing_verdicts(finished)
    if finished.stopped_by is not None:
        return str(finished.stopped_by)
    unasked = (finished.part or overall).open
    if not unasked and (unjudged := _describe_open_verdicts(finished)):
        return unjudged
    failures = (
        failure for persona in finished.summary.personas for failure in persona.feed_failures
    )
    first = next(failures, None)
    why = "" if first is None else f" ({first.stage} failed: {first.message})"
    return (
        f"{format_quantity(unasked, 'question')} could not be asked{why}; failures.jsonl has each "
        "failure. Run the same command again to retry; after a change of the system use a new "
        "folder with --into"
    )


def _describe_open_verdicts(finished: "RunResult") -> str | None:
    """What is left to review, or to be judged by other judges; None if nothing."""
    if reviews := finished.summary.reviews.open:
        return (
            f"{format_quantity(reviews, 'review')} still to be done; run the same command again to "
            "continue"
        )
    if others := sum(verdict.open for verdict in finished.summary.other_verdicts):
        return (
            f"{format_quantity(others, 'verdict')} of other judges missing; run the same command "
            "again to continue"
        )
    return None


def _describe_missing_verdicts(finished: "RunResult") -> str:
    if count := finished.summary.overall.not_judged:
        return (
            f"{format_quantity(count, 'answer')} could not be judged; run the same command again "
            "to retry"
        )
    plan, others = finished.summary.plan, finished.summary.other_verdicts
    for name, counts in zip(plan.judge_names[1:], others, strict=True):
        if counts.failed:
            return (
                f"{clean_text(name)} failed to judge {format_quantity(counts.failed, 'answer')}; "
                "run the same command again to retry; the score is not affected"
            )
    total = finished.summary.reviews.total
    return (
        f"{total.failed} of {total.attempted} reviews by the appellate judge failed; "
        "run the same command with --retry-errors to review them again"
    )


def _quote_commonest(finished: "RunResult") -> str:
    """The commonest kind of error with its first message, which names the line that raised."""
    faults, examples = finished.summary.faults, finished.folder.fault_examples
    if not faults:
        return ""
    kind = max(faults, key=lambda each: faults[each])
    return f" ({faults[kind]} × {kind}; first: {clean_text(examples[kind])})"


def print_run(finished: "RunResult", shape: str, misses: "Attribution | None" = None) -> None:
    """Print the run in short, with the causes of its misses if known; or all of it."""
    from recall_bench.cli.console import find_width
    from recall_bench.reporting.run_brief import render_brief

    if shape == "brief":
        brief = render_brief(finished.folder, finished.summary, misses, width=find_width())
        click.echo(brief)
        return
    from recall_bench.library import heatmap_json, result_json, text_report
    from recall_bench.reporting.run_text import format_result

    if shape == "grid":
        click.echo(heatmap_json(finished.summary))
    elif shape == "json":
        for part in result_json(finished.folder):
            click.echo(part, nl=False)
    else:
        click.echo(text_report(finished.folder, finished.summary))
        # The report is longer than a screen: its first line again, where the reader looks.
        click.echo(format_result(finished.folder, finished.summary), err=True)


MAX_PAGE_TRIALS = 3000
"""The page of more trials takes more than 5 seconds: 1,281 take 2.8 s."""


def write_page(
    finished: "RunResult", settings: "Settings", *, is_wanted: bool | None
) -> "PublishedReport | None":
    """Write the report page if it is wanted, or by default if it costs little."""
    overall = finished.summary.overall
    is_cheap = overall.owed <= MAX_PAGE_TRIALS
    is_complete = finished.part is None and finished.stopped_by is None and overall.judged > 0
    if is_wanted is False or not is_complete or not (is_cheap or is_wanted):
        return None
    from recall_bench.reporting.publication import publish_report

    try:
        return publish_report(finished.folder, data=settings.data)
    except BenchError as error:
        click.echo(f"note: no report page: {clean_text(str(error))}", err=True)
        return None


def print_page_place(finished: "RunResult", page: Path | None, *, to_stderr: bool = False) -> None:
    """Print where the page is, or the command that writes it, if there is anything to report."""
    overall = finished.summary.overall
    if page is None and not overall.counted + overall.measured:
        return
    place = quote(str(finished.folder.path))
    step = f"recall-bench report {place}  # writes the page" if page is None else str(page)
    _print_step("Page", step, to_stderr=to_stderr)


def print_next_steps(finished: "RunResult", settings: "Settings") -> None:
    """Print commands to go on with: the diagnosis, a comparison, a longer story."""
    label = "Next"
    for step in _list_next_steps(finished, settings):
        _print_step(label, step)
        label = ""


def _list_next_steps(finished: "RunResult", settings: "Settings") -> "Iterator[str]":
    # Under the loop agent, it is the memory that can be diagnosed.
    memory = settings.adapter.removeprefix(LOOP_PREFIX)
    if not is_code_target(memory):
        yield "recall-bench run --adapter my_adapter.py  # measures a system of yours"
    elif finished.folder.diagnosis is None:
        yield f"recall-bench doctor {quote(memory)}  # diagnoses the system"
    if finished.is_valid:
        place = quote(str(finished.folder.path))
        yield f"recall-bench compare {place} OTHER_RUN  # compares two runs"
    if (longer := _find_longer_run(finished, settings)) is not None:
        yield longer


def _print_step(label: str, words: str, *, to_stderr: bool = False) -> None:
    # Not wrapped: commands are there to be copied.
    click.echo(f"{label:{LABEL}}{clean_text(words)}", err=to_stderr)


def _find_longer_run(finished: "RunResult", settings: "Settings") -> str | None:
    """The command that runs longer stories of the same shipped personas; None without such."""
    from recall_bench.stories.shipped import find_longest_story

    plan = finished.folder.plan
    if settings.data is not None or settings.arcs is not None:
        return None
    longest = find_longest_story([card.id for card in plan.scenarios])
    if longest is None or longest.days <= max(card.last_day for card in plan.scenarios):
        return None
    words = ["recall-bench", "run"]
    if settings.adapter != type(settings)().adapter:
        words += ["--adapter", settings.adapter]
    if settings.personas:
        words += ["--personas", *settings.personas]
    command = join([*words, "--arcs", longest.arcs])
    return f"{command}  # {longest.days:,} days instead of {plan.scenarios[0].last_day:,}"


_SECONDS = click.FloatRange(min=0)


def print_outline(settings: "Settings", *, as_json: bool) -> None:
    """Print what a run would do; nothing is asked or written."""
    from recall_bench.cli.console import show_build
    from recall_bench.engine.forecast import dry_plan
    from recall_bench.engine.plan_outline import make_outline
    from recall_bench.reporting.plan_text import render_outline

    with forward_to_stderr(), dry_plan(settings, show_build) as job:
        for warning in job.warnings:
            click.echo(f"note: {warning}", err=True)
        outline = make_outline(job)
    click.echo(format_json(outline) if as_json else render_outline(outline))


_OUTPUT_FLAGS = ("no_heatmap_png", "page", "keep_going", "quiet", "verbose")
"""Flags of `run` that `plan` accepts and that change nothing in it."""
_ESTIMATE = ("estimates", "earlier", "answer_s", "day_s", "verdict_s")


@click.command(
    "plan",
    cls=GroupedCommand,
    option_groups={
        **_GROUPS,
        "Common options": (*_ESTIMATE, *_COMMON),
    },
)
@PROFILE
@click.option("--estimate", "estimates", is_flag=True, help="Estimate time and cost.")
@click.option(
    "--from",
    "earlier",
    type=PATH,
    multiple=True,
    help="Run folders to estimate from [the newest of this system and this judge].",
)
@option(
    "--seconds-per-answer",
    "answer_s",
    type=_SECONDS,
    metavar="S",
    help="Time of an answer, such as a published rate [as measured].",
)
@option(
    "--seconds-per-day",
    "day_s",
    type=_SECONDS,
    metavar="S",
    help="Time of ingesting a day [as measured].",
)
@option(
    "--seconds-per-verdict",
    "verdict_s",
    type=_SECONDS,
    metavar="S",
    help="Time of a verdict [as measured].",
)
@add_json_option("Print everything as JSON.")
def plan_command(
    profile: Path | None,
    estimates: bool,
    *,
    earlier: tuple[Path, ...],
    answer_s: float | None,
    day_s: float | None,
    verdict_s: float | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option of `run`
) -> None:
    """Show what a run with these flags would do, and with --estimate its time and cost.

    It has the flags of `run`. Nothing is ingested, asked, judged or written.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.engine.forecast import StatedTimes, dry_plan, estimate_run
    from recall_bench.reporting.plan_text import render_estimate

    for name in _OUTPUT_FLAGS:
        flags.pop(name)
    settings = read_flags(profile, resolve_file_settings(flags))
    times = StatedTimes(answer_s=answer_s, day_s=day_s, verdict_s=verdict_s)
    if not (
        estimates or earlier or any(stated is not None for stated in (answer_s, day_s, verdict_s))
    ):
        print_outline(settings, as_json=as_json)
        return
    with forward_to_stderr(), dry_plan(settings, show_build) as job:
        for warning in job.warnings:
            click.echo(f"note: {warning}", err=True)
        estimate = estimate_run(job, earlier=earlier, stated_s=times)
    click.echo(format_json(estimate) if as_json else render_estimate(estimate))


_OWN_FLAGS = {param.name for param in plan_command.params} | {"as_grid"}
plan_command.params += [param for param in run_command.params if param.name not in _OWN_FLAGS]
