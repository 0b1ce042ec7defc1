"""Fixtures of the bakery: its sources, and worlds built from them."""

from functools import partial

import pytest

from recall_bench.generate.world.sources import WorldSources, read_sources
from tests.generate.world.built_bakery import BAKERY, STORY, Build, build_bakery


@pytest.fixture(scope="session")
def bakery() -> WorldSources:
    """The sources."""
    return read_sources(BAKERY, STORY)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds the bakery with the options given, each once."""
    return partial(build_bakery, tmp_path_factory)
