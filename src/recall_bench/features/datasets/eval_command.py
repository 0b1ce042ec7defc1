"""The command `eval`: a system on a public dataset."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.console import GroupedCommand, forward_to_stderr
from recall_bench.cli.options import (
    AGENT,
    COUNT,
    FILE_NAMES,
    FILES,
    FOLDER,
    JUDGES,
    NUMBER,
    PATH,
    PROFILE,
    QUESTIONS,
    QUIET,
    SET,
    SYSTEM,
    VERBOSE,
    WORKERS,
    add_json_option,
    combine_options,
    option,
    read_flags,
    resolve_file_settings,
    select_given,
    setting_options,
)

if TYPE_CHECKING:
    from recall_bench.core.settings import Settings
    from recall_bench.features.datasets.evaluation import EvalResult
    from recall_bench.judging.eval_dataset import EvalRequest

_PARTS = (
    ("--keyword/--no-keyword", "keyword", "Search passages by words."),
    ("--vector/--no-vector", "vector", "Search passages by meaning."),
    ("--temporal-boost/--no-temporal-boost", "temporal_boost", "Prefer named dates."),
    ("--lexical-boost/--no-lexical-boost", "lexical_boost", "Prefer quoted words and names."),
    ("--rerank/--no-rerank", "rerank", "Rerank the best passages word by word."),
)
"""The parts of the built-in hybrid that can be switched: flag, setting and help."""


_part_options = combine_options(
    option(
        "--neighbours", type=NUMBER, help="Hybrid memory: passages to add before and after each."
    ),
    *(option(flag, name, help=f"Hybrid memory: {text}") for flag, name, text in _PARTS),
)


_COMMON = (
    *("dataset", "data", "adapter", "config", "categories"),
    *("max_scenarios", "judge", "parallelism", "into", "profile", "more"),
)
_GROUPS = {
    "Common options": _COMMON,
    **{
        title: tuple(name for name in names if name not in _COMMON)
        for title, names in {
            "Dataset": (
                *("protocol", "errata", "scenario_offset", "mode", "skip_qa", "floors"),
                *("answers_from", "rebuild", "reports"),
            ),
            "System": (*SYSTEM, *AGENT),
            "Hybrid memory": ("neighbours", *(name for _, name, _ in _PARTS)),
            "Questions": QUESTIONS,
            "Judges": JUDGES,
            "Workers": WORKERS,
            "Folder and files": (*FOLDER, *FILE_NAMES),
        }.items()
    },
}
"""The options of `eval` by title."""


@click.command("eval", cls=GroupedCommand, option_groups=_GROUPS)
@click.option(
    "--dataset",
    required=True,
    metavar="NAME",
    help="Its name in `datasets list`, such as locomo.",
)
@option("-d", "--data", type=PATH, help="Its file or folder [the download].")
@option(
    "--protocol",
    help="Protocol: strict, official, or a variant of `datasets show` [strict].",
)
@option("--errata", multiple=True, help="Corrections of the ground truth, as name or name=FILE.")
@option("--categories", multiple=True, help="Only questions of these categories [all].")
@option("--max-scenarios", type=COUNT, help="Limit for the number of histories [all].")
@option("--scenario-offset", type=NUMBER, help="Number of histories to skip [0].")
@option(
    "--mode", type=click.Choice(["raw", "consolidated"]), help="What the system searches [raw]."
)
@option("--skip-qa/--no-skip-qa", help="Measure retrieval only; answer and judge nothing.")
@option("--floors/--no-floors", help="Run bm25, none and oracle for comparison [yes].")
@option(
    "--answers-from",
    type=PATH,
    help="Judge and measure the answers recorded in this run folder; ask nothing.",
)
@option("--rebuild/--no-rebuild", help="Delete an earlier run in the same folder first.")
@option("--reports", type=PATH, help="Folder for the numbered reports [reports].")
@PROFILE
@setting_options(*SYSTEM, *AGENT)
@_part_options
@setting_options(*QUESTIONS, *WORKERS, *JUDGES, *FOLDER)
@FILES
@SET
@QUIET
@VERBOSE
@add_json_option("Print the report as JSON.")
def eval_command(
    profile: Path | None,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Ask a system the questions of a public dataset, and measure it by their ground truth.

    The report compares each figure with random choice, keyword search and the best possible, and is
    written to reports/<dataset>/<eval_version>/run-N/.
    """
    options = {name: flags.pop(name) for name in _REQUESTED}
    parts = {name: flags.pop(name) for name in (*(part[1] for part in _PARTS), "neighbours")}
    settings = read_flags(profile, resolve_file_settings(flags))
    request = _build_request(_apply_parts(settings, parts), options)
    with forward_to_stderr():
        evaluated = _run_evaluation(request, is_quiet=quiet)
    return _print_result(evaluated, as_json=as_json, is_complete=verbose)


_REQUESTED = (
    *("dataset", "protocol", "errata", "categories", "max_scenarios", "scenario_offset"),
    *("mode", "skip_qa", "floors", "answers_from", "rebuild", "reports"),
)


def _apply_parts(settings: "Settings", parts: dict[str, Any]) -> "Settings":
    switched = {name: value for name, value in parts.items() if value is not None}
    return replace(settings, config={**settings.config, **switched}, heatmap_png=False)


def _build_request(settings: "Settings", wanted: dict[str, Any]) -> "EvalRequest":
    from recall_bench.judging.eval_dataset import EvalMode, EvalRequest

    said = select_given(wanted)
    if "mode" in said:
        said["mode"] = EvalMode(said["mode"])
    return EvalRequest(settings=settings, **said)


def _run_evaluation(request: "EvalRequest", *, is_quiet: bool) -> "EvalResult":
    from recall_bench.cli.run_display import watch_run
    from recall_bench.features.datasets.eval_assembly import assemble_evaluation
    from recall_bench.features.datasets.evaluation import evaluate
    from recall_bench.judging.eval_dataset import open_dataset

    assembled = assemble_evaluation(request, open_dataset(request))
    job = assembled.job
    for warning in job.warnings:
        click.echo(f"note: {warning}", err=True)
    if not is_quiet:
        click.echo(f"run folder: {job.folder}", err=True)

    def print_control(name: str) -> None:
        if not is_quiet:
            click.echo(f"  for comparison: {name}", err=True)

    with watch_run(job, is_terse=True, is_quiet=is_quiet) as (observe, joined):
        return evaluate(assembled, observe, print_control, joined)


def _print_result(evaluated: "EvalResult", *, as_json: bool, is_complete: bool) -> int:
    from recall_bench.cli.console import format_json
    from recall_bench.cli.run import find_problem, print_conclusion
    from recall_bench.features.datasets.eval_page import render_page, render_summary

    if evaluated.report is not None:
        if as_json:
            click.echo(format_json(evaluated.report))
        elif is_complete:
            show_page(render_page(evaluated.report))
        else:
            click.echo(render_summary(evaluated.report))
    print_conclusion(evaluated.finished, find_problem(evaluated.finished))
    if evaluated.place is not None:
        click.echo(f"report: {evaluated.place}", err=True)
    return evaluated.exit_code


def show_page(page: str) -> None:
    """Print the page: at a terminal as tables, else as it is."""
    if not sys.stdout.isatty():
        click.echo(page)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(page))
