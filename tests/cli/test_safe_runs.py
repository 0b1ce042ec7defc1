"""A run spends nothing and overwrites nothing unless it is meant to."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_bench.cli.console import Duration
from tests.commands import Invoke
from tests.loops import loop_over_rows


def test_a_plan_asks_nothing_and_writes_nothing(
    invoke: Invoke, data: Path, adapter: Callable[..., Path]
) -> None:
    place = adapter(query="open('asked', 'w').close(); return {'text': 'x'}")
    planned = invoke("plan", "-a", place, "-d", data, "-o", "r")

    assert planned.code == 0, planned.err
    assert not Path("asked").exists()
    assert not Path("r").exists()


def test_the_profile_of_the_folder_is_found_and_said(invoke: Invoke, data: Path) -> None:
    Path("recall-bench.yaml").write_text(f"harness:\n  adapter: bm25\nrun:\n  data: {data}\n")
    found = invoke("run", "-o", "a", "--json")
    Path("other.yaml").write_text(f"harness:\n  adapter: none\nrun:\n  data: {data}\n")
    named = invoke("run", "-f", "other.yaml", "-o", "b", "--json")

    assert json.loads(found.out)["adapterName"] == "bm25"
    assert "note: settings from recall-bench.yaml in this folder\n" in found.err
    assert json.loads(named.out)["adapterName"] == "none"
    assert "recall-bench.yaml" not in named.err


def test_a_folder_with_files_of_others_is_refused(invoke: Invoke, data: Path) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("text")
    shown = invoke("run", "-a", "bm25", "-d", data, "-o", "mine")

    assert shown.code == 2
    assert "thesis.tex" in shown.err
    assert [path.name for path in Path("mine").iterdir()] == ["thesis.tex"]


def test_a_result_of_somebody_else_is_not_overwritten(invoke: Invoke, data: Path) -> None:
    Path("mine").mkdir()
    Path("mine/result.json").write_text("{}")
    shown = invoke("run", "-a", "bm25", "-d", data, "-o", "mine")

    assert shown.code == 2
    assert "result.json" in shown.err
    assert Path("mine/result.json").read_text() == "{}"


@pytest.mark.parametrize("name", ["result.json", "heatmap.svg", "report", "report/report.html"])
@pytest.mark.parametrize("command", [("run", "-a", "bm25", "-o"), ("report",), ("heatmap",)])
def test_no_link_in_a_run_folder_is_followed(
    invoke: Invoke, data: Path, command: tuple[str, ...], name: str
) -> None:
    run = ("run", "-a", "bm25", "-d", data, "-o", "mine", "--page")
    assert invoke(*run).code == 0
    place, other = Path("mine", name), Path("other").absolute()
    if place.is_dir():
        shutil.rmtree(place)
        other.mkdir()
    else:
        place.unlink()
        other.write_text("theirs")
    place.symlink_to(other)
    shown = invoke(*command, "mine", *(("-d", data) if command[0] == "run" else ()))

    assert shown.code == 2
    assert str(place) in shown.err
    assert list(other.iterdir()) == [] if other.is_dir() else other.read_text() == "theirs"


def test_an_empty_folder_and_ones_own_run_are_not_refused(invoke: Invoke, data: Path) -> None:
    Path("mine").mkdir()
    words = ("run", "-a", "bm25", "-d", data, "-o", "mine")

    assert invoke(*words).code == 0
    Path("mine/notes.txt").write_text("about this run")
    assert invoke(*words).code == 0


def test_a_report_is_not_written_among_files_of_others(invoke: Invoke, data: Path) -> None:
    invoke("run", "-a", "bm25", "-d", data, "-o", "r")
    Path("site").mkdir()
    Path("site/index.html").write_text("mine")
    refused = invoke("report", "r", "--data", data, "--into", "site")
    written = [invoke("report", "r", "--data", data, "--into", "page").code for _ in range(2)]

    assert refused.code == 2
    assert "index.html" in refused.err
    assert [path.name for path in Path("site").iterdir()] == ["index.html"]
    assert written == [0, 0]


@loop_over_rows(
    ("text", "milliseconds"), [("30s", 30_000), ("500ms", 500), ("2m", 120_000), ("700", 700)]
)
def test_time_limits_have_units_and_bare_numbers_stay_milliseconds(
    text: str, milliseconds: int
) -> None:
    assert Duration("ms").convert(text, None, None) == milliseconds
    assert Duration("s").convert("1.5", None, None) == Duration("s").convert("1500ms", None, None)


@pytest.mark.parametrize("text", ["soon", "-1s", "0", "5 years", "0.2ms"])
def test_what_is_no_time_is_refused(invoke: Invoke, text: str) -> None:
    shown = invoke("run", "--timeout", text)

    assert shown.code == 2
    assert "--timeout" in shown.err


def test_a_folder_after_to_still_works(invoke: Invoke, data: Path) -> None:
    invoke("run", "-a", "bm25", "-d", data, "-o", "r")

    for flag in ("--into", "--to"):
        assert invoke("export", "r", flag, f"x{flag}").code == 0
        assert Path(f"x{flag}/result.json").exists()
