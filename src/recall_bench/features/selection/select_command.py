"""The command `select`: suites of `.bench` tests over a folder of memories."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.console import MultiValueCommand, format_json, forward_to_stderr
from recall_bench.cli.options import (
    CODE,
    COUNT,
    NUMBER,
    PATH,
    add_json_option,
    add_output_option,
    option,
    read_flags,
    select_given,
    setting_options,
)

if TYPE_CHECKING:
    from recall_bench.features.selection.selection_run import SelectionRequest, SelectionRun


LOG = Path("recall-prompts.md")


@click.group("select")
def select_command() -> None:
    """Test whether an agent recalls exactly the right memory files."""


@select_command.command("run", cls=MultiValueCommand)
@option("--memories", type=PATH, help="Folder of memories, *.md [those of the example].")
@option("--tests", type=PATH, help="Folder of tests, *.bench [those of the example].")
@option(
    "--selector",
    help="bm25, vector, hybrid, keyword, agent, all, none, command:PROGRAM, file.py:name or "
    "module:name [hybrid].",
)
@CODE
@option("--agent-conf", type=PATH, help="Settings of the recall agent: its agent.conf.")
@option("--only", multiple=True, help="Tests by name, * allowed [all].")
@setting_options(
    *("repeats", "parallelism", "timeout_ms", "error_budget", "max_cost_usd", "into", "resume"),
    "retry_errors",
    repeats="How often each test is run",
    parallelism="Concurrent selections",
    timeout_ms="Time limit for a selection",
    error_budget="Figures are invalid if more than this share of selections fails [0]",
    max_cost_usd="Stop when selecting has cost this much; run again with a higher limit to "
    "continue",
    retry_errors="Run failed tests again",
)
@option("--name", help="Name of the .result file [the run's].")
@option(
    "--log",
    type=PATH,
    is_flag=False,
    flag_value=LOG,
    help="Append the result to this log of versions [recall-prompts.md].",
)
@add_json_option("Print the report as JSON.")
def run_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Run every test with a selector, and count the exactly right selections.

    Without arguments it runs the example of the package with the built-in hybrid.
    """
    from recall_bench.features.selection.selection_run import SelectionRequest

    options = {name: flags.pop(name) for name in ("memories", "tests", "selector", "only")}
    result = {name: flags.pop(name) for name in ("name", "log")}
    _refuse_bad_flags(options, result)
    if (conf := flags.pop("agent_conf")) is not None:
        flags["config"] = (*flags["config"], f"conf={conf.resolve()}")
    flags["error_budget"] = flags["error_budget"] or 0.0
    settings = {"selector": "hybrid", **select_given(options)}
    request = SelectionRequest(settings=read_flags(None, flags), **settings)
    with forward_to_stderr():
        selected = _run_selection(request)
    _write_results(selected, result)
    return _print_result(selected, as_json=as_json)


@select_command.command("generate")
@option("--memories", type=PATH, help="Folder of memories, *.md [those of the example].")
@add_output_option("Folder for the tests.", required=True)
@option("--samples", type=COUNT, help="Number of tests [1].")
@option(
    "--amount", type=NUMBER, help="Memories per test; 0 for tests that recall nothing [1 to 5]."
)
@option("--name", help="Name of the files [by their content].")
@option("--model", help="Model: offline, provider:model, claude, codex or copilot [offline].")
@option(
    "--pool/--no-pool",
    help="Label the relevance of all memories, not only of the picked ones.",
)
@option("--seed", type=int, help="Seed of the sample [42].")
@option(
    "--max-cost",
    "max_cost_usd",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Stop when writing has cost this much; run again with a higher limit to continue "
    "[no limit].",
)
@add_json_option("Print the result as JSON.")
def generate_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Write new tests from a folder of memories, each as soon as it exists.

    The same command continues an interrupted one. Exits with 1 if some samples gave no test.
    """
    from recall_bench.features.selection.generation.sample import SuiteRequest
    from recall_bench.features.selection.generation.suite_generator import generate_tests
    from recall_bench.features.selection.suite import EXAMPLE

    settings = {"memories": EXAMPLE / "memory", **select_given(flags)}
    with forward_to_stderr():
        generated = generate_tests(
            SuiteRequest(**settings), lambda line: click.echo(f"  {line}", err=True)
        )
    click.echo(format_json(generated) if as_json else generated.in_words)
    if generated.usage.calls:
        tokens = generated.usage.input_tokens + generated.usage.output_tokens
        click.echo(f"{tokens:,} tokens, ${generated.usage.cost_usd:.4f}", err=True)
    return generated.exit_code


@select_command.command("example")
@click.argument("folder", type=PATH)
def example_command(folder: Path) -> None:
    """Copy the example suite to a new FOLDER."""
    import shutil

    from recall_bench.core.errors import UsageError
    from recall_bench.features.selection.suite import EXAMPLE

    if folder.exists():
        raise UsageError(f"{folder} exists; name a new folder")
    try:
        for part in ("memory", "tests"):
            shutil.copytree(EXAMPLE / part, folder / part)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error.strerror})") from error
    click.echo(f"{folder}/memory and {folder}/tests")


def _refuse_bad_flags(wanted: dict[str, Any], result: dict[str, Any]) -> None:
    """Check the flags before anything is asked."""
    from recall_bench.core.errors import UsageError
    from recall_bench.features.selection.prompt_log import refuse_others

    if (wanted["memories"] is None) != (wanted["tests"] is None):
        raise UsageError("--memories and --tests belong together; name both, or neither")
    name = result["name"]
    if name is not None and Path(name).name != name:
        raise UsageError(f"--name: {name!r} is not a name for a file; leave folders out")
    if result["log"] is not None:
        refuse_others(result["log"])


def _run_selection(request: "SelectionRequest") -> "SelectionRun":
    from recall_bench.cli.run_display import RunWatch, open_display
    from recall_bench.features.selection.selection_run import assemble_selection, run_selection
    from recall_bench.features.selection.suite import open_suite
    from recall_bench.features.selection.suite_power import describe_power

    suite = open_suite(request.memories, request.tests, request.only)
    assembled = assemble_selection(request, suite)
    for warning in assembled.job.warnings:
        click.echo(f"note: {warning}", err=True)
    click.echo(describe_power(len(suite.tests)), err=True)
    click.echo(f"run folder: {assembled.job.folder}", err=True)
    with open_display() as display:
        return run_selection(assembled, RunWatch(assembled.job, display, is_terse=True))


def _write_results(selected: "SelectionRun", result: dict[str, Any]) -> None:
    from recall_bench.features.selection.result_file import write_results

    folder = selected.finished.folder.path
    write_results(selected.report, folder, result["name"] or folder.name)
    if result["log"] is None:
        return
    if not selected.finished.is_valid:
        status = selected.report.validity
        click.echo(f"note: the run is {status}, so {result['log']} has no entry of it", err=True)
        return
    from recall_bench.features.selection.prompt_log import append_entry

    append_entry(result["log"], selected.report)
    click.echo(f"log: {result['log']}", err=True)


def _print_result(selected: "SelectionRun", *, as_json: bool) -> int:
    from recall_bench.cli.run import find_problem, print_conclusion
    from recall_bench.features.selection.selection_report import render_text

    click.echo(format_json(selected.report) if as_json else render_text(selected.report))
    print_conclusion(selected.finished, find_problem(selected.finished))
    return selected.exit_code
