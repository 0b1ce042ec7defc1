"""The commands `suite` and `suite scorecard`: what a memory does beyond recall."""

from pathlib import Path
from typing import Any

import click

from recall_bench.cli.console import Duration, GroupedCommand, format_json, forward_to_stderr
from recall_bench.cli.options import (
    AGENT,
    COUNT,
    PATH,
    QUIET,
    SET,
    SYSTEM,
    VERBOSE,
    add_json_option,
    option,
    read_flags,
    setting_options,
)

_SCORECARD = Path("scorecard")
_NAMES = ("erasure", "poisoning", "tenants", "freshness", "load", "procedures")
_COMMON = ("adapter", "config", "reader", "agent_model", "only", "stories", "seed", "into", "more")
_GROUPS = {
    "Common options": _COMMON,
    "System": tuple(name for name in (*SYSTEM, *AGENT) if name not in _COMMON),
    "Stories": ("top_k", "patience_s", "load_s", "is_owned"),
    "Limits": ("max_cost_usd", "max_tokens"),
    "Folder": ("resume",),
}
"""The options of `suite` by title."""


@click.command("suite", cls=GroupedCommand, option_groups=_GROUPS)
@click.argument("name", type=click.Choice(_NAMES), metavar="NAME")
@setting_options(*SYSTEM, *AGENT)
@setting_options(
    *("reader", "top_k", "seed", "max_cost_usd", "max_tokens"),
    seed="Seed of the stories",
    max_cost_usd="Stop when reader and loop agent have cost this much; run again with a "
    "higher limit to continue",
    max_tokens="Stop when reader and loop agent have used this many tokens; run again with a "
    "higher limit to continue",
)
@option("--stories", type=COUNT, help="Stories of each kind [as the suite has].")
@click.option(
    "--patience",
    "patience_s",
    type=Duration("s"),
    default=5.0,
    metavar="TIME",
    help="How long a change may take to show, such as 10s [5s].",
)
@click.option(
    "--i-own-this-server",
    "is_owned",
    is_flag=True,
    help="Let the load suite send to a server that is not on this machine.",
)
@click.option("--only", multiple=True, metavar="KIND", help="Only stories of this kind [all].")
@click.option(
    "--load-time",
    "load_s",
    type=Duration("s"),
    default=5.0,
    metavar="TIME",
    help="How long each rate of the load suite lasts [5s].",
)
@setting_options("into", "resume")
@SET
@QUIET
@VERBOSE
@add_json_option("Print the figures as JSON.")
def suite_command(
    name: str,
    stories: int | None,
    patience_s: float,
    *,
    only: tuple[str, ...],
    load_s: float,
    is_owned: bool,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Run a suite of behaviour stories, such as erasure or procedures.

    \b
    erasure     what remains of facts that were to be forgotten, and what is lost besides
    poisoning   whether hostile content replaces what is true, and for how long
    tenants     whether one user's facts reach another
    freshness   how soon a write can be read, and whether it stays
    load        times, errors and recall at rising rates of arrivals
    procedures  whether tasks follow the conventions stated earlier

    What a system does not offer is reported as not offered. The same command continues a run that
    was interrupted. `recall-bench suite scorecard RUN...` puts several suites on one page.
    """  # noqa: D301 - click's mark for lines that are not to be wrapped
    from recall_bench.cli.run import find_problem, print_conclusion
    from recall_bench.cli.run_display import RunWatch, open_display
    from recall_bench.core.plain_text import format_fact
    from recall_bench.engine.experiment import execute
    from recall_bench.features.suites.behaviour_assembly import BehaviourRequest, assemble_behaviour
    from recall_bench.reporting.run_facts import list_suite_facts
    from recall_bench.reporting.suites.report_text import render_behaviour
    from recall_bench.reporting.suites.suite_report import (
        build_behaviour_report,
        write_behaviour_report,
    )

    request = BehaviourRequest(
        suite=name,
        settings=read_flags(None, flags),
        stories=stories,
        patience_s=patience_s,
        only=only,
        load_s=load_s,
        is_owned=is_owned,
    )
    with forward_to_stderr():
        job = assemble_behaviour(request)
        for warning in job.warnings:
            click.echo(f"note: {warning}", err=True)
        click.echo(f"run folder: {job.folder}", err=True)
        with open_display() as display:
            finished = execute(job, None if quiet else RunWatch(job, display, is_terse=True))
    report = build_behaviour_report(finished.folder)
    write_behaviour_report(report, finished.folder.path)
    text = render_behaviour(report, is_verbose=verbose)
    click.echo(format_json(report) if as_json else text)
    for label, words in list_suite_facts(finished.folder):
        for line in format_fact(label, words):
            click.echo(line, err=as_json)
    print_conclusion(finished, find_problem(finished))
    return finished.exit_code


@click.command("scorecard")
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN...")
@option("-o", "--into", type=PATH, help="Folder for the page and the figures [scorecard].")
@VERBOSE
@add_json_option("Print the figures as JSON.")
def scorecard_command(
    runs: tuple[Path, ...], into: Path | None, *, verbose: bool, as_json: bool
) -> None:
    """Put recall and the suites of one or several systems on one page.

    RUNs are folders of `run` and `suite`. A suite that a system was not run with is left open, and
    what it does not offer is said.
    """
    from recall_bench.engine.runs.run_folder import RunFolder
    from recall_bench.reporting.suites.scorecard import (
        build_scorecard,
        render_scorecard,
        write_scorecard,
    )

    card = build_scorecard([RunFolder.open(path) for path in runs])
    files = write_scorecard(card, into or _SCORECARD)
    click.echo(format_json(card) if as_json else render_scorecard(card, is_verbose=verbose))
    click.echo(f"page: {files[0]}", err=True)
