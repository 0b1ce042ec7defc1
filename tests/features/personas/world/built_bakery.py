"""Worlds to test with, a bakery above all, each built once for all workers of a test run."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from filelock import FileLock

from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.personas.world.build import build_folder
from recall_bench.features.personas.world.sources import WorldOptions, read_sources
from recall_bench.features.personas.worlds import SOURCES
from recall_bench.stories.persona_files import DEFAULT_ARCS

BAKERY = Path(__file__).parent / "bakery"
STORY = "arcs-60d.yaml"
SHORT_ARCS = "arcs-120d.yaml"

Build = Callable[..., Path]


def build_bakery(factory: pytest.TempPathFactory, **options: float) -> Path:
    """Build the bakery with these options, not to be changed; 60 days unless given."""
    wanted = msgspec.convert({"days": 60} | options, WorldOptions)
    return _build_world(factory, BAKERY, STORY, wanted)


def build_short(factory: pytest.TempPathFactory, name: str) -> Path:
    """Build four months of a shipped persona with another seed than the one it ships with."""
    return _build_world(factory, SOURCES / name, DEFAULT_ARCS, WorldOptions(days=120, seed=7))


def _build_world(
    factory: pytest.TempPathFactory, sources: Path, arcs: str, options: WorldOptions
) -> Path:
    numbers = "-".join(f"{value:g}" for value in msgspec.structs.astuple(options))
    return build_once(
        factory,
        f"{sources.name}-{numbers}",
        lambda out: build_folder(read_sources(sources, arcs), options, out),
    )


def find_shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of a test run have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def build_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], Path]) -> Path:
    """Build into a folder of this name, or return what another worker or test built there."""
    out = find_shared_folder(factory) / "worlds" / name
    out.mkdir(parents=True, exist_ok=True)
    note = out / "built"
    with FileLock(out / "lock"):
        if not note.exists():
            note.write_text(build(out / "folder").name, encoding="utf-8")
    return out / "folder" / note.read_text(encoding="utf-8")


def read_questions(folder: Path) -> list[dict[str, Any]]:
    """The questions of a built folder."""
    (path,) = folder.glob("qa-*/questions.yaml")
    return msgspec.convert(load_yaml(path), list[dict[str, Any]])


def find_unsupported(folder: Path) -> list[str]:
    """The questions for stated values whose cited sentences do not hold them all."""
    days = read_days(folder)
    unsupported = []
    for question in read_questions(folder):
        spans = question["evidence"]
        cited = "\n".join(days[span["day"]][span["start"] : span["end"]] for span in spans)
        is_stated = all(atom in cited for atom in question.get("atoms", ()))
        if question["derive"]["op"] == "value" and not is_stated:
            unsupported.append(question["id"])
    return unsupported


def read_days(folder: Path) -> dict[int, str]:
    """The text of each day."""
    found = sorted(folder.glob("memories-*/day-*.md"))
    return {int(path.stem[4:]): path.read_text(encoding="utf-8") for path in found}
