"""A small world to test with: a bakery of sixty days."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recall_bench.core.yaml12 import load_yaml
from recall_bench.generate.world.build import build_folder
from recall_bench.generate.world.sources import WorldOptions, WorldSources, read_sources

BAKERY = Path(__file__).parent / "bakery"


@pytest.fixture(scope="session")
def bakery() -> WorldSources:
    """The sources."""
    return read_sources(BAKERY, "arcs-60d.yaml")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, bakery: WorldSources) -> Callable[..., Path]:
    """Plays the bakery with the knobs given; each setting is played once."""
    done: dict[WorldOptions, Path] = {}

    def play(**knobs: float) -> Path:
        settings = msgspec.convert({"days": 60} | knobs, WorldOptions)
        if settings not in done:
            done[settings] = build_folder(bakery, settings, tmp_path_factory.mktemp("world"))
        return done[settings]

    return play


def questions(folder: Path) -> list[dict[str, Any]]:
    """What a built folder asks."""
    (path,) = folder.glob("qa-*/questions.yaml")
    return msgspec.convert(load_yaml(path), list[dict[str, Any]])


def days(folder: Path) -> dict[int, str]:
    """The text of each day."""
    found = sorted(folder.glob("memories-*/day-*.md"))
    return {int(path.stem[4:]): path.read_text(encoding="utf-8") for path in found}
