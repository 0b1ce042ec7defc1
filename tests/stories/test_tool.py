"""The authors' tool packs what it unpacked to the byte, and refuses what a run would refuse."""

import runpy
from collections.abc import Callable
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import pytest

from recall_bench.stories import shipped
from recall_bench.stories.shipped import load_catalogue, locate_pack, unpack_story

Tool = Callable[..., int]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The tool, in a checkout whose catalogue and packs may be changed."""
    copytree(shipped.PACKED, tmp_path / "packed")
    copy(shipped.CATALOGUE, tmp_path / "catalogue.json")
    monkeypatch.setattr(shipped, "PACKED", tmp_path / "packed")
    monkeypatch.setattr(shipped, "CATALOGUE", tmp_path / "catalogue.json")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    load_catalogue.cache_clear()
    main = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "stories.py"))["main"]
    yield lambda *words: main([str(word) for word in words])
    load_catalogue.cache_clear()


def test_a_story_that_nobody_changed_is_packed_as_it_was(tool: Tool) -> None:
    (story,) = load_catalogue()["bakery-de"].stories
    before = locate_pack("bakery-de", story).read_bytes(), shipped.CATALOGUE.read_bytes()

    assert tool("unpack", "bakery-de", "--into", "work") == 0
    assert tool("diff", "work/bakery-de") == 0
    assert tool("pack", "work/bakery-de") == 0

    assert (locate_pack("bakery-de", story).read_bytes(), shipped.CATALOGUE.read_bytes()) == before


def test_a_changed_story_becomes_an_edition_of_its_own(
    tool: Tool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool("unpack", "bakery-de", "--into", "work") == 0
    day = Path("work/bakery-de/memories-60d/day-0001.md")
    day.write_text(day.read_text(encoding="utf-8") + "Ein Satz mehr.\n", encoding="utf-8")

    assert tool("diff", "work/bakery-de") == 1
    assert "+Ein Satz mehr." in capsys.readouterr().out
    assert tool("pack", "work/bakery-de", "--edition", 3) == 0

    assert [story.edition for story in load_catalogue()["bakery-de"].stories] == [3, 2]
    assert unpack_story("bakery-de").joinpath(day.parent.name, day.name).read_bytes() == (
        day.read_bytes()
    )


def test_a_story_with_problems_is_not_packed(
    tool: Tool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool("unpack", "bakery-de", "--into", "work") == 0
    Path("work/bakery-de/qa-60d/questions.yaml").write_text("[]")

    assert tool("pack", "work/bakery-de") != 0
    assert tool("pack", "work/nobody") != 0
    assert tool("unpack", "bakery-de", "--into", "work") == 2

    assert "exists already" in capsys.readouterr().err
