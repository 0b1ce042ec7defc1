"""Stories are drawn from seeds by the simulator, and removed when they were not used for long."""

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import DrawnStory
from recall_bench.core.settings import Settings
from recall_bench.stories import drawn
from recall_bench.stories.drawn import (
    SIMULATED_EDITION,
    choose_drawn_stories,
    draw_story,
    find_drawn_story,
    locate_world,
    lock_world,
    mark_use,
    sweep_worlds,
)
from recall_bench.stories.persona import inspect_persona
from recall_bench.stories.seeds import WorldSeed
from recall_bench.stories.shipped import digest_folder
from tests.features.personas.simulator.built_bakery import find_unsupported

DAY_S = 86_400


def make_world(worlds: Path, digit: str, days_ago: float) -> Path:
    world = locate_world(worlds, digit * 64)
    (world / "persona").mkdir(parents=True)
    (world / "persona" / "day.md").write_text("Rain.")
    used = time.time() - days_ago * DAY_S
    os.utime(world, (used, used))
    return world


def list_worlds(worlds: Path) -> set[str]:
    return {path.name[-1] for path in worlds.iterdir() if path.name != ".locks"}


def test_what_was_not_used_for_a_week_goes(tmp_path: Path) -> None:
    make_world(tmp_path, "1", 8)
    make_world(tmp_path, "2", 6)
    (tmp_path / "0123456789abcdef").mkdir()

    sweep_worlds(tmp_path)

    assert list_worlds(tmp_path) == {"2", "f"}


def test_a_story_that_is_being_drawn_stays(tmp_path: Path) -> None:
    world = make_world(tmp_path, "1", 100)

    with lock_world(world):
        sweeping = Thread(target=sweep_worlds, args=(tmp_path,))
        sweeping.start()
        sweeping.join()

    assert list_worlds(tmp_path) == {"1"}


def test_a_use_keeps_a_story(tmp_path: Path) -> None:
    world = make_world(tmp_path, "1", 100)

    mark_use(world)
    sweep_worlds(tmp_path)

    assert (world / "persona" / "day.md").is_file()


def test_a_use_while_others_are_removed_keeps_a_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(tmp_path, "1", 100)

    def use_and_lock(path: Path) -> object:
        mark_use(path)
        return lock_world(path)

    monkeypatch.setattr(drawn, "lock_world", use_and_lock)
    sweep_worlds(tmp_path)

    assert world.is_dir()


def test_several_processes_may_remove_at_once(tmp_path: Path) -> None:
    for digit in "123456789":
        make_world(tmp_path, digit, 100)

    sweeping = [Thread(target=sweep_worlds, args=(tmp_path,)) for _ in range(4)]
    for each in sweeping:
        each.start()
    for each in sweeping:
        each.join()

    assert list_worlds(tmp_path) == set()


STORY = DrawnStory(persona="er-physician", arcs="arcs-21d.yaml", edition=SIMULATED_EDITION)


def test_a_story_is_drawn_once_and_again_if_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECALL_BENCH_CACHE", str(tmp_path / "cache"))
    begun: list[tuple[str, int]] = []

    def show(persona: str, days: int) -> AbstractContextManager[Callable[[int], None]]:
        begun.append((persona, days))
        return nullcontext(lambda _: None)

    folder = draw_story(STORY, WorldSeed(5), show)
    before = digest_folder(folder)
    assert draw_story(STORY, WorldSeed(5), show) == folder
    (folder / "memories-21d" / "day-0001.md").write_text("Nothing happened.")
    again = draw_story(STORY, WorldSeed(5), show)

    assert begun == [("er-physician", 21)] * 2
    assert digest_folder(again) == before
    assert find_drawn_story(STORY, WorldSeed(5).commitment) == folder
    assert find_drawn_story(STORY, WorldSeed(6).commitment) is None
    assert inspect_persona(folder, arcs=STORY.arcs).problems == []
    assert find_unsupported(folder) == []


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ({"personas": ("bakery-de",)}, "written by hand; name other --personas: backend-eng"),
        ({"personas": ("er-physician",), "edition": 2}, "leave --edition out"),
        ({"personas": ("er-physician",), "arcs": "arcs.yaml"}, "any length, named like"),
        ({"personas": ("er-physicain",)}, "did you mean 'er-physician'"),
        ({"data": Path()}, "draws shipped personas only"),
    ],
)
def test_what_no_seed_draws_is_named(chosen: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        choose_drawn_stories(Settings(**chosen))


def test_a_story_of_another_release_is_not_drawn_here() -> None:
    with pytest.raises(UsageError, match="install the version of recall-bench that drew it"):
        find_drawn_story(DrawnStory(persona="bakery-de", arcs="arcs-60d.yaml", edition=2), "c")
