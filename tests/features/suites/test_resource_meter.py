"""Only processes that we started for a system are measured, and its own process if it is ours."""

import subprocess
import sys
from pathlib import Path

import pytest

from recall_bench.features.suites import resource_meter
from recall_bench.features.suites.resource_meter import ProcessUsage, ResourceMeter

pytest.importorskip("psutil", reason="psutil is not installed")

Usage = tuple[ProcessUsage, ProcessUsage]
OWN, GROWN = ProcessUsage(0, 100.0, 1.0), ProcessUsage(0, 130.0, 4.0)
NONE = ProcessUsage(0, 0.0, 0.0)


def script(monkeypatch: pytest.MonkeyPatch, *readings: Usage) -> None:
    left = iter(readings)
    monkeypatch.setattr(resource_meter, "_measure_processes", lambda: next(left))


def test_a_server_that_another_started_is_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script(monkeypatch, (OWN, NONE), (GROWN, NONE), (GROWN, NONE))
    meter = ResourceMeter(is_here=False)

    assert meter.read_cpu() is None
    assert meter.measure(None, None) == {}


def test_a_built_in_is_measured_in_our_process(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, (OWN, NONE), (OWN, NONE), (GROWN, NONE))
    meter = ResourceMeter(is_here=True)

    used = meter.measure(None, meter.read_cpu())

    assert used["cpu_s"] == 3.0
    assert used["added rss_bytes"] == 30.0
    assert used["in our process"] == 1.0


def test_processes_that_we_started_count_without_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = ProcessUsage(1, 50.0, 2.0), ProcessUsage(2, 90.0, 2.5)
    script(monkeypatch, (OWN, NONE), (OWN, first), (GROWN, last))
    meter = ResourceMeter(is_here=True)

    used = meter.measure(None, meter.read_cpu())

    assert (used["rss_bytes"], used["added rss_bytes"]) == (90.0, 90.0)
    assert used["cpu_s"] == 0.5
    assert used["in our process"] == 0.0


def test_a_child_and_the_files_of_a_folder_are_found(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "store.bin").write_bytes(b"x" * 1234)
    meter = ResourceMeter(is_here=False)
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True
    ) as child:
        used = meter.measure(tmp_path, None)
        child.communicate("\n")

    assert used["rss_bytes"] > 0
    assert used["disk_bytes"] == 1234
