"""The first weeks of one seed are drawn once for all test processes.

A suite or an examination draws them from a whole edition, which takes a while.
"""

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from recall_bench.generate import worlds
from recall_bench.generate.behaviour.story_writer import Background
from recall_bench.generate.world_seeds import WorldSeed

T = TypeVar("T")


def share_short_stories(folder: Path) -> None:
    """Let stories and backgrounds be looked for in this folder first, and left there if drawn."""
    vars(worlds)["draw_short_story"] = share_draws(folder / "stories", worlds.draw_short_story)
    shared = staticmethod(share_draws(folder / "backgrounds", Background.draw))
    Background.draw = shared  # type: ignore[assignment]


def share_draws(folder: Path, draw: Callable[..., T]) -> Callable[..., T]:
    """Draw for each seed once, in the first process that asks for it."""
    folder.mkdir(parents=True, exist_ok=True)

    def find_or_draw(seed: WorldSeed | int) -> T:
        name = seed.hex if isinstance(seed, WorldSeed) else str(seed)
        path = folder / f"{name}.pickle"
        with FileLock(path.with_suffix(".lock")):
            if not path.exists():
                path.write_bytes(pickle.dumps(draw(seed)))
        found: T = pickle.loads(path.read_bytes())
        return found

    return cache(find_or_draw)
