"""A shipped life edition is built when it is released or asked for, and not before."""

import shutil
from pathlib import Path

import pytest

from recall_bench.generate import worlds
from recall_bench.generate.shipped_personas import ShippedCorpus
from tests.commands import Invoke

SOURCES = Path(__file__).parent / "tool-library"
ARCS = "arcs-200d.yaml"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that ships the tool library, as a first edition only."""
    shutil.copytree(SOURCES, tmp_path / "tool-library")
    (tmp_path / "tool-library" / "routine.yaml").touch()
    monkeypatch.setattr(worlds, "SOURCES", tmp_path)
    monkeypatch.setattr(worlds, "load_catalogue", lambda: make_catalogue(edition=1))
    return tmp_path / "tool-library" / "life-200d"


def make_catalogue(edition: int) -> dict[str, dict[str, ShippedCorpus]]:
    corpus = ShippedCorpus(digest="0" * 64, days=138, questions=237, edition=edition)
    return {"tool-library": {ARCS: corpus}}


def test_an_edition_that_is_not_released_is_found_only_by_its_number(shipped: Path) -> None:
    assert worlds.find_life_story("tool-library", ARCS) is None
    assert worlds.find_life_story("tool-library", ARCS, 2) == shipped


def test_a_released_edition_is_the_newest(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "load_catalogue", lambda: make_catalogue(edition=2))

    assert worlds.find_life_story("tool-library", ARCS) == shipped


def test_the_command_builds_a_folder_and_checks_it(tmp_path: Path, invoke: Invoke) -> None:
    built = invoke(
        "world", "build", "--persona", str(SOURCES / "life-200d"), "--into", str(tmp_path)
    )
    checked = invoke("world", "check", str(tmp_path / "tool-library"))

    assert (built.code, checked.code) == (0, 0), built.err + checked.out
    assert "answers re-derived, 0 findings" in checked.out


def test_knobs_of_the_first_edition_are_refused(tmp_path: Path, invoke: Invoke) -> None:
    built = invoke(
        "world", "build", "--persona", str(SOURCES / "life-200d"), "--into", str(tmp_path),
        "--density", "2",
    )  # fmt: skip

    assert built.code == 2
    assert "--density: a life edition has no such knob" in built.err
