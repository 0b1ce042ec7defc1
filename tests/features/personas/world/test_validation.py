"""What can be seen to be wrong with sources is said before they are played, with its place."""

from pathlib import Path
from shutil import copytree

import pytest

from recall_bench.core.errors import Malformed, UsageError
from recall_bench.features.personas.world.sources import WorldSources, read_sources
from recall_bench.features.personas.world.validation import find_source_problems
from tests.features.personas.world.built_bakery import BAKERY


def test_the_bakery_is_sound(bakery: WorldSources) -> None:
    assert find_source_problems(bakery) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("routine.yaml", "It comes to {loaves}, mostly", "So {loaves}, mostly", "without one of"),
        ("routine.yaml", "cue: [invoice reads], ", "", "has no cue"),
        ("routine.yaml", "session: bank", "session: bunk", "not declared"),
        ("routine.yaml", "over {@loaf} crumbs", "over {@cake} crumbs", "{@cake}, which nothing"),
        ("routine.yaml", "came up again over", "comes to {loaves} over", "an echo states loaves"),
        ("routine.yaml", 'heading: ["{name} gone"]', 'heading: ["{loaves} gone"]', "heading"),
        ("routine.yaml", "placed on {began}", "of {loaves}", "gives away loaves"),
        ("routine.yaml", 'choice: "@loaf"}', 'choice: "@cakes"}', "not a word list"),
        ("routine.yaml", "person: shop", "person: shops", "no one in the cast"),
        ("arcs-60d.yaml", "ripples:", "riples:", "unknown key"),
        ("arcs-60d.yaml", 'is: ["$18,400", "$17,900"]', 'is: "$18,400"', "changes 1 times"),
        ("arcs-60d.yaml", "day: 38", "day: 44", "is a day away"),
        ("arcs-60d.yaml", "day: 38", "day: 41", "outside the arc"),
        ("arcs-60d.yaml", "is: Kwame Asante", "is: Kwame", "not in the cast"),
        ("arcs-60d.yaml", "is: 6.5%", "is: cheap", "not a percent"),
        (
            "arcs-60d.yaml",
            "lit at dawn and",
            "lit at dawn, {fitter} will fit Deck Two, and",
            "more than once",
        ),
    ],
)
def test_a_fault_in_the_sources_is_named(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    folder = tmp_path / "bakery"
    copytree(BAKERY, folder)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")

    found = find_source_problems(read_sources(folder, "arcs-60d.yaml"))

    assert any(said in str(problem) and file in str(problem) for problem in found), found


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "bakery"
    copytree(BAKERY, folder)
    (folder / "voice.yaml").unlink()

    with pytest.raises(UsageError, match=r"no voice\.yaml"):
        read_sources(folder, "arcs-60d.yaml")


def test_an_unknown_key_is_reported_with_its_line(tmp_path: Path) -> None:
    folder = tmp_path / "bakery"
    copytree(BAKERY, folder)
    text = (folder / "routine.yaml").read_text(encoding="utf-8")
    (folder / "routine.yaml").write_text(text.replace("chance: 0.5", "chanse: 0.5"))

    with pytest.raises(Malformed, match=r"routine\.yaml, line \d+.*chanse"):
        read_sources(folder, "arcs-60d.yaml")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("persona.yaml", "week: [normal, busy", "week: [bussy, busy"),
        ("persona.yaml", "week: [normal, ", "week: ["),
        ("persona.yaml", "dates: day-first", "dates: day_first"),
        ("arcs-60d.yaml", "away: [[43, 45]]", "away: [[43]]"),
        ("routine.yaml", "category: group-session-attribution", "category: group"),
    ],
)
def test_an_unknown_value_is_rejected_with_its_line(
    tmp_path: Path, file: str, old: str, new: str
) -> None:
    folder = tmp_path / "bakery"
    copytree(BAKERY, folder)
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")

    with pytest.raises(Malformed, match=rf"bakery/{file}, line \d+"):
        read_sources(folder, "arcs-60d.yaml")


def test_five_arcs_at_once_are_too_many(bakery: WorldSources, tmp_path: Path) -> None:
    folder = tmp_path / "bakery"
    copytree(BAKERY, folder)
    text = (folder / "arcs-60d.yaml").read_text(encoding="utf-8")
    head, _, arc = text.partition("arcs:\n")
    many = "".join(arc.replace("id: oven", f"id: oven-{n}") for n in range(5))
    (folder / "arcs-60d.yaml").write_text(f"{head}arcs:\n{many}", encoding="utf-8")

    found = find_source_problems(read_sources(folder, "arcs-60d.yaml"))

    assert any("5 arcs are active on day 1" in str(problem) for problem in found)
