"""`create-persona --model offline`: whole or not at all, and nobody's work is destroyed."""

import re
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import DataError, UsageError
from recall_bench.features.personas.creation.offline_persona import create_offline
from recall_bench.features.personas.creation.story_rules import check_persona
from recall_bench.features.personas.pass_request import CreateRequest
from recall_bench.features.personas.pass_run import PassResult
from recall_bench.features.personas.simulator.world_files import open_world
from recall_bench.stories.persona_files import Layout
from recall_bench.stories.persona_story import read_persona, read_story
from recall_bench.stories.shipped import digest_folder

PROMPT = "An emergency doctor in a small town"


def create(folder: Path, **asked: Any) -> PassResult:
    request: dict[str, Any] = {"prompt": PROMPT, "days": 14} | asked
    return create_offline(CreateRequest(persona=folder, **request), lambda _: None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A persona that the world made; copied, never changed."""
    folder = tmp_path_factory.mktemp("offline") / "rosa"
    create(folder)
    return folder


@pytest.fixture
def rosa(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "rosa"))


def test_the_persona_is_called_after_its_folder(made: Path) -> None:
    persona, story = read_persona(made), read_story(made, "arcs-14d.yaml")

    assert persona.id == "rosa"
    assert check_persona(persona) == ()
    assert story.has_gaps
    assert story.last_day == 14
    assert persona.epoch == story.epoch
    assert {path.name for path in made.iterdir()} == {
        "arcs-14d.yaml",
        "persona.yaml",
        "world.json",
    }


def test_it_says_what_the_world_knows_and_takes(tmp_path: Path) -> None:
    said: list[str] = []

    create_offline(CreateRequest(persona=tmp_path / "ada", prompt=PROMPT, days=5), said.append)

    assert "6 trades: backend-eng-saas (software), er-physician (medicine)" in said[0]
    assert said[1].startswith("taking er-physician, as the prompt says 'doctor';")
    assert said[2:] == ["Wrote world.json", "Wrote arcs-5d.yaml", "Wrote persona.yaml"]


def test_the_same_words_make_the_same_persona(made: Path, tmp_path: Path) -> None:
    again = create(tmp_path / "rosa")

    assert (again.wanted, again.written, again.kept, again.exit_code) == (3, 3, 0, 0)
    assert digest_folder(tmp_path / "rosa") == digest_folder(made)


def test_another_seed_makes_another_persona(made: Path, tmp_path: Path) -> None:
    create(tmp_path / "rosa", seed=1)

    ours, other = read_persona(made), read_persona(tmp_path / "rosa")
    assert not {each.name for each in ours.cast[:5]} & {each.name for each in other.cast[:5]}


def test_once_more_changes_nothing(rosa: Path, made: Path) -> None:
    again = create(rosa)

    assert (again.written, again.kept) == (0, 3)
    assert digest_folder(rosa) == digest_folder(made)


def test_the_first_day_can_be_chosen(tmp_path: Path) -> None:
    create(tmp_path / "ada", epoch=date(2030, 6, 5))

    assert read_story(tmp_path / "ada", "arcs-14d.yaml").epoch == date(2030, 6, 5)
    assert read_persona(tmp_path / "ada").epoch == date(2030, 6, 5)


def test_a_prompt_that_names_no_trade_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"none of the 6 offline trades.* choose one with --trade NAME"
    ):
        create(tmp_path / "ada", prompt="A chef who runs a restaurant")

    assert not (tmp_path / "ada").exists()


@pytest.mark.parametrize("prompt", ["", "A chef who runs a restaurant", "A lawyer"])
def test_a_trade_that_is_chosen_needs_no_prompt(prompt: str, tmp_path: Path) -> None:
    create(tmp_path / "ada", prompt=prompt, trade="er-physician", days=5)

    assert "emergency department" in read_persona(tmp_path / "ada").role


def test_a_trade_must_be_one_of_the_worlds(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no trade 'baker'; choose one of"):
        create(tmp_path / "ada", trade="baker")

    assert not (tmp_path / "ada").exists()


def test_another_story_has_the_trade_and_the_seed_it_had(rosa: Path) -> None:
    for asked in ({"trade": "er-physician"}, {"seed": 0}):
        with pytest.raises(UsageError, match="--arcs-only keeps the one that is there"):
            create(rosa, days=30, arcs_only=True, **asked)


def test_a_prompt_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--prompt"):
        create(tmp_path / "ada", prompt=" ")


class Death(BaseException):
    """A kill -9, as far as the files are concerned."""


def _die_after(patch: pytest.MonkeyPatch, steps: int) -> None:
    """Die before the next step on the disk, after so many of them."""
    left = iter(range(steps))

    def dying(act: Callable[..., Any]) -> Callable[..., Any]:
        def step(*parts: object, **options: object) -> object:
            if next(left, None) is None:
                raise Death
            return act(*parts, **options)

        return step

    for owner, name in ((Path, "rename"), (Path, "replace"), (shutil, "rmtree")):
        patch.setattr(owner, name, dying(getattr(owner, name)))


def _deaths(folder: Path, patch: pytest.MonkeyPatch, **asked: Any) -> Iterator[int]:
    """Dies at one step after the other, until the command comes through."""
    for steps in range(40):
        with patch.context() as patched:
            _die_after(patched, steps)
            try:
                create(folder, **asked)
            except Death:
                pass
            else:
                return
        yield steps
    pytest.fail("it never came through")


def test_a_death_at_any_step_is_made_good(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, steps = tmp_path / "rosa", 0

    for steps in _deaths(folder, monkeypatch):  # noqa: B007 - how many is of interest
        assert not (folder / "persona.yaml").exists()
        create(folder)
        assert digest_folder(folder) == digest_folder(made)
        shutil.rmtree(folder)

    assert steps >= 2


def test_a_death_while_overwriting_is_made_good(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "rosa"
    asked = {"prompt": "A lawyer", "overwrite": True}
    create(folder, prompt="A lawyer")
    wanted = digest_folder(folder)
    shutil.rmtree(folder)
    shutil.copytree(made, folder)

    for _ in _deaths(folder, monkeypatch, **asked):
        create(folder, **asked)
        assert digest_folder(folder) == wanted
        shutil.rmtree(folder)
        shutil.copytree(made, folder)


@pytest.mark.parametrize("name", ["persona.yaml", "arcs-14d.yaml", "world.json"])
def test_files_from_another_source_are_rejected(name: str, tmp_path: Path) -> None:
    path = tmp_path / "ada" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine: true\n")

    with pytest.raises(UsageError, match=rf"{path.parts[-2]}.* exists and (is|was) not"):
        create(tmp_path / "ada")

    assert [each for each in (tmp_path / "ada").rglob("*") if each.is_file()] == [path]


def test_a_broken_recipe_can_be_overwritten(rosa: Path, made: Path) -> None:
    (rosa / "world.json").write_text("{")

    create(rosa, overwrite=True)

    assert digest_folder(rosa) == digest_folder(made)


def test_another_description_is_refused_and_overwrites_only_on_request(rosa: Path) -> None:
    before = digest_folder(rosa)
    with pytest.raises(UsageError, match="--overwrite"):
        create(rosa, prompt="A lawyer")
    assert digest_folder(rosa) == before
    (rosa / "memories-14d").mkdir()
    (rosa / "memories-14d" / "day-0001.md").write_text("Old.")

    found = create(rosa, prompt="A lawyer", overwrite=True)

    assert "attorney" in read_persona(rosa).role.lower() or "litig" in read_persona(rosa).role
    assert "holds days of the story that was there" in found.in_words
    assert (rosa / "memories-14d" / "day-0001.md").read_text() == "Old."


def test_another_story_is_about_the_same_people(rosa: Path) -> None:
    before = (rosa / "persona.yaml").read_bytes()

    found = create(rosa, prompt="", days=30, arcs_only=True)

    assert (found.wanted, found.written) == (1, 1)
    assert (rosa / "persona.yaml").read_bytes() == before
    for arcs, days in (("arcs-14d.yaml", 14), ("arcs-30d.yaml", 30)):
        world = open_world(Layout(rosa, arcs))
        assert world is not None
        assert world.options.days == days
    people = {member.name for member in read_persona(rosa).cast}
    story = read_story(rosa, "arcs-30d.yaml")
    assert {name for arc in story.arcs for name in arc.participants} <= people
    assert story.epoch == read_persona(rosa).epoch


def test_another_story_may_begin_on_another_day(rosa: Path) -> None:
    before = (rosa / "persona.yaml").read_bytes()

    create(rosa, prompt="", days=30, arcs_only=True, epoch=date(2040, 1, 1))

    assert read_story(rosa, "arcs-30d.yaml").epoch == date(2040, 1, 1)
    assert (rosa / "persona.yaml").read_bytes() == before
    assert open_world(Layout(rosa, "arcs-30d.yaml")) is not None
    assert open_world(Layout(rosa, "arcs-14d.yaml")) is not None


def test_another_story_needs_a_persona_of_the_world(tmp_path: Path, rosa: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "persona.yaml").write_text("id: ada\n")
    with pytest.raises(UsageError, match="the simulator did not make ada"):
        create(tmp_path / "ada", arcs_only=True)

    (rosa / "persona.yaml").write_text((rosa / "persona.yaml").read_text() + "role: Baker\n")
    with pytest.raises(DataError):
        create(rosa, days=30, arcs_only=True)


def test_another_story_does_not_fit_an_edited_persona(rosa: Path) -> None:
    path = rosa / "persona.yaml"
    path.write_text(path.read_text().replace("team_size: ", "team_size: 1"))

    with pytest.raises(UsageError, match=r"rosa/persona\.yaml was edited"):
        create(rosa, days=30, arcs_only=True)

    assert not (rosa / "arcs-30d.yaml").exists()


def test_a_broken_recipe_is_named(rosa: Path) -> None:
    (rosa / "world.json").write_text("{")

    with pytest.raises(DataError, match=r"world\.json"):
        open_world(Layout(rosa, "arcs-14d.yaml"))


def test_a_persona_of_another_simulator_is_not_continued(rosa: Path) -> None:
    recipe = rosa / "world.json"
    recipe.write_text(re.sub(r'"simulator": \d+', '"simulator": 0', recipe.read_text()))

    with pytest.raises(UsageError, match="another release made this persona"):
        open_world(Layout(rosa, "arcs-14d.yaml"))
