"""The commands `export`, `import` and `merge`: run folders from and to files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.command_kinds import AliasOption
from recall_bench.cli.console import format_json, forward_to_stderr
from recall_bench.cli.options import NO_HEATMAP, PATH, VERBOSE, add_json_option

if TYPE_CHECKING:
    from recall_bench.runs.merge import MergedRun


@click.command("export")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--into", "to", cls=AliasOption, aliases=["--to"], type=PATH, help="Folder [RUN].")
def export_command(run: Path, to: Path | None) -> None:
    """Write result.json, progress.jsonl, questions.jsonl and failures.jsonl of RUN again."""
    from recall_bench.library import export_run

    for path in export_run(run, to):
        click.echo(str(path))


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    help="New run folder [a folder in recall-runs/, named after the plan].",
)
@click.option(
    "--as-graded",
    is_flag=True,
    help="Keep [TIMEOUT] and the like graded as answers, as the public harness does.",
)
@add_json_option("Print what was imported and repaired as JSON.")
def import_command(
    source: tuple[Path, ...], into: Path | None, as_graded: bool, as_json: bool
) -> None:
    """Make a run folder of SOURCE: the files of one run of the public harness, or their folder.

    A result.json is enough, as are a questions.jsonl and its progress.jsonl. Known faults of the
    files are repaired where that is certain, and marked elsewhere.
    """
    from recall_bench.runs.import_run import import_run, render_import

    found = import_run(source, into, as_graded=as_graded)
    click.echo(format_json(found) if as_json else render_import(found))


@click.command("merge")
@click.argument("folders", nargs=-1, required=True, type=PATH, metavar="DIR...")
@click.option("--into", type=PATH, required=True, help="New run folder.")
@NO_HEATMAP
@VERBOSE
@add_json_option("Print the result as JSON.")
def merge_command(
    folders: tuple[Path, ...], *, into: Path, no_heatmap_png: bool, verbose: bool, as_json: bool
) -> int:
    """Merge the shards in each DIR, as written by `run --shard`, into one run.

    With missing or unfinished shards the run is unfinished: the usual command with the same
    settings, without --shard and with --into the new folder, completes it.
    """
    from recall_bench.cli.run import find_problem, print_conclusion, print_page_place, print_run
    from recall_bench.core.settings import Settings
    from recall_bench.running.execution import write_views
    from recall_bench.runs.merge import merge_runs

    with forward_to_stderr():
        done = merge_runs(folders, into)
        settings = Settings(into=into, heatmap_png=not no_heatmap_png)
        write_views(settings, done.finished.folder, done.finished.summary)
    print_run(done.finished, "json" if as_json else "text" if verbose else "brief")
    if done.finished.exit_code == 0:
        print_page_place(done.finished, None, to_stderr=as_json)
    click.echo(f"note: {_describe_merge(done)}", err=True)
    problem = find_problem(done.finished)
    print_conclusion(done.finished, None if problem is None else _describe_problem(done, problem))
    return done.finished.exit_code


def _describe_merge(done: "MergedRun") -> str:
    """What was merged and what is missing."""
    tally = done.finished.summary.overall
    words = (
        f"merged {len(done.parts)} folder{'' if len(done.parts) == 1 else 's'}: "
        f"{tally.owed - tally.open:,} of {tally.owed:,} trials were asked"
    )
    if done.missing:
        words += f"; missing: part {', '.join(map(str, done.missing))}"
    if done.unfinished:
        left = (f"{part} ({count:,} left)" for part, count in done.unfinished)
        words += f"; unfinished: part {', '.join(left)}"
    return words


def _describe_problem(done: "MergedRun", problem: str) -> str:
    """The problem, with the command that completes the run."""
    summary, place = done.finished.summary, done.finished.folder.path
    onward = f"the run's own command with --into {place} and no --shard"
    if done.finished.exit_code != 4:
        return problem
    if summary.overall.open:
        return f"{summary.overall.open:,} questions are not asked yet; {onward} continues"
    return f"{summary.reviews.open:,} verdicts are still to be reviewed; {onward} does it"
