"""A run as three tables: trials, cells and costs. Every export is made of these."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.plan import Plan
from recall_bench.core.user_code import require_libraries
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.engine.runs.estimates import RunEstimates, build_heatmaps
from recall_bench.engine.runs.heatmap_rows import RowKind, RowTable
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.analyses.costs import measure_costs, price_usage
from recall_bench.reporting.groups import describe_judge
from recall_bench.reporting.trial_records import COLUMNS, list_trial_records
from recall_bench.reporting.trial_scores import read_scored_trials

Row = dict[str, object]
Columns = Mapping[str, type]

_RUN: Final[Columns] = {
    "run": str,
    "system": str,
    "system_version": str,
    "dataset": str,
    "protocol": str,
    "judge": str,
    "seed": int,
    "started": str,
}
"""The columns that name the run: the first ones of every table."""
TRIAL_COLUMNS: Final[Columns] = {
    **_RUN,
    **COLUMNS,
    "score": float,
    "score_name": str,
    "input_tokens": int,
    "output_tokens": int,
    "cost_usd": float,
    "passages": int,
    "passage_tokens": int,
}
CELL_COLUMNS: Final[Columns] = {
    **_RUN,
    "persona": str,
    "checkpoint": str,
    "days": int,
    "category": str,
    "figure": str,
    "mean": float,
    "low": float,
    "high": float,
    "questions": int,
    "trials": int,
    "missing": int,
}
COST_COLUMNS: Final[Columns] = {
    **_RUN,
    "checkpoint": str,
    "days": int,
    "ingest_s_a_day": float,
    "query_p50_s": float,
    "query_p95_s": float,
    "delivered_tokens": float,
    "ingest_input_tokens": int,
    "ingest_output_tokens": int,
    "ingest_cost_usd": float,
    "query_input_tokens": int,
    "query_output_tokens": int,
    "query_cost_usd": float,
    "index_bytes": int,
}
TABLES: Final[Mapping[str, Columns]] = {
    "trials": TRIAL_COLUMNS,
    "cells": CELL_COLUMNS,
    "costs": COST_COLUMNS,
}
"""The columns of each table with their types; each value may be None."""

_BATCH = 10_000
"""Rows of a Parquet row group: what is in memory at a time."""


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """A run, read once for all its tables."""

    folder: RunFolder
    table: TrialTable
    means: RunEstimates

    @classmethod
    def read(cls, folder: RunFolder, score: str | None = None) -> "ExportedRun":
        """With the score that all analyses go by, or the figure that `score` names."""
        table = read_scored_trials(folder, score)
        means = RunEstimates.get(folder, table)
        return cls(folder, table, means)

    @property
    def score_name(self) -> str:
        """What the score of its trials is."""
        return "points" if self.table.scale is None else self.table.scale.name

    def list_rows(self, name: str) -> Iterator[Row]:
        """The rows of one of the tables."""
        makers = {"trials": self._list_trials, "cells": self._list_cells, "costs": self._list_costs}
        return makers[name]()

    def describe(self) -> Row:
        """The columns that name the run."""
        plan = self.folder.plan
        card = plan.dataset
        return {
            "run": self.folder.path.resolve().name,
            "system": plan.system.name,
            "system_version": plan.system.version,
            "dataset": "personas" if card is None else card.name,
            "protocol": None if card is None else card.protocol,
            "judge": describe_judge(plan),
            "seed": plan.seed,
            "started": self.folder.started.isoformat(),
        }

    def _list_trials(self) -> Iterator[Row]:
        first, name = self.describe(), self.score_name
        records = list_trial_records(self.folder, self.table)
        for row, record in zip(self.table.rows, records, strict=True):
            points = self.table.points.get(row.trial)
            usage, delivery = row.usage, row.delivery
            yield {
                **first,
                **record,
                "score": None if points is None else points / FULL_MARKS,
                "score_name": name,
                "input_tokens": None if usage is None else usage.input_tokens,
                "output_tokens": None if usage is None else usage.output_tokens,
                "cost_usd": None if usage is None else price_usage(usage),
                "passages": None if delivery is None else delivery.kept,
                "passage_tokens": None if delivery is None else delivery.tokens,
            }

    def _list_cells(self) -> Iterator[Row]:
        first = self.describe()
        for heatmap in self._list_heatmaps():
            for place, checkpoint in enumerate(heatmap.columns):
                for row in heatmap.shown:
                    mean = row.cells[place]
                    if mean is not None:
                        yield {
                            **first,
                            "persona": heatmap.persona,
                            "checkpoint": checkpoint.label,
                            "days": checkpoint.days,
                            "category": row.name if row.kind is RowKind.CATEGORY else None,
                            "figure": row.name if row.kind is RowKind.FIGURE else self.score_name,
                            **_scale_estimate(mean, row.scale.factor),
                        }

    def _list_heatmaps(self) -> Sequence[RowTable]:
        if self.folder.plan.dataset is not None:
            return (self.means.build_heatmap(),)
        return build_heatmaps(self.folder, self.means)

    def _list_costs(self) -> Iterator[Row]:
        first = self.describe()
        for point in measure_costs(self.folder, self.table).points:
            row: Row = {**first, "checkpoint": point.checkpoint, "days": point.days}
            for name in ("ingest_s_a_day", "query_p50_s", "query_p95_s", "delivered_tokens"):
                row[name] = getattr(point, name)
            for stage in ("ingest", "query"):
                usage = point.ingest_usage if stage == "ingest" else point.query_usage
                row[f"{stage}_input_tokens"] = None if usage is None else usage.input_tokens
                row[f"{stage}_output_tokens"] = None if usage is None else usage.output_tokens
                row[f"{stage}_cost_usd"] = None if usage is None else price_usage(usage)
            yield {**row, "index_bytes": point.index_bytes}


def _scale_estimate(found: Estimate, scale: float) -> Row:
    return {
        "mean": found.value * scale,
        "low": None if found.low is None else found.low * scale,
        "high": None if found.high is None else found.high * scale,
        "questions": found.questions,
        "trials": found.trials,
        "missing": found.missing,
    }


def describe_plan(plan: Plan) -> dict[str, str]:
    """The settings of a run that trackers list beside it."""
    card = plan.dataset
    return {
        "system": f"{plan.system.name} {plan.system.version}",
        "dataset": "personas" if card is None else card.name,
        "protocol": "marks" if card is None else card.protocol,
        "judge": describe_judge(plan),
        "reader": "none" if plan.reader is None else plan.reader.name,
        "seed": str(plan.seed),
        "repeats": str(plan.repeats),
        "top_k": str(plan.top_k),
        "plan_digest": plan.digest,
        "dataset_digest": plan.dataset_digest,
    }


def write_csv(runs: Sequence[ExportedRun], into: Path) -> list[Path]:
    """Write trials.csv, cells.csv and costs.csv; an empty field is a value that is not known."""
    return [_write_csv(into / f"{name}.csv", name, runs) for name in TABLES]


def _write_csv(path: Path, name: str, runs: Sequence[ExportedRun]) -> Path:
    with AtomicFile(path) as file:
        writer = csv.DictWriter(_TextSink(file), fieldnames=list(TABLES[name]))
        writer.writeheader()
        for run in runs:
            writer.writerows(run.list_rows(name))
        file.commit()
    return path


class _TextSink:
    """Takes text for a file of bytes."""

    def __init__(self, file: AtomicFile) -> None:
        self._file = file

    def write(self, text: str) -> None:
        """Write the text in UTF-8."""
        self._file.write(text.encode())


def write_parquet(runs: Sequence[ExportedRun], into: Path) -> list[Path]:
    """Write trials.parquet, cells.parquet and costs.parquet."""
    require_libraries("--to parquet", "parquet", "pyarrow", "pyarrow.parquet")
    into.mkdir(parents=True, exist_ok=True)
    return [_write_parquet(into / f"{name}.parquet", name, runs) for name in TABLES]


def _write_parquet(path: Path, name: str, runs: Sequence[ExportedRun]) -> Path:
    import pyarrow
    from pyarrow import parquet

    kinds = {
        str: pyarrow.string(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        bool: pyarrow.bool_(),
    }
    schema = pyarrow.schema([(column, kinds[kind]) for column, kind in TABLES[name].items()])
    part = path.with_name(f".{path.name}.part")
    try:
        with parquet.ParquetWriter(part, schema) as writer:
            rows = (row for run in runs for row in run.list_rows(name))
            while batch := list(islice(rows, _BATCH)):
                writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
