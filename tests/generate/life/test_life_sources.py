"""The sources of a life edition are read and checked, and every fault is named with its line."""

import shutil
from pathlib import Path

import pytest

from recall_bench.core.errors import Malformed
from recall_bench.generate.life.checks import find_faults
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.life.sufficiency import find_shortages
from tests.commands import Invoke

SOURCES = Path(__file__).parent / "tool-library" / "life-200d"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the small edition that a test may break."""
    copy = tmp_path / "tool-library"
    shutil.copytree(SOURCES.parent, copy)
    return copy / SOURCES.name


def change(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def list_faults(folder: Path) -> list[str]:
    return [str(found) for found in find_faults(read_life(folder))]


def test_the_small_edition_has_no_fault(folder: Path) -> None:
    assert list_faults(folder) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("entities.yaml", "{value} [keeps|", "{holder} [keeps|", "{holder} names nothing here"),
        ("entities.yaml", "{value} [keeps|looks after] {it}.", "Somebody keeps {it}.", "{value}"),
        (
            "entities.yaml",
            "who: staff",
            "who: pilots",
            "no person of the cast is in the group pilots",
        ),
        ("entities.yaml", "[holds|takes|has", "[holds|takes|has[", "do not balance"),
        ("entities.yaml", "path: [fitter, contact]", "path: [fitter, pet]", "leads nowhere at pet"),
        ("entities.yaml", "session: board", "session: desk", "desk is not an isolated session"),
        ("entities.yaml", "count: 3", "count: 7", "5 names for 7 entities"),
        ("entities.yaml", "value: {person: staff}", "value: {unit: m}", "exactly one kind"),
        (
            "entities.yaml",
            "unit: people",
            "unit: log10 people",
            "the unit log10 people holds a dig",
        ),
        ("entities.yaml", "words: [crane]", 'words: [""]', "one plain word or more"),
        ("threads/all.yaml", "{room.keeper} [put", "{room.owner} [put", "a room has no owner"),
        ("threads/all.yaml", "{fault} in {room}.", "{fault} in {hall}.", "{hall} names nothing"),
        ("threads/all.yaml", "sets: {room.capacity", "sets: {room.rent", "in every variant"),
        ("threads/all.yaml", "brings: {review", "brings: {reviews", "which is not a process"),
        (
            "threads/all.yaml",
            "unless: [billed]",
            "unless: [paid]",
            "no earlier step",
        ),
        ("threads/all.yaml", "{did: billed", "{did: start", "start always happens"),
        ("talk.yaml", "[two|three|four] people", "4 people", "holds a digit"),
        ("talk.yaml", "{@member} [was", "{@guest} [was", "no list guest"),
        ("story.yaml", '"2024-01-01"', '"2024-01-02"', "not the date of a Monday"),
    ],
)
def test_a_fault_is_named_with_its_line(
    folder: Path, file: str, old: str, new: str, message: str
) -> None:
    change(folder, file, old, new)

    faults = list_faults(folder)

    assert any(message in fault and fault.startswith(f"{file}, line ") for fault in faults), faults


def test_an_unknown_key_is_refused_with_its_line(folder: Path) -> None:
    change(folder, "threads/all.yaml", "every: 12", "evry: 12")

    with pytest.raises(Malformed, match=r"threads/all\.yaml, line 1: .*evry"):
        read_life(folder)


def test_too_few_wordings_are_counted(folder: Path) -> None:
    shortages = [str(found) for found in find_shortages(read_life(folder))]

    assert "entities.yaml, line 18: 2 wordings of set; the format asks for 6 or more" in shortages


def test_the_command_prints_the_findings(folder: Path, invoke: Invoke) -> None:
    change(folder, "entities.yaml", "who: staff", "who: pilots")

    printed = invoke("world", "check", str(folder))

    assert printed.code == 3
    assert "no person of the cast is in the group pilots" in printed.out


def test_sources_that_are_being_written_can_be_checked(folder: Path) -> None:
    (folder / "talk.yaml").unlink()

    assert "talk.yaml: there is no topic in quiet" in list_faults(folder)
