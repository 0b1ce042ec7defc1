"""The commands `export`, `import` and `merge`: run folders from and to files."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.console import format_json, forward_to_stderr
from recall_bench.cli.options import NO_HEATMAP, PATH, SCORE, VERBOSE, add_json_option, option
from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import clean_text, format_quantity

if TYPE_CHECKING:
    from recall_bench.features.archive.exports.export_formats import ExportFormat
    from recall_bench.features.archive.merge import MergedRun


@click.command("export")
@click.argument("runs", type=PATH, nargs=-1, required=True, metavar="RUN...")
@option(
    "--to",
    metavar="FORMAT",
    help="files, csv, parquet, huggingface, latex, mlflow, wandb, otel or langfuse [files].",
)
@option("--into", type=PATH, help="Folder [RUN for files, else RUN/export].")
@option("--url", help="Server of mlflow, otel or langfuse, instead of files.")
@option("--project", help="Experiment or project of mlflow and wandb [recall-bench].")
@SCORE
def export_command(
    runs: tuple[Path, ...],
    *,
    to: str | None,
    into: Path | None,
    url: str | None,
    project: str | None,
    score: str | None,
) -> None:
    """Write the results of each RUN in the formats of other tools.

    Without --to, result.json, progress.jsonl, questions.jsonl and failures.jsonl of one run are
    written again from its journal. Nothing leaves the machine unless --url, or langfuse, is given.
    """
    from recall_bench.features.archive.exports.export_formats import ExportFormat
    from recall_bench.library import export, export_run

    shape = ExportFormat.FILES if to is None else _find_format(to, list(ExportFormat))
    if shape is None or shape is ExportFormat.FILES:
        # A folder, as `--to` took it before there were formats.
        folder = into if shape is not None else Path(to or "")
        if len(runs) > 1 or url or project or score:
            raise UsageError(
                "--to files writes one run and takes --into alone; name another format"
            )
        written = export_run(runs[0], folder)
    else:
        if url is not None or shape is ExportFormat.LANGFUSE:
            click.echo(f"note: questions and answers are sent to {url or 'Langfuse'}", err=True)
        written = export(*runs, to=shape, into=into, url=url, project=project, score=score)
    for path in written:
        click.echo(clean_text(str(path)))
    if shape is ExportFormat.WANDB:
        click.echo("note: nothing was sent; `wandb sync FOLDER` sends it", err=True)


def _find_format(word: str, known: "Sequence[ExportFormat]") -> "ExportFormat | None":
    """The format of this name; None for a folder. UsageError if it looks like a typing error."""
    for form in known:
        if word == form.value:
            return form
    close = get_close_matches(word, [form.value for form in known], 1)
    if close and not Path(word).is_dir():
        raise UsageError(f"--to: no format is called {word!r}; did you mean {close[0]!r}?")
    return None


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
    from recall_bench.features.archive.import_run import import_run, render_import

    imported = import_run(source, into, as_graded=as_graded)
    click.echo(format_json(imported) if as_json else render_import(imported))


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
    from recall_bench.engine.experiment import write_views
    from recall_bench.features.archive.merge import merge_runs

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
        f"merged {format_quantity(len(done.parts), 'folder')}: "
        f"{tally.owed - tally.open:,} of {tally.owed:,} trials were asked"
    )
    if done.missing:
        words += f"; missing: part {', '.join(map(str, done.missing))}"
    if done.unfinished:
        remaining = (f"{part} ({count:,} left)" for part, count in done.unfinished)
        words += f"; unfinished: part {', '.join(remaining)}"
    return words


def _describe_problem(done: "MergedRun", problem: str) -> str:
    """The problem, with the command that completes the run."""
    summary, place = done.finished.summary, done.finished.folder.path
    onward = f"to continue, run its own command again with --into {place} and no --shard"
    if done.finished.exit_code != 4:
        return problem
    if summary.overall.open:
        open_work = f"{format_quantity(summary.overall.open, 'question')} still to be asked"
    elif summary.reviews.open:
        open_work = f"{format_quantity(summary.reviews.open, 'review')} still to be done"
    else:
        others = sum(verdict.open for verdict in summary.other_verdicts)
        open_work = f"{format_quantity(others, 'verdict')} of other judges missing"
    return f"{open_work}; {onward}"
