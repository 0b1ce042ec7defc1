"""The library of tools, a small life edition, played once a process for all tests that read it."""

from functools import cache

from recall_bench.generate.life.edition import LifeEdition, play_life
from recall_bench.generate.life.sources import read_life
from tests.generate.world.built_bakery import LIBRARY


@cache
def play_library(seed: int = 0) -> LifeEdition:
    """Play 200 days of the library; not to be changed."""
    return play_life(read_life(LIBRARY), seed)
