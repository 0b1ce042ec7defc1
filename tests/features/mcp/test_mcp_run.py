"""`--adapter map.yaml` runs an MCP server as it runs any system."""

import json
from pathlib import Path

import pytest

from tests.commands import Invoke, Shown
from tests.features.mcp.mcp_maps import child_map
from tests.gardener import write_persona


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_persona(tmp_path / "data")
    return tmp_path / "data"


def run(invoke: Invoke, data: Path, target: object, *more: str) -> Shown:
    return invoke(
        *("run", "--data", str(data), "--ranges", "5d,10d", "--adapter", str(target)),
        *("--into", "out", "--no-heatmap-png", *more),
    )


def events(kind: str) -> list[dict[str, object]]:
    lines = Path("out", "journal.jsonl").read_text(encoding="utf-8").splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == kind]


def test_a_story_is_ingested_and_asked_about(invoke: Invoke, data: Path, tmp_path: Path) -> None:
    shown = run(invoke, data, child_map(tmp_path))

    assert shown.code == 0, shown.err
    assert "child" in shown.out
    answered = events("answered")
    assert answered
    assert any("passages" in json.dumps(event) for event in answered)


def test_a_server_that_dies_under_way_ends_the_run_to_be_continued(
    invoke: Invoke, data: Path, tmp_path: Path
) -> None:
    shown = run(invoke, data, child_map(tmp_path, "dies"))

    assert shown.code == 4
    assert "out of memory in the recall index" in shown.err


def test_a_search_that_fails_costs_the_system_its_questions(
    invoke: Invoke, data: Path, tmp_path: Path
) -> None:
    run(invoke, data, child_map(tmp_path, "fails"))

    faults = events("not_answered")
    assert faults
    assert not events("answered")
    assert all("the index is locked" in str(fault) for fault in faults)


def test_a_wrong_map_is_one_sentence(invoke: Invoke, data: Path, tmp_path: Path) -> None:
    path = child_map(tmp_path, search={"tool": "find", "arguments": {"q": "{question}"}})

    shown = run(invoke, data, path)

    assert shown.code == 2
    assert "has no tool 'find'; name one of those it offers: remember" in shown.err
    assert "Traceback" not in shown.err


def test_settings_cannot_be_handed_to_a_server(invoke: Invoke, data: Path, tmp_path: Path) -> None:
    shown = run(invoke, data, child_map(tmp_path), "--config", "k=3")

    assert shown.code == 2
    assert "the settings k cannot be passed to a server" in shown.err


def test_other_transports_are_named(invoke: Invoke, data: Path, tmp_path: Path) -> None:
    shown = run(invoke, data, child_map(tmp_path, transport="smoke"))

    assert shown.code == 2
    transports = shown.err.strip().partition("write transport: ")[2].split(" or ")
    assert {"http", "mcp"} <= {*transports}
