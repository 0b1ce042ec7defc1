"""`generate --model offline`: the days of a world's story, as the world tells them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.features.personas.creation.offline_persona import create_offline
from recall_bench.features.personas.days.ledger_days import write_offline_days
from recall_bench.features.personas.pass_request import CreateRequest, DaysRequest
from recall_bench.features.personas.pass_run import PassResult
from recall_bench.features.personas.simulator.world import World
from recall_bench.features.personas.simulator.world_files import open_world, write_world
from recall_bench.stories.lint.lint_corpus import Severity
from recall_bench.stories.lint.lint_report import lint_story
from recall_bench.stories.persona_files import Layout
from recall_bench.stories.shipped import digest_folder
from tests.features.personas.simulator.built_bakery import find_unsupported

DAYS = 20
ARCS = f"arcs-{DAYS}d.yaml"


def nothing(_: str) -> None:
    """Nobody watches."""


def write(folder: Path, told: Callable[[str], None] = nothing, **asked: Any) -> PassResult:
    return write_offline_days(
        DaysRequest(persona=folder, resume_command="the same again", **asked), told
    )


def days(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("memories-*/*")}


def world_of(folder: Path) -> World:
    world = open_world(Layout(folder, ARCS))
    assert world is not None
    return world


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A persona without days; copied, never changed."""
    folder = tmp_path_factory.mktemp("offline") / "milo"
    request = CreateRequest(persona=folder, prompt="A scientist in a laboratory", days=DAYS)
    create_offline(request, nothing)
    return folder


@pytest.fixture(scope="module")
def told(created: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with all its days; never changed."""
    folder = Path(shutil.copytree(created, tmp_path_factory.mktemp("told") / "milo"))
    write(folder)
    return folder


@pytest.fixture
def milo(created: Path, tmp_path: Path) -> Path:
    """The persona without days, to be changed."""
    return Path(shutil.copytree(created, tmp_path / "milo"))


@pytest.fixture
def complete(told: Path, tmp_path: Path) -> Path:
    """The persona with all its days, to be changed."""
    return Path(shutil.copytree(told, tmp_path / "milo"))


def test_the_days_are_those_of_a_built_world(told: Path, tmp_path: Path) -> None:
    write_world(world_of(told), Layout(tmp_path / "milo", ARCS), lambda _: None)

    assert days(told) == days(tmp_path / "milo")
    assert (told / ARCS).read_bytes() == (tmp_path / "milo" / ARCS).read_bytes()


def test_its_questions_have_evidence_and_no_errors(told: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(told, tmp_path / "milo"))
    write_world(world_of(told), Layout(tmp_path / "built", ARCS), lambda _: None)
    shutil.copytree(tmp_path / "built" / f"qa-{DAYS}d", folder / f"qa-{DAYS}d")

    assert find_unsupported(folder) == []
    assert lint_story(folder, arcs=ARCS).count(Severity.ERROR) == 0


def test_progress_is_reported_for_every_day(milo: Path) -> None:
    said: list[str] = []

    found = write(milo, said.append)

    there = len(days(milo))
    assert (found.wanted, found.written, found.kept) == (there, there, 0)
    assert (found.exit_code, found.notes) == (0, ())
    assert said[0] == f"Generated day 1/{DAYS} (1 unique)"
    assert said[-1].endswith(f"({there} unique)")


def test_days_that_are_there_are_kept(milo: Path, told: Path) -> None:
    write(milo, days=6)
    write(milo, start=9, end=9)
    before = {path: path.stat().st_mtime_ns for path in milo.glob("memories-*/*")}
    said: list[str] = []

    found = write(milo, said.append)

    assert found.kept == len(before) > 5
    assert found.written == len(said) == found.wanted - found.kept
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert digest_folder(milo) == digest_folder(told)


@pytest.mark.parametrize("after", [1, 12])
def test_stopped_anywhere_it_goes_on(after: int, milo: Path, told: Path) -> None:
    said: list[str] = []

    def impatiently(line: str) -> None:
        said.append(line)
        if len(said) == after:
            raise KeyboardInterrupt

    stopped = write(milo, impatiently)

    assert stopped.exit_code == 130
    assert stopped.wanted > stopped.written
    assert "the same again" in stopped.in_words
    assert len(days(milo)) == after
    write(milo)
    assert digest_folder(milo) == digest_folder(told)


def test_an_edited_day_is_kept_and_listed(complete: Path, told: Path) -> None:
    milo = complete
    (milo / f"memories-{DAYS}d" / "day-0003.md").write_text("# session: principal\n\nMine.\n")

    kept = write(milo)
    assert "not as the simulator tells them: day 3" in kept.in_words
    assert kept.written == 0

    assert write(milo, overwrite=True).written == 1
    assert digest_folder(milo) == digest_folder(told)


def test_a_file_for_a_day_without_events_is_named(complete: Path) -> None:
    milo = complete
    told_days = world_of(milo).list_days()
    quiet = next(day for day in range(1, DAYS + 1) if day not in told_days)
    (milo / f"memories-{DAYS}d" / f"day-{quiet:04}.md").write_text("# session: principal\n\nHm.\n")

    assert f"nothing happens on day {quiet}" in write(milo).in_words


def test_a_persona_that_was_not_simulated_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "persona.yaml").write_text("id: ada\n")
    (tmp_path / "ada" / "arcs-9d.yaml").write_text("arcs: []\n")

    with pytest.raises(UsageError, match="offline can only write stories that the simulator made"):
        write(tmp_path / "ada")


@pytest.mark.parametrize(
    ("name", "old", "new", "key"),
    [
        (ARCS, "startDay: 1\n", "startDay: 2\n", "arcs"),
        ("persona.yaml", "isolated: true", "isolated: false", "sessions"),
    ],
)
def test_an_edited_story_is_no_longer_the_worlds(
    name: str, old: str, new: str, key: str, milo: Path
) -> None:
    path = milo / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(UsageError, match=rf"milo/{name} was edited: its {key}"):
        write(milo)

    assert not days(milo)


def test_keys_of_other_programs_are_no_edit(milo: Path, told: Path) -> None:
    for name in (ARCS, "persona.yaml"):
        with (milo / name).open("a", encoding="utf-8") as file:
            file.write("# A remark.\nourOwn: 5\n")

    write(milo)

    assert days(milo) == days(told)


def test_a_story_the_world_did_not_make_is_named(milo: Path) -> None:
    shutil.copy(milo / ARCS, milo / "arcs-7d.yaml")

    with pytest.raises(UsageError, match=r"did not make arcs-7d\.yaml"):
        write(milo, arcs="arcs-7d.yaml")
