"""Worlds to test with, a bakery above all, each built once for all workers of a test run."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from filelock import FileLock

from recall_bench.core.yaml12 import load_yaml
from recall_bench.features.personas.worlds import build_world

BAKERY = Path(__file__).parent / "bakery"
SHORT_ARCS = "arcs-120d.yaml"

Build = Callable[..., Path]


def build_bakery(factory: pytest.TempPathFactory, **options: Any) -> Path:
    """Build the bakery with these options, not to be changed; 60 days unless given."""
    return build_shared(factory, str(BAKERY), **({"days": 60} | options))


def build_short(factory: pytest.TempPathFactory, name: str) -> Path:
    """Build four months of a trade with a seed."""
    return build_shared(factory, name, days=120, seed=7)


def build_shared(factory: pytest.TempPathFactory, persona: str, **options: Any) -> Path:
    """Build a world once for all workers of a test run."""
    numbers = "-".join(f"{name}{value}" for name, value in sorted(options.items()))
    return build_once(
        factory,
        f"{Path(persona).name}-{numbers}",
        lambda out: build_world(persona, out, **options),
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
    paths = sorted(folder.glob("memories-*/day-*.md"))
    return {int(path.stem[4:]): path.read_text(encoding="utf-8") for path in paths}
