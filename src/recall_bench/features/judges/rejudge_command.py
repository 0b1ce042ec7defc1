"""The command `rejudge`: other judges for recorded answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.console import format_json, forward_to_stderr
from recall_bench.cli.options import (
    DATA,
    JUDGES,
    NO_HEATMAP,
    PATH,
    QUIET,
    VERBOSE,
    WORKERS,
    add_json_option,
    option,
    select_given,
    setting_options,
)

if TYPE_CHECKING:
    from recall_bench.engine.experiment import RunResult


@click.command("rejudge")
@click.argument("run", type=PATH)
@setting_options(*JUDGES, judge_timeout_ms="Time limit for a verdict")
@DATA
@option("--profile", type=PATH, help="YAML profile; its judge settings are used, flags win.")
@setting_options(
    *("into", "parallelism", "max_calls", *WORKERS),
    into="New run folder; an existing one continues",
    parallelism="Concurrent verdicts",
)
@click.option(
    "--labels",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Labels of people win over the judge [labels.jsonl of RUN].",
)
@NO_HEATMAP
@QUIET
@VERBOSE
@add_json_option("Print the changes as JSON.")
def rejudge_command(
    run: Path,
    *,
    profile: Path | None,
    labels: str | None,
    no_heatmap_png: bool,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Grade the recorded answers of RUN again into a new run, without the system.

    Memory window, review and timeout default to those of RUN. A table at the end shows each mark
    before and after. With --labels, answers that people labelled in `view` get their verdict, and
    questions that they call bad are left out.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.cli.run import print_conclusion, run_job
    from recall_bench.engine.rejudge_assembly import JUDGING, assemble_rejudge

    settings = select_given(flags)
    if profile is not None:
        from recall_bench.core.profile import read_profile

        # `into` of the profile is the folder of RUN.
        from_profile = {
            name: value for name, value in read_profile(profile).items() if name != "into"
        }
        if settings.keys() & {"judge", "judges"}:
            from_profile = {
                name: value
                for name, value in from_profile.items()
                if name not in ("judge", "judges")
            }
        settings = {name: from_profile[name] for name in from_profile.keys() & JUDGING} | settings
    if no_heatmap_png:
        settings["heatmap_png"] = False
    with forward_to_stderr():
        people = None if labels is None else Path(labels) if labels else run
        job = assemble_rejudge(run, settings, show_build, labels=people)
        finished = run_job(job, is_quiet=quiet)
    _print_changes(run, finished, "json" if as_json else "text" if verbose else "brief")
    print_conclusion(finished, _find_problem(run, finished), is_quiet=quiet)
    return finished.exit_code


def _find_problem(run: Path, finished: "RunResult") -> str | None:
    """What went wrong and what to do about it; the system cannot be asked here."""
    from recall_bench.cli.run import find_problem

    tally = finished.summary.overall
    if finished.stopped_by is None:
        if finished.exit_code == 4:
            return (
                f"{tally.open} questions were never asked in {run}; finish that run, "
                "then judge it again into another folder"
            )
        if finished.exit_code == 5:
            return f"the system failed at {tally.not_answered} of {tally.owed} questions in {run}"
    return find_problem(finished)


def _print_changes(run: Path, finished: "RunResult", shape: str) -> None:
    from recall_bench.cli.run import print_page_place, print_run
    from recall_bench.features.judges.rejudge_report import render_changes
    from recall_bench.library import open_run, verdict_changes

    changes = verdict_changes(open_run(run), finished.folder)
    if shape == "json":
        click.echo(format_json(changes))
        return
    print_run(finished, shape)
    click.echo(f"\n{render_changes(changes)}")
    print_page_place(finished, None)
