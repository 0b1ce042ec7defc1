"""A shipped story is what was released, unpacked once, and used only while its bytes are right."""

import json
import subprocess
import sys
import tarfile
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from shutil import copy

import msgspec
import pytest

import recall_bench
from recall_bench.core.errors import CorpusMismatch, UsageError
from recall_bench.core.folders import find_cache_folder
from recall_bench.core.plan import Ingest
from recall_bench.stories import shipped
from recall_bench.stories.persona import inspect_persona
from recall_bench.stories.shipped import (
    SAMPLE,
    ShippedStory,
    digest_folder,
    load_catalogue,
    locate_pack,
    unpack_story,
)
from tests.forked_processes import PROCESSES
from tests.loops import loop_over
from tests.thoroughness import IS_EXHAUSTIVE

RELEASED = json.loads(Path(__file__).with_name("released.json").read_text(encoding="utf-8"))
"""The digest of each scenario as the first release loaded it, and of the folder it comes from."""
STORIES = {
    f"{persona.id} {story.arcs} {story.edition}": (persona.id, story)
    for persona in load_catalogue().values()
    for story in persona.stories
}
IN_FULL = [name for name in STORIES if IS_EXHAUSTIVE or "1000d" not in name]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_every_story_that_was_released_is_in_the_package() -> None:
    folders = {name: story.digest for name, (_, story) in STORIES.items()}

    assert folders == {name: digests["folder"] for name, digests in RELEASED.items()}
    assert all(locate_pack(persona, story).is_file() for persona, story in STORIES.values())


@pytest.mark.slow
@loop_over(IN_FULL)
def test_a_story_loads_as_it_was_released(name: str) -> None:
    persona, story = STORIES[name]

    scenario = recall_bench.load_story(persona, story.arcs, edition=story.edition)

    assert sha256(msgspec.json.encode(scenario)).hexdigest() == RELEASED[name]["scenario"]
    assert (len(scenario.episodes), len(scenario.items)) == (story.days, story.questions)


def test_the_usual_story_of_every_persona_opens() -> None:
    """A rule for questions that is new must let those pass that are published."""
    assert all(recall_bench.load_story(persona).items for persona in load_catalogue())


def test_a_story_has_its_dialogues() -> None:
    days = recall_bench.load_story("er-physician", ingest=Ingest.CONVERSATIONS)

    assert days.retold
    assert all(day.turns for day in days.retold)


def test_a_packed_story_has_no_problems() -> None:
    inspection = inspect_persona(unpack_story(SAMPLE), arcs="arcs-30d.yaml")

    assert (inspection.problems, inspection.warnings) == ([], [])


def test_no_part_of_the_simulator_is_loaded_for_a_shipped_story() -> None:
    code = (
        "import sys, recall_bench; recall_bench.load_story('harbour-office'); "
        "print([name for name in sys.modules if name.startswith('recall_bench.features.personas')])"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert shown.stdout.decode().strip() == "[]"


def test_the_usual_story_is_the_shortest_of_the_newest_edition() -> None:
    persona = load_catalogue()["er-physician"]

    assert persona.choose_story() == persona.choose_story("arcs-180d.yaml", 4)
    with pytest.raises(UsageError, match=r"no arcs-9d\.yaml; it has arcs-1000d\.yaml, arcs-180d"):
        persona.choose_story("arcs-9d.yaml")
    with pytest.raises(UsageError, match="has no edition 1"):
        load_catalogue()["bakery-de"].choose_story(edition=1)


@pytest.mark.usefixtures("cache")
def test_a_damaged_copy_is_unpacked_again() -> None:
    day = unpack_story(SAMPLE) / "memories-30d" / "day-0001.md"
    before = day.read_bytes()
    day.write_text("Nothing happened.")

    assert unpack_story(SAMPLE) == day.parents[1]
    assert day.read_bytes() == before


@pytest.mark.usefixtures("cache")
def test_an_archive_that_is_not_the_released_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (story,) = load_catalogue()[SAMPLE].stories
    other = locate_pack("bakery-de", load_catalogue()["bakery-de"].stories[0])
    monkeypatch.setattr(shipped, "PACKED", tmp_path)
    copy(other, locate_pack(SAMPLE, story))

    with pytest.raises(CorpusMismatch, match="would not compare"):
        unpack_story(SAMPLE)
    locate_pack(SAMPLE, story).write_bytes(other.read_bytes()[:1000])
    with pytest.raises(CorpusMismatch, match="reinstall the package"):
        unpack_story(SAMPLE)

    assert [path for path in find_cache_folder().rglob("*") if path.suffix != ".lock"] == [
        find_cache_folder() / "worlds",
        find_cache_folder() / "worlds" / story.digest[:16],
    ]


@pytest.mark.usefixtures("cache")
def test_an_archive_writes_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (story,) = load_catalogue()[SAMPLE].stories
    monkeypatch.setattr(shipped, "PACKED", tmp_path)
    with tarfile.open(locate_pack(SAMPLE, story), "w:xz") as archive:
        archive.addfile(tarfile.TarInfo("../../../../escaped.md"), BytesIO())

    with pytest.raises(CorpusMismatch, match="cannot be unpacked"):
        unpack_story(SAMPLE)

    assert not list(tmp_path.rglob("escaped.md"))


def _unpack_and_compare(story: ShippedStory) -> None:
    assert digest_folder(unpack_story("bakery-de")) == story.digest


@pytest.mark.usefixtures("cache")
def test_processes_that_start_at_once_on_an_empty_cache_share_one_copy() -> None:
    (story,) = load_catalogue()["bakery-de"].stories
    workers = [PROCESSES.Process(target=_unpack_and_compare, args=(story,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert [worker.exitcode for worker in workers] == [0] * 4
    assert not list(find_cache_folder().rglob("*.part"))


def test_a_cache_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "file" / "cache"))

    with pytest.raises(UsageError, match="set RECALL_BENCH_CACHE"):
        unpack_story(SAMPLE)


def test_a_story_of_a_folder_is_loaded_by_the_same_function(tmp_path: Path) -> None:
    folder = unpack_story(SAMPLE)

    assert recall_bench.load_story(SAMPLE, data=folder.parent) == recall_bench.load_story(SAMPLE)
    with pytest.raises(UsageError, match="did you mean 'harbour-office'"):
        recall_bench.load_story("harbor-office")
    with pytest.raises(UsageError, match="holds no persona"):
        recall_bench.load_story(SAMPLE, data=tmp_path)
