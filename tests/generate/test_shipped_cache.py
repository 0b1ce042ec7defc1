"""A shipped persona is played once, kept in the cache, and used only if its bytes are right."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree

import pytest

from recall_bench.core.cache_folder import find_cache_folder
from recall_bench.core.errors import CorpusMismatch, UsageError
from recall_bench.core.plan import DrawnStory
from recall_bench.generate import shipped_personas
from recall_bench.generate.shipped_personas import (
    ShippedCorpus,
    digest_folder,
    load_catalogue,
    materialise,
    materialise_drawn,
    write_catalogue,
)
from recall_bench.generate.world.build import build_folder
from recall_bench.generate.world.sources import WorldOptions, read_sources
from recall_bench.generate.world_seeds import WorldSeed
from tests.forked_processes import PROCESSES
from tests.generate.world.built_bakery import BAKERY


class Plays:
    """Counts how often something had to be played."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int]] = []
        self.days: list[int] = []

    @contextmanager
    def __call__(self, persona: str, days: int) -> Iterator[Callable[[int], None]]:
        self.begun.append((persona, days))
        yield self.days.append


DAYS = 12
STORY = f"arcs-{DAYS}d.yaml"
"""The bakery's story by another name, which says how long it is played."""


def copy_sources(folder: Path) -> Path:
    copied = Path(copytree(BAKERY, folder))
    (copied / "arcs-60d.yaml").rename(copied / STORY)
    return copied


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the bakery's bytes come to."""
    folder = tmp_path_factory.mktemp("digest")
    sources = read_sources(copy_sources(folder / "bakery"), STORY)
    return digest_folder(build_folder(sources, WorldOptions(days=DAYS), folder / "built"))


@pytest.fixture
def plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: str) -> Plays:
    """A package that ships the bakery, and an empty cache."""
    sources = tmp_path / "personas"
    copy_sources(sources / "bakery")
    monkeypatch.setattr(shipped_personas, "SOURCES", sources)
    monkeypatch.setattr(shipped_personas, "_CATALOGUE", sources / "catalogue.json")
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    corpus = ShippedCorpus(digest=digest, days=12, questions=20)
    write_catalogue({"bakery": {STORY: corpus}})
    return Plays()


@pytest.fixture(autouse=True)
def _forget_the_catalogue() -> Iterator[None]:
    yield
    shipped_personas._read_catalogue.cache_clear()


def test_the_first_use_plays_and_the_second_finds(plays: Plays, digest: str) -> None:
    first = materialise("bakery", None, plays)
    second = materialise("bakery", STORY, plays)

    assert first == second
    assert digest_folder(first) == digest
    assert plays.begun == [("bakery", DAYS)]
    assert plays.days[-1] == DAYS


def test_a_damaged_copy_is_played_again(plays: Plays, digest: str) -> None:
    folder = materialise("bakery", None, plays)
    (folder / f"memories-{DAYS}d" / "day-0001.md").write_text("Nothing happened.")

    again = materialise("bakery", None, plays)

    assert digest_folder(again) == digest
    assert len(plays.begun) == 2


def test_a_play_that_is_not_the_released_one_is_refused(plays: Plays) -> None:
    wrong = ShippedCorpus(digest="0" * 64, days=12, questions=20)
    write_catalogue({"bakery": {STORY: wrong}})

    with pytest.raises(CorpusMismatch, match="would not compare"):
        materialise("bakery", None, plays)

    assert not list(find_cache_folder().glob("worlds/*/bakery"))


def test_a_story_that_does_not_exist_is_named(plays: Plays) -> None:
    with pytest.raises(UsageError, match=r"no arcs-9d\.yaml; it has arcs-12d\.yaml"):
        materialise("bakery", "arcs-9d.yaml", plays)


def _materialise(sources: Path, marks: Path, die_on_day: int | None = None) -> None:
    """In a process of its own: the package ships what lies in `sources`."""
    setattr(shipped_personas, "SOURCES", sources)  # noqa: B010 - mypy forbids plain assignment
    setattr(shipped_personas, "_CATALOGUE", sources / "catalogue.json")  # noqa: B010 - as above

    @contextmanager
    def playing(persona: str, days: int) -> Iterator[Callable[[int], None]]:
        (marks / str(os.getpid())).touch()

        def on(day: int) -> None:
            if day == die_on_day:
                os.kill(os.getpid(), signal.SIGKILL)

        yield on

    folder = materialise("bakery", None, playing)
    assert digest_folder(folder) == load_catalogue()["bakery"][STORY].digest


def test_workers_that_start_at_once_on_an_empty_cache_play_once(
    plays: Plays, tmp_path: Path, digest: str
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    workers = [
        PROCESSES.Process(target=_materialise, args=(shipped_personas.SOURCES, marks))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert [worker.exitcode for worker in workers] == [0] * 4
    assert len(list(marks.iterdir())) == 1, "the others waited for the first"
    assert digest_folder(materialise("bakery", None, plays)) == digest
    assert plays.begun == []


def test_a_worker_killed_while_it_plays_leaves_nothing_broken(
    plays: Plays, tmp_path: Path, digest: str
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    worker = PROCESSES.Process(
        target=_materialise, args=(shipped_personas.SOURCES, marks, DAYS // 2)
    )
    worker.start()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
    assert list(find_cache_folder().rglob(".bakery.*.part")), "it died half-way"

    folder = materialise("bakery", None, plays)

    assert digest_folder(folder) == digest
    assert not list(find_cache_folder().rglob(".bakery.*.part"))
    assert len(plays.begun) == 1


def test_a_cache_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "file" / "cache"))

    with pytest.raises(UsageError, match="set RECALL_BENCH_CACHE"):
        materialise("er-physician", None)
    story = DrawnStory(persona="er-physician", arcs="arcs-1000d.yaml", edition=1)
    with pytest.raises(UsageError, match="set RECALL_BENCH_CACHE"):
        materialise_drawn(story, WorldSeed(3))
