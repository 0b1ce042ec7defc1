"""Runs in trackers and as traces, read back by the libraries of these."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import recall_bench
from recall_bench.core.errors import UsageError


class Collector:
    """A server on loopback that keeps what it is sent."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        kept = self.requests

        class KeepingHandler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kept.append((self.path, dict(self.headers), body))
                self.send_response(207 if "ingestion" in self.path else 200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(b'{"successes": [], "errors": []}')

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), KeepingHandler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()
    yield found
    found.close()


def list_spans(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        span
        for resource in request["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def read_attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def test_spans_are_written_and_sent_alike(
    runs: tuple[Path, Path], tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=memory%20lab")
    [path] = recall_bench.export(*runs, to="otel", into=tmp_path)
    sent = recall_bench.export(*runs, to="otel", into=tmp_path, url=f"{collector.url}/v1/traces")

    assert sent == ()
    assert [body for _, _, body in collector.requests] == path.read_bytes().splitlines()
    assert collector.requests[0][1]["X-Team"] == "memory lab"
    spans = [
        span for line in path.read_text().splitlines() for span in list_spans(json.loads(line))
    ]
    assert len(spans) == len({span["traceId"] for span in spans}) == 14
    assert all(int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]) for s in spans)
    named = read_attributes(spans[0])
    assert named["recall_bench.score_name"] == "locomo/official"
    assert named["langfuse.observation.input"].endswith("?")


def test_the_library_of_opentelemetry_reads_the_spans(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    proto = pytest.importorskip(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
        reason="opentelemetry-proto is not installed",
    )
    json_format = pytest.importorskip("google.protobuf.json_format")
    [path] = recall_bench.export(runs[1], to="otel", into=tmp_path)

    for line in path.read_text().splitlines():
        request = json_format.Parse(line, proto.ExportTraceServiceRequest())
        spans = [s for r in request.resource_spans for c in r.scope_spans for s in c.spans]
        assert len(spans) == 7
        assert all(s.end_time_unix_nano >= s.start_time_unix_nano > 0 for s in spans)


def test_a_collector_that_is_not_there_is_a_sentence(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    for url, said in (
        ("http://127.0.0.1:9/v1/traces", "does not take the spans"),
        ("file:///etc", "is not the address of a collector"),
    ):
        with pytest.raises(UsageError, match=said):
            recall_bench.export(runs[0], to="otel", into=tmp_path, url=url)


def test_langfuse_gets_traces_and_scores(
    runs: tuple[Path, Path], collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langfuse", reason="langfuse is not installed")
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-test")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-test")

    recall_bench.export(runs[1], to="langfuse", url=collector.url)

    traces = [r for r in collector.requests if r[0] == "/api/public/otel/v1/traces"]
    spans = [span for _, _, body in traces for span in list_spans(json.loads(body))]
    # The client of version 5 sends scores as they are, those before it in an envelope.
    bodies = {path: json.loads(body) for path, _, body in collector.requests if "otel" not in path}
    sent = bodies.get("/api/public/scores") or [
        each["body"] for each in bodies["/api/public/ingestion"]["batch"]
    ]
    scores = {each["traceId"]: each["value"] for each in sent}
    assert len(spans) == len(scores) == 7
    for span in spans:
        assert scores[span["traceId"]] == read_attributes(span)["recall_bench.score"]
    assert traces[0][1]["Authorization"].startswith("Basic ")


def test_langfuse_without_keys_is_a_sentence(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langfuse", reason="langfuse is not installed")
    monkeypatch.delenv("LANGFUSE_PUBLIC_KEY", raising=False)

    with pytest.raises(UsageError, match="--to langfuse: needs --url, and LANGFUSE_PUBLIC_KEY"):
        recall_bench.export(runs[0], to="langfuse", url="http://127.0.0.1:9")


@pytest.mark.filterwarnings("ignore")
def test_mlflow_finds_the_runs(runs: tuple[Path, Path], tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    pytest.importorskip("sqlalchemy", reason="sqlalchemy, which mlflow needs, is not installed")
    [database] = recall_bench.export(*runs, to="mlflow", into=tmp_path, project="memory")
    report = recall_bench.report(runs[1], into=tmp_path / "report").report

    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{database}")
    found = client.search_runs([client.get_experiment_by_name("memory").experiment_id])

    logged = {each.info.run_name: each.data for each in found}
    assert {*logged} == {"poor", "good"}
    assert report.header.overall is not None
    assert logged["good"].metrics["score"] == pytest.approx(report.header.overall.value * 100 / 6)
    assert "figure/turn recall_10" in logged["good"].metrics
    assert logged["good"].params["protocol"] == "locomo/official"


@pytest.mark.filterwarnings("ignore")
def test_wandb_writes_offline_runs(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.chdir(tmp_path)

    written = recall_bench.export(*runs, to="wandb", into=tmp_path / "out")

    assert len({*written}) == 2
    assert all(list(path.glob("*.wandb")) for path in written)
