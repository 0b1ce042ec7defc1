"""`judge-lab calibrate`: train the offline judge's calibration."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_bench.cli.options import PATH
from recall_bench.errors import UsageError

if TYPE_CHECKING:
    from recall_bench.judge_lab.calibrate import TrainedCalibration


@click.command("calibrate")
@click.option(
    "--judged", type=PATH, required=True, help="Labelled verdicts, one JSON object a line."
)
@click.option(
    "--corpus",
    type=PATH,
    required=True,
    help="The days they are about, or their persona's folder.",
)
@click.option("--out", type=PATH, help="Where to write the calibration; without it, nowhere.")
def calibrate_command(judged: Path, corpus: Path, out: Path | None) -> None:
    """Learn from labelled verdicts what the offline judge's measurements amount to.

    Prints how well it does on questions that it did not learn from, and writes a calibration
    that learned from all of them.
    """
    from recall_bench.judge_lab.calibrate import calibrate

    if out is not None and not out.parent.is_dir():
        raise UsageError(f"--out: there is no folder {out.parent}; create it first")
    trained = calibrate(judged, corpus)
    click.echo(_render_training(trained))
    if out is not None:
        out.write_bytes(trained.encode())
        click.echo(f"wrote {out}", err=True)


def _render_training(trained: "TrainedCalibration") -> str:
    from recall_bench.judge_lab.tables import render_categories, render_marks

    training = trained.calibration.training
    counts = f"{training.answers:,} answers to {training.questions} questions"
    lines = [f"{counts}; each judged by a model that did not learn from its question", ""]
    for title, found in trained.held_out.items():
        lines += [title, *render_marks(found.marks), "", *render_categories(found.categories), ""]
    return "\n".join(lines)
