"""The library of tools, a small life edition: played once a process, or by days alone."""

from functools import cache
from pathlib import Path

from recall_bench.generate.life.edition import LifeEdition, play_life, rename_life
from recall_bench.generate.life.simulation import LifePlay
from recall_bench.generate.life.sources import read_life
from recall_bench.generate.written.sources import WrittenDay
from tests.generate.world.built_bakery import LIBRARY


@cache
def play_library(seed: int = 0) -> LifeEdition:
    """Play 200 days of the library; not to be changed."""
    return play_life(read_life(LIBRARY), seed)


def play_days(folder: Path, seed: int = 0) -> tuple[LifePlay, tuple[WrittenDay, ...]]:
    """Play the days of an edition whose questions a test does not need."""
    play = LifePlay(rename_life(read_life(folder), seed), seed)
    return play, play.play()
