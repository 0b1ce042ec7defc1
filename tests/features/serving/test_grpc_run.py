"""A run over gRPC tells a server's failures from its absence, and never feeds one that forgot."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recall_bench.systems.grpc.grpc_system import connect_grpc_system
from tests.commands import Invoke, Shown
from tests.warm_commands import start_copy

pytest.importorskip("grpc")
pytestmark = pytest.mark.slow


@contextmanager
def served(fault: str = "", port: int = 0) -> Iterator[int]:
    """The port of a gardener in another process, ended by its handle."""
    reading, writing = os.pipe()
    child = start_copy("tests.features.serving.served_gardener", f"{port} {fault}", stdout=writing)
    os.close(writing)
    try:
        with os.fdopen(reading) as output:
            yield int(output.readline())
    finally:
        child.kill()
        child.communicate()


Run = Callable[[int], Shown]


@pytest.fixture
def run(invoke: Invoke, data: Path) -> Run:
    def start(port: int) -> Shown:
        return invoke(
            *("run", "--data", data, "--ranges", "5d,10d", "--lifecycle", "growing"),
            *("--adapter", f"grpc://127.0.0.1:{port}", "--into", "r", "--no-heatmap-png"),
            *("--grpc-timeout", "20000", "--timeout", "20000", "--error-budget", "0.1"),
        )

    return start


def scores() -> list[float | None]:
    result = json.loads(Path("r/result.json").read_text())
    return [part["overallScore"] for part in result["personas"][0]["rangeResults"]]


def kinds() -> list[str]:
    return [json.loads(line)["type"] for line in Path("r/journal.jsonl").read_text().splitlines()]


def test_a_healthy_server_is_scored(run: Run) -> None:
    with served() as port:
        shown = run(port)

    assert shown.code == 0, shown.err
    assert scores() == [6, 6]


def test_no_server_is_said_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is starting is waited for, here as briefly as a test can."""
    defaults = connect_grpc_system.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "connect_timeout_s", 0.1)
    with served() as port:
        pass

    shown = run(port)

    assert shown.code == 4
    assert len(shown.err.splitlines()) == 1
    assert not Path("r").exists()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("Setup:0:INTERNAL", 4),
        ("IngestDay:7:INTERNAL", 4),
        ("FinalizeIngestion:2:INTERNAL", 4),
        ("Query:3:INTERNAL", 0),
        ("Query:0:INTERNAL", 5),
        ("Query:3:UNAVAILABLE", 4),
        ("Teardown:0:INTERNAL", 0),
        ("IngestDay:7:die", 4),
        ("Query:8:die", 4),
    ],
)
def test_every_failure_has_its_exit_code_and_is_healed_by_a_healthy_server(
    run: Run, fault: str, code: int
) -> None:
    with served(fault) as port:
        broken = run(port)
    assert broken.code == code, broken.err
    assert "[TIMEOUT]" not in Path("r/result.json").read_text()

    with served(port=port):
        healed = run(port)

    if code == 4:
        assert healed.code == 0, healed.err
        assert scores() == [6, 6]
        assert kinds().count("answered") == kinds().count("judged") == 15


def test_a_server_whose_health_request_fails_is_gone_and_not_a_bug(run: Run) -> None:
    with served("Healthcheck:0:INTERNAL") as port:
        shown = run(port)

    assert shown.code == 4, shown.err
    assert "Traceback" not in shown.err
    assert not Path("r").exists()
