"""Pipes, links in a circle and deeply nested files get one sentence: no traceback, no waiting."""

import gzip
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from recall_bench.core.append_log import LineChain, split_link
from tests.commands import Invoke

LIMIT_S = 20


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """End a test that waits for a pipe that has no writer."""

    def give_up(_: int, frame: FrameType | None) -> None:
        pytest.fail(f"still waiting after {LIMIT_S} s: {frame}")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def deep(path: Path) -> None:
    path.write_text("[" * 100_000 + "\n")


def deep_object(path: Path) -> None:
    path.write_text('{"type":"answered","a":' + "[" * 100_000 + "]" * 100_000 + "}\n")


def not_text(path: Path) -> None:
    path.write_bytes(b'{"a": "\xff"}\n')


ODD = pytest.mark.parametrize("make", [pipe, circle, deep, deep_object, not_text])
Make = Callable[[Path], None]


@ODD
@pytest.mark.parametrize("dataset", ["locomo", "longmemeval-s", "convomem", "persona-json"])
def test_an_odd_dataset(invoke: Invoke, tmp_path: Path, make: Make, dataset: str) -> None:
    path = tmp_path / "data.json"
    make(path)

    shown = invoke("eval", "--dataset", dataset, "--data", path, "--adapter", "bm25")

    assert shown.code in (2, 3), shown.err
    assert "data.json" in shown.err


@ODD
@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        ("membench-first", "FirstAgent/a.json"),
        ("memoryarena", "progressive_search/data.jsonl"),
        ("personamem-32k", "questions_32k.csv"),
    ],
)
def test_an_odd_file_of_a_folder(
    invoke: Invoke, tmp_path: Path, make: Make, dataset: str, name: str
) -> None:
    path = tmp_path / "data" / name
    path.parent.mkdir(parents=True)
    make(path)

    shown = invoke("eval", "--dataset", dataset, "--data", tmp_path / "data", "--adapter", "bm25")

    assert shown.code in (2, 3), shown.err
    assert shown.err.count("\n") == 1


@ODD
def test_an_odd_day(invoke: Invoke, data: Path, make: Make) -> None:
    day = data / "gardener" / "memories-10d" / "day-0004.md"
    day.unlink()
    make(day)

    shown = invoke("run", "--data", data, "--adapter", "bm25", "--ranges", "5d", "--into", "r")

    assert shown.code == (0 if make in (deep, deep_object) else 3), shown.err


@ODD
@pytest.mark.parametrize("name", ["result.json", "questions.jsonl", "progress.jsonl"])
def test_an_odd_file_to_import(invoke: Invoke, tmp_path: Path, make: Make, name: str) -> None:
    make(tmp_path / name)

    shown = invoke("import", tmp_path / name, "--into", "r")

    assert shown.code in (2, 3), shown.err
    assert name in shown.err


@ODD
@pytest.mark.parametrize("command", ["report", "gate", "export", "compare", "rejudge", "heatmap"])
def test_an_odd_journal(invoke: Invoke, tmp_path: Path, make: Make, command: str) -> None:
    (tmp_path / "r").mkdir()
    make(tmp_path / "r" / "journal.jsonl")
    folders = ["r", "r"] if command == "compare" else ["r"]

    shown = invoke(command, *folders)

    assert shown.code in (2, 3, 12), shown.err
    assert shown.err


@ODD
def test_an_odd_journal_to_go_on_with(
    invoke: Invoke, data: Path, tmp_path: Path, make: Make
) -> None:
    (tmp_path / "r").mkdir()
    make(tmp_path / "r" / "journal.jsonl")

    shown = invoke("run", "--data", data, "--adapter", "bm25", "--ranges", "5d", "--into", "r")

    assert shown.code in (2, 3), shown.err


@ODD
@pytest.mark.parametrize("flag", ["--profile"])
def test_an_odd_profile(invoke: Invoke, data: Path, tmp_path: Path, make: Make, flag: str) -> None:
    make(tmp_path / "p.yaml")

    shown = invoke("run", "--data", data, flag, tmp_path / "p.yaml")

    assert shown.code in (2, 3), shown.err
    assert "p.yaml" in shown.err


@ODD
def test_an_odd_matrix(invoke: Invoke, tmp_path: Path, make: Make) -> None:
    make(tmp_path / "m.yaml")

    shown = invoke("matrix", tmp_path / "m.yaml")

    assert shown.code in (2, 3), shown.err
    assert "m.yaml" in shown.err


@pytest.mark.parametrize("command", ["report", "export", "gate", "heatmap"])
def test_a_deep_line_in_a_whole_journal(invoke: Invoke, data: Path, command: str) -> None:
    invoke("run", "--data", data, "--adapter", "bm25", "--ranges", "2d", "--into", "r")
    path, chain = Path("r/journal.jsonl"), LineChain()
    lines = [split_link(line)[0] for line in path.read_bytes().splitlines()]
    nested = b'"tool_calls":[{"a":' + b"[" * 9000 + b"]" * 9000 + b"}],"
    place = next(n for n, line in enumerate(lines) if line.startswith(b'{"type":"answered"'))
    lines[place] = lines[place].replace(b'"answer":{', b'"answer":{' + nested, 1)
    path.write_bytes(b"".join(chain.add(line) + b"\n" for line in lines))

    shown = invoke(command, "r")

    assert shown.code == 3, shown.err
    assert "nested too deeply" in shown.err


@pytest.mark.parametrize("section", ["run", "models", "persona"])
@pytest.mark.parametrize("value", ["5", "x", "[1]", "true"])
def test_a_section_of_a_matrix_that_is_no_mapping(
    invoke: Invoke, tmp_path: Path, section: str, value: str
) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(f"{section}: {value}\nsystems:\n  - adapter: bm25\n")

    shown = invoke("matrix", path)

    assert shown.code in (2, 3), shown.err
    assert f"m.yaml, line 1: {section}: " in shown.err
    assert "is not a mapping of settings" in shown.err


def test_a_gzip_file_that_unpacks_to_too_much(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_bench.core.untrusted_json.UNPACKED_ALWAYS", 1000)
    path = tmp_path / "data.json.gz"
    path.write_bytes(gzip.compress(b"[" + b" " * 1_000_000 + b"]"))

    shown = invoke("eval", "--dataset", "locomo", "--data", path, "--adapter", "bm25")

    assert shown.code == 3, shown.err
    assert "it unpacks to more than" in shown.err
