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
    WORKERS,
    add_json_option,
    option,
    select_given,
    setting_options,
)

if TYPE_CHECKING:
    from recall_bench.runs.run_result import RunResult


@click.command("rejudge")
@click.argument("run", type=PATH)
@setting_options(*JUDGES)
@DATA
@option("--profile", type=PATH, help="YAML profile; its judge settings are used, flags win.")
@setting_options(
    *("into", "parallelism", "max_calls", *WORKERS),
    into="New run folder; an existing one continues",
    parallelism="Concurrent verdicts",
)
@NO_HEATMAP
@add_json_option("Print the changes as JSON.")
def rejudge_command(
    run: Path,
    profile: Path | None,
    no_heatmap_png: bool,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Grade the recorded answers of RUN again into a new run, without the system.

    Memory window, review and timeout default to those of RUN. A table at the end shows each mark
    before and after.
    """
    from recall_bench.cli.console import show_build
    from recall_bench.cli.run import print_conclusion, run_job
    from recall_bench.running.rejudge_assembly import JUDGING, assemble_rejudge

    wanted = select_given(flags)
    if profile is not None:
        from recall_bench.core.profile import read_profile

        # `into` of the profile is the folder of RUN.
        said = {name: value for name, value in read_profile(profile).items() if name != "into"}
        wanted = {name: said[name] for name in said.keys() & JUDGING} | wanted
    if no_heatmap_png:
        wanted["heatmap_png"] = False
    with forward_to_stderr():
        finished = run_job(assemble_rejudge(run, wanted, show_build))
    _print_changes(run, finished, as_json=as_json)
    print_conclusion(finished, _find_problem(run, finished))
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


def _print_changes(run: Path, finished: "RunResult", *, as_json: bool) -> None:
    from recall_bench.library import open_run, text_report, verdict_changes
    from recall_bench.reporting.rejudge_report import render_changes

    changes = verdict_changes(open_run(run), finished.folder)
    if as_json:
        click.echo(format_json(changes))
        return
    click.echo(text_report(finished.folder, finished.summary))
    click.echo(render_changes(changes))
