"""Trials as OpenTelemetry spans: OTLP JSON in a file, to a collector, or to Langfuse.

Every trial is a trace of one span whose ids come from the run and the trial, so that a second
export gives the same.
"""

import os
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from hashlib import sha256
from http.client import HTTPException
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

import msgspec

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.distribution import DISTRIBUTION
from recall_bench.core.errors import UsageError
from recall_bench.core.event import TrialResult
from recall_bench.core.plan import Trial
from recall_bench.core.user_code import require_libraries
from recall_bench.features.archive.exports.run_tables import ExportedRun, Row

FILE: Final = "traces.jsonl"
"""OTLP in JSON lines, as the file receiver of a collector reads it."""
_BATCH = 500
"""Spans of one request, or one line."""
_TIMEOUT_S = 30.0
_LANGFUSE_TRACES = "/api/public/otel/v1/traces"
_ATTRIBUTES: Final = {
    "run": "recall_bench.run",
    "persona": "recall_bench.persona",
    "checkpoint": "recall_bench.checkpoint",
    "question_id": "recall_bench.question_id",
    "repeat": "recall_bench.repeat",
    "category": "recall_bench.category",
    "state": "recall_bench.state",
    "reference": "recall_bench.reference",
    "score": "recall_bench.score",
    "score_name": "recall_bench.score_name",
    "fault": "error.type",
    "question": "langfuse.observation.input",
    "answer": "langfuse.observation.output",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
}
"""The columns of a trial that a span has, by the name of their attribute."""


def write_spans(runs: Sequence[ExportedRun], into: Path, *, url: str | None) -> list[Path]:
    """Write all spans to traces.jsonl, or send them to a collector.

    Headers for the collector are those of OTEL_EXPORTER_OTLP_HEADERS.
    """
    if url is not None:
        _send_spans(runs, url, _read_headers())
        return []
    with AtomicFile(into / FILE) as file:
        for content in _list_requests(runs):
            file.write(content + b"\n")
        file.commit()
    return [into / FILE]


def send_to_langfuse(runs: Sequence[ExportedRun], *, url: str | None) -> None:
    """Send the spans to Langfuse, and a score for each of them by its client."""
    require_libraries("--to langfuse", "langfuse", "langfuse")
    from langfuse import Langfuse

    host = url or os.environ.get("LANGFUSE_BASE_URL") or os.environ.get("LANGFUSE_HOST")
    keys = [os.environ.get(name) for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")]
    if host is None or not all(keys):
        raise UsageError(
            "--to langfuse: needs --url, and LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY in the "
            "environment"
        )
    login = b64encode(f"{keys[0]}:{keys[1]}".encode()).decode()
    address = host.rstrip("/") + _LANGFUSE_TRACES
    _send_spans(runs, address, {"Authorization": f"Basic {login}"})
    client = Langfuse(base_url=host)
    for run in runs:
        for row, trial in zip(run.table.rows, run.list_rows("trials"), strict=True):
            if trial["score"] is not None:
                trace = _make_id(run, row.trial, 32)
                client.create_score(
                    name=str(trial["score_name"]),
                    value=float(str(trial["score"])),
                    trace_id=trace,
                    score_id=f"{trace}-score",
                    data_type="NUMERIC",
                )
        client.flush()
    client.shutdown()


def _send_spans(runs: Sequence[ExportedRun], url: str, headers: Mapping[str, str]) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise UsageError(
            f"--url: {url} is not the address of a collector; use http://… or https://…"
        )
    for content in _list_requests(runs):
        sent = Request(  # noqa: S310 - the scheme was checked
            url, data=content, headers={"Content-Type": "application/json", **headers}
        )
        try:
            with urlopen(sent, timeout=_TIMEOUT_S) as reply:  # noqa: S310
                reply.read()
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            raise UsageError(f"--url: {url} does not take the spans ({reason})") from error


def _read_headers() -> dict[str, str]:
    pairs = os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",")
    named = (pair.partition("=") for pair in pairs if "=" in pair)
    return {name.strip(): unquote(value.strip()) for name, _, value in named}


def _list_requests(runs: Sequence[ExportedRun]) -> Iterator[bytes]:
    """The bodies of requests to a collector, or lines of a file."""
    for run in runs:
        spans = _list_spans(run)
        while batch := list(islice(spans, _BATCH)):
            yield msgspec.json.encode(_make_request(run, batch))


def _make_request(run: ExportedRun, spans: list[dict[str, Any]]) -> dict[str, Any]:
    plan = run.folder.plan
    resource = {
        "service.name": DISTRIBUTION,
        "recall_bench.system": plan.system.name,
        "recall_bench.system_version": plan.system.version,
        "recall_bench.dataset": run.describe()["dataset"],
        "recall_bench.plan": plan.digest,
    }
    scope = {"name": DISTRIBUTION, "version": run.folder.codes[-1]}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _list_attributes(resource)},
                "scopeSpans": [{"scope": scope, "spans": spans}],
            }
        ]
    }


def _list_spans(run: ExportedRun) -> Iterator[dict[str, Any]]:
    results = (result for name in run.folder.scenarios for result in run.folder.results(name))
    for row, result in zip(run.list_rows("trials"), results, strict=True):
        if (span := _make_span(run, row, result)) is not None:
            yield span


def _make_span(run: ExportedRun, row: Row, result: TrialResult) -> dict[str, Any] | None:
    """One trial that was asked; None while it was not."""
    event = result.answered or result.outcome
    if event is None:
        return None
    seconds = row["seconds"] if isinstance(row["seconds"], float) else 0.0
    ended = event.at
    started = ended - timedelta(seconds=seconds)
    attributes = {name: row[column] for column, name in _ATTRIBUTES.items()}
    return {
        "traceId": _make_id(run, result.trial, 32),
        "spanId": _make_id(run, result.trial, 16),
        "name": f"question {result.trial.item}",
        "kind": 1,
        "startTimeUnixNano": str(round(started.timestamp() * 1e6) * 1000),
        "endTimeUnixNano": str(round(ended.timestamp() * 1e6) * 1000),
        "attributes": _list_attributes(
            {
                **attributes,
                "langfuse.trace.name": f"{row['system']}: {row['category']}",
                "langfuse.session.id": f"{row['run']}/{row['persona']}",
            }
        ),
        "status": {"code": 2 if row["fault"] else 1},
    }


def _make_id(run: ExportedRun, trial: Trial, digits: int) -> str:
    """Hexadecimal digits of a trace or a span."""
    folder = run.folder
    named = f"{digits} {folder.plan.digest} {folder.started.isoformat()} {trial}"
    return sha256(named.encode()).hexdigest()[:digits]


def _list_attributes(values: Mapping[str, object]) -> list[dict[str, Any]]:
    attributes = []
    for name, value in values.items():
        if isinstance(value, bool):
            attributes.append({"key": name, "value": {"boolValue": value}})
        elif isinstance(value, int):
            attributes.append({"key": name, "value": {"intValue": str(value)}})
        elif isinstance(value, float):
            attributes.append({"key": name, "value": {"doubleValue": value}})
        elif value is not None:
            attributes.append({"key": name, "value": {"stringValue": str(value)}})
    return attributes
