"""`export`: a run's files, made again from its journal."""

from pathlib import Path

import click


@click.command("export")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--to", type=click.Path(path_type=Path), help="Folder to write to (default: RUN).")
def export_command(run: Path, to: Path | None) -> None:
    """Write result.json, progress.jsonl, questions.jsonl and failures.jsonl of RUN again."""
    from recall_bench.library import export_run

    for path in export_run(run, to):
        click.echo(str(path))
