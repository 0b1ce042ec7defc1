"""A command: any command of click."""

from pathlib import Path

import click

import recall_bench


@click.command("count-silent")
@click.argument("folder", type=click.Path(path_type=Path))
def count_silent_command(folder: Path) -> None:
    """Count the empty answers of a run."""
    from recall_bench.engine.runs.trials import read_trials

    trials = read_trials(recall_bench.open_run(folder)).rows
    click.echo(f"{sum(row.is_silent for row in trials)} of {len(trials)} answers have no words")
