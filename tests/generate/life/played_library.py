"""The library of tools, a small life edition: played once for all tests, or by days alone."""

from pathlib import Path

import pytest

from recall_bench.generate.life.build import write_life
from recall_bench.generate.life.edition import LifeEdition, play_life, rename_life
from recall_bench.generate.life.simulation import LifeSimulation
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.written.sources import WrittenDay
from tests.generate.world.built_bakery import LIBRARY, build_once


def draw_library(seed: int) -> LifeEdition:
    """Play 200 days of the library; `conftest.py` lets all processes share what is played."""
    return play_life(read_life(LIBRARY), seed)


def play_library(seed: int = 0) -> LifeEdition:
    """The library of a seed as it was played; not to be changed."""
    return draw_library(seed)


def build_library(factory: pytest.TempPathFactory) -> Path:
    """Write the folder of the library, not to be changed."""

    def build(out: Path) -> Path:
        out.mkdir()
        folder = out / LIBRARY.parent.name
        write_life(play_library(), folder)
        return folder

    return build_once(factory, LIBRARY.parent.name, build)


def play_days(folder: Path, seed: int = 0) -> tuple[LifeSimulation, tuple[WrittenDay, ...]]:
    """Play the days of an edition whose questions a test does not need."""
    play = LifeSimulation(rename_life(read_life(folder), seed), seed)
    return play, play.play()
