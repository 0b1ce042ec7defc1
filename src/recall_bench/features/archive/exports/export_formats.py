"""Runs in the formats of other tools: one call, one list of formats."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from recall_bench.core.errors import UsageError
from recall_bench.core.folders import refuse_other_files
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.features.archive.exports.hub_folder import CARD, write_hub_folder
from recall_bench.features.archive.exports.latex_table import FILE as LATEX
from recall_bench.features.archive.exports.latex_table import write_latex
from recall_bench.features.archive.exports.run_tables import (
    TABLES,
    ExportedRun,
    write_csv,
    write_parquet,
)
from recall_bench.features.archive.exports.trackers import PROJECT, log_to_mlflow, log_to_wandb
from recall_bench.features.archive.exports.trial_spans import FILE as SPANS
from recall_bench.features.archive.exports.trial_spans import send_to_langfuse, write_spans


class ExportFormat(StrEnum):
    """Where results can go."""

    FILES = "files"
    """The public result files of one run."""
    CSV = "csv"
    PARQUET = "parquet"
    HUGGINGFACE = "huggingface"
    LATEX = "latex"
    MLFLOW = "mlflow"
    WANDB = "wandb"
    OTEL = "otel"
    LANGFUSE = "langfuse"


class ExportTarget(NamedTuple):
    """Where an export goes."""

    into: Path
    url: str | None = None
    project: str = PROJECT


_Writer = Callable[[Sequence[ExportedRun], ExportTarget], list[Path]]


def _send_to_langfuse(runs: Sequence[ExportedRun], target: ExportTarget) -> list[Path]:
    send_to_langfuse(runs, url=target.url)
    return []


_WRITERS: Final[dict[ExportFormat, _Writer]] = {
    ExportFormat.CSV: lambda runs, to: write_csv(runs, to.into),
    ExportFormat.PARQUET: lambda runs, to: write_parquet(runs, to.into),
    ExportFormat.HUGGINGFACE: lambda runs, to: write_hub_folder(runs, to.into),
    ExportFormat.LATEX: lambda runs, to: write_latex(runs, to.into),
    ExportFormat.MLFLOW: lambda runs, to: log_to_mlflow(
        runs, to.into, url=to.url, project=to.project
    ),
    ExportFormat.WANDB: lambda runs, to: log_to_wandb(runs, to.into, project=to.project),
    ExportFormat.OTEL: lambda runs, to: write_spans(runs, to.into, url=to.url),
    ExportFormat.LANGFUSE: _send_to_langfuse,
}
_OWN_FILES: Final[dict[ExportFormat, tuple[str, ...]]] = {
    ExportFormat.CSV: tuple(f"{name}.csv" for name in TABLES),
    ExportFormat.PARQUET: tuple(f"{name}.parquet" for name in TABLES),
    ExportFormat.HUGGINGFACE: (CARD, "data"),
    ExportFormat.LATEX: (LATEX,),
    ExportFormat.OTEL: (SPANS,),
}
"""What each format writes, by name; trackers keep their own folders."""
_WITH_URL = (ExportFormat.MLFLOW, ExportFormat.OTEL, ExportFormat.LANGFUSE)


def export_runs(
    folders: Sequence[RunFolder],
    shape: ExportFormat,
    target: ExportTarget,
    *,
    score: str | None = None,
) -> tuple[Path, ...]:
    """Write runs in a format of other tools; the files written, none if they were sent.

    UsageError names the library that is missing, and how to install it.
    """
    if target.url is not None and shape not in _WITH_URL:
        raise UsageError(f"--url: {shape.value} is written to files; leave it out")
    if suite := next((folder for folder in folders if folder.plan.behaviour is not None), None):
        raise UsageError(
            f"{suite.path} is a run of a behaviour suite, which has no trials; `report --json` "
            "prints its figures"
        )
    writer = _WRITERS[shape]
    if target.into.exists() and not target.into.is_dir():
        raise UsageError(f"{target.into}: is a file; name a folder with --into")
    if shape in _OWN_FILES and target.url is None:
        refuse_other_files(target.into, sorted({*_OWN_FILES[shape], *_list_all_files()}))
    return tuple(writer([ExportedRun.read(folder, score) for folder in folders], target))


def _list_all_files() -> list[str]:
    """Several formats may share a folder."""
    trackers = ("mlflow.db", "artifacts", "wandb")
    return [*trackers, *(name for names in _OWN_FILES.values() for name in names)]
