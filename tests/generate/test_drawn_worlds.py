"""Stories drawn from seeds are removed from the cache when they were not used for long."""

import os
import time
from pathlib import Path
from threading import Thread

import pytest

from recall_bench.generate import drawn_worlds
from recall_bench.generate.drawn_worlds import (
    locate_world,
    lock_world,
    mark_use,
    sweep_worlds,
)

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


def test_what_was_not_used_for_a_month_goes(tmp_path: Path) -> None:
    make_world(tmp_path, "1", 31)
    make_world(tmp_path, "2", 29)
    (tmp_path / "0123456789abcdef").mkdir()

    sweep_worlds(tmp_path)

    assert list_worlds(tmp_path) == {"2", "f"}


def test_of_many_the_longest_unused_go_but_none_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawn_worlds, "KEPT_WORLDS", 1)
    for digit, days_ago in (("1", 0.1), ("2", 0.5), ("3", 2), ("4", 3)):
        make_world(tmp_path, digit, days_ago)

    sweep_worlds(tmp_path)

    assert list_worlds(tmp_path) == {"1", "2"}


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

    monkeypatch.setattr(drawn_worlds, "lock_world", use_and_lock)
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
