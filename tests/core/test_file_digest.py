"""What a command line runs has a digest; the files that it reads and writes have no part in it."""

from pathlib import Path

import pytest

from recall_bench.core.folders import digest_program
from tests.loops import loop_over_rows


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("tool", "tool.py", "notes.log"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    return tmp_path


def digest(line: str, program: Path = Path("/usr/bin/python")) -> str | None:
    return digest_program(line.split(), program)


@pytest.mark.parametrize(
    "line",
    [
        "python tool.py",
        "python -u tool.py",
        "python tool.py notes.log",
        "python tool.py --log notes.log",
        "python --log notes.log tool.py",
    ],
)
def test_the_script_counts_and_not_what_it_writes(line: str, here: Path) -> None:
    first = digest(line)

    with (here / "notes.log").open("a", encoding="utf-8") as log:
        log.write("more")
    assert digest(line) == first is not None

    (here / "tool.py").write_text("changed", encoding="utf-8")
    assert digest(line) != first


@pytest.mark.parametrize("name", ["tool", "tool.EXE"])
def test_a_program_counts_if_it_is_named_by_its_folder(name: str, here: Path) -> None:
    (here / name).write_text("first", encoding="utf-8")
    first = digest("./tool", here / name)
    assert first is not None

    (here / name).write_text("other", encoding="utf-8")
    assert digest("./tool", here / name) != first


def test_what_two_files_hold_is_kept_apart(here: Path) -> None:
    first = digest("./tool tool.py", here / "tool")

    (here / "tool").write_text("toolto", encoding="utf-8")
    (here / "tool.py").write_text("ol.py", encoding="utf-8")

    assert digest("./tool tool.py", here / "tool") != first


@loop_over_rows("line", ["python", "python -c pass", "python -m mine", "python x\0y"])
def test_a_program_without_files_has_no_digest(line: str) -> None:
    assert digest(line) is None
