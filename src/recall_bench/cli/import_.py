"""`import`: files of the public harness, or of another machine, as a run folder."""

from pathlib import Path

import click

from recall_bench.cli.answer import format_json


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    help="Run folder to make; it must not exist [one by plan in recall-runs/].",
)
@click.option(
    "--as-graded",
    is_flag=True,
    help="Leave [TIMEOUT] and its like graded as answers, as the public harness did.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was read and repaired as JSON.")
def import_command(
    source: tuple[Path, ...], into: Path | None, as_graded: bool, as_json: bool
) -> None:
    """Make a run folder of SOURCE: the files of one run of the public harness, or their folder.

    A result.json is enough, and so are a questions.jsonl and its progress.jsonl. Known faults of
    the files are repaired where that is certain, and marked where it is not.
    """
    from recall_bench.importing.carrying_out import import_run
    from recall_bench.importing.wording import render_import

    found = import_run(source, into, as_graded=as_graded)
    click.echo(format_json(found) if as_json else render_import(found))
