"""Runs in experiment trackers: MLflow, and Weights & Biases without its server."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import time
from typing import NamedTuple

from recall_bench.core.user_code import require_libraries
from recall_bench.engine.runs.heatmap_rows import RowKind
from recall_bench.features.archive.exports.run_tables import ExportedRun, describe_plan
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.trial_scores import measure_figures

PROJECT = "recall-bench"
"""The experiment or project that runs are put in."""


class TrackedMetric(NamedTuple):
    """One number of a run."""

    name: str
    value: float
    days: int | None = None
    """The story days of a checkpoint; None for the whole run."""


def list_metrics(run: ExportedRun) -> Iterator[TrackedMetric]:
    """Scores of 100 with intervals: of the whole run, its categories, checkpoints and costs."""
    heatmap = run.means.build_heatmap()
    for row in heatmap.rows:
        if row.is_in_files_only:
            continue
        name = "score" if row.kind is RowKind.TOTAL else row.name.replace(" ", "_")
        is_category = row.kind is RowKind.CATEGORY
        yield from _list_estimate(
            f"category/{row.name}" if is_category else name, row.total, row.scale.factor
        )
        if not is_category and run.folder.plan.dataset is None:
            for checkpoint, mean in zip(heatmap.columns, row.cells, strict=True):
                if mean is not None:
                    number = mean.value * row.scale.factor
                    yield TrackedMetric(f"{name}_at", number, checkpoint.days)
    for figure in measure_figures(run.folder, run.table):
        yield from _list_estimate(f"figure/{figure.name}", figure.mean, 1.0)
    for costs in run.list_rows("costs"):
        for name in ("ingest_s_a_day", "query_p50_s", "query_p95_s", "query_cost_usd"):
            value, days = costs[name], costs["days"]
            if isinstance(value, int | float) and isinstance(days, int):
                yield TrackedMetric(f"cost/{name}", float(value), days)


def _list_estimate(name: str, found: Estimate | None, scale: float) -> Iterator[TrackedMetric]:
    if found is None:
        return
    yield TrackedMetric(name, found.value * scale)
    if found.low is not None and found.high is not None:
        yield TrackedMetric(f"{name}_low", found.low * scale)
        yield TrackedMetric(f"{name}_high", found.high * scale)


def log_to_mlflow(
    runs: Sequence[ExportedRun], into: Path, *, url: str | None, project: str
) -> list[Path]:
    """Log runs to a tracking server, or to the database mlflow.db in the folder."""
    require_libraries("--to mlflow", "mlflow", "mlflow", "sqlalchemy")
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    database = into.resolve() / "mlflow.db"
    if url is None:
        into.mkdir(parents=True, exist_ok=True)
    client = MlflowClient(tracking_uri=url or f"sqlite:///{database}")
    stored = client.get_experiment_by_name(project)
    place = None if url else (into.resolve() / "artifacts").as_uri()
    experiment = stored.experiment_id if stored else client.create_experiment(project, place)
    now = round(time() * 1000)
    for run in runs:
        started = round(run.folder.started.timestamp() * 1000)
        logged = client.create_run(
            experiment, start_time=started, run_name=str(run.describe()["run"])
        )
        client.log_batch(
            logged.info.run_id,
            metrics=[
                Metric(_clean_name(metric.name), metric.value, now, metric.days or 0)
                for metric in list_metrics(run)
            ],
            params=[
                Param(name, value[:500])
                for name, value in {
                    **describe_plan(run.folder.plan),
                    "score_name": run.score_name,
                }.items()
            ],
        )
        ended = round(run.folder.ended.timestamp() * 1000)
        client.set_terminated(logged.info.run_id, end_time=ended)
    return [] if url else [database]


def _clean_name(name: str) -> str:
    """MLflow takes letters, digits and a few signs."""
    return re.sub(r"[^A-Za-z0-9_\-./ ]", "_", name)


def log_to_wandb(runs: Sequence[ExportedRun], into: Path, *, project: str) -> list[Path]:
    """Write runs of Weights & Biases to the folder; nothing is sent until `wandb sync`."""
    require_libraries("--to wandb", "wandb", "wandb")
    import wandb

    into.mkdir(parents=True, exist_ok=True)
    written = []
    for run in runs:
        logged = wandb.init(
            mode="offline",
            dir=str(into),
            project=project,
            name=str(run.describe()["run"]),
            config={**describe_plan(run.folder.plan), "score_name": run.score_name},
            settings=wandb.Settings(silent=True, console="off", disable_git=True),
            reinit="create_new",
        )
        logged.define_metric("days")
        logged.define_metric("*", step_metric="days")
        timed: dict[int, dict[str, float]] = {}
        for metric in list_metrics(run):
            if metric.days is None:
                logged.summary[metric.name] = metric.value
            else:
                timed.setdefault(metric.days, {})[metric.name] = metric.value
        for days, values in sorted(timed.items()):
            logged.log({"days": days, **values})
        rows = list(run.list_rows("cells"))
        columns = list(rows[0]) if rows else []
        logged.log({"cells": wandb.Table(columns, [list(row.values()) for row in rows])})
        written.append(Path(logged.dir).parent)
        logged.finish()
    return written
