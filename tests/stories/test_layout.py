"""A story's files are found by its suffix, and one that is missing is named with what there is."""

from pathlib import Path

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.stories.persona_files import (
    Layout,
    list_persona_ids,
    list_stories,
    name_story_folder,
)
from tests.loops import loop_over_rows
from tests.stories.persona_folder import plant


@loop_over_rows(
    ("arcs", "base", "folder"),
    [
        ("arcs-180d.yaml", "memories", "memories-180d"),
        ("arcs.yaml", "memories", "memories"),
        ("story.yaml", "memories", "memories"),
        ("arcs-pilot.yml", "qa", "qa-pilot"),
        ("arcs-a-b.yaml", "tools", "tools-a-b"),
        ("arcs-.yaml", "qa", "qa"),
        ("arcs-180d.yaml.bak", "qa", "qa"),
        ("my-arcs-180d.yaml", "qa", "qa"),
    ],
)
def test_a_sibling_has_the_suffix_of_the_arcs_file(arcs: str, base: str, folder: str) -> None:
    assert name_story_folder(arcs, base) == folder


def test_conversations_are_named_after_the_memories() -> None:
    assert Layout(Path("p"), "arcs-180d.yaml").conversations.name == "conversations-180d"
    assert Layout(Path("p"), "story.yaml").conversations.name == "conversations"


def test_a_persona_is_a_folder_with_a_persona_file(tmp_path: Path) -> None:
    for name in ("zed", "amy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "persona.yaml").touch()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "LICENSE").touch()

    assert list_persona_ids(tmp_path) == ("amy", "zed")


def test_no_data_folder_is_no_empty_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no data folder"):
        list_persona_ids(tmp_path / "gone")


def test_stories_are_the_arcs_files(tmp_path: Path) -> None:
    folder = plant(tmp_path)
    for name in ("arcs.yml", "arcs-6d.yaml.bak-1", "notes.yaml"):
        (folder / name).touch()

    assert list_stories(folder) == ("arcs-6d.yaml", "arcs.yml")


def test_a_complete_story_misses_nothing(tmp_path: Path) -> None:
    assert Layout(plant(tmp_path), "arcs-6d.yaml").find_missing() == []


def test_an_unknown_persona_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    plant(tmp_path)

    (problem,) = Layout(tmp_path / "orchard", "arcs-6d.yaml").find_missing()

    assert "no persona orchard" in str(problem)
    assert "there is nursery" in str(problem)


def test_an_unknown_story_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    (problem,) = Layout(plant(tmp_path), "arcs-9d.yaml").find_missing()

    assert str(problem) == (
        "nursery has no arcs-9d.yaml; it has arcs-6d.yaml: choose with --arcs arcs-6d.yaml"
    )


def test_a_story_without_days_and_questions_points_to_one_that_has_them(tmp_path: Path) -> None:
    folder = plant(tmp_path)
    (folder / "arcs-9d.yaml").touch()

    days, questions = Layout(folder, "arcs-9d.yaml").find_missing()

    assert str(days).startswith("nursery/memories-9d,")
    assert str(questions).startswith("nursery/qa-9d/questions.yaml,")
    assert str(days).endswith("or choose --arcs arcs-6d.yaml")


def test_every_missing_part_is_named_at_once(tmp_path: Path) -> None:
    folder = plant(tmp_path)
    (folder / "persona.yaml").unlink()
    (folder / "qa-6d" / "questions.yaml").unlink()

    problems = Layout(folder, "arcs-6d.yaml").find_missing()

    assert [str(problem).partition(" ")[0] for problem in problems] == [
        "nursery/persona.yaml",
        "nursery/qa-6d/questions.yaml,",
    ]


def test_a_folder_given_as_a_dot_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plant(tmp_path))

    assert Layout(Path(), "arcs-6d.yaml").id == "nursery"
