"""The short story of one seed is drawn once for all test processes: each takes seconds."""

import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from recall_bench.stories.seeds import WorldSeed

T = TypeVar("T")


def share_short_stories(folder: Path) -> None:
    """Let stories be looked for in this folder first, and left there if drawn."""
    # A feature that was taken out draws none.
    with suppress(ModuleNotFoundError):
        from recall_bench.features.personas import worlds

        vars(worlds)["draw_short_story"] = share_draws(folder / "stories", worlds.draw_short_story)


def share_draws(folder: Path, draw: Callable[..., T]) -> Callable[..., T]:
    """Draw for each seed once, in the first process that asks for it."""
    folder.mkdir(parents=True, exist_ok=True)

    def find_or_draw(seed: WorldSeed) -> T:
        path = folder / f"{seed.hex}.pickle"
        with FileLock(path.with_suffix(".lock")):
            if not path.exists():
                path.write_bytes(pickle.dumps(draw(seed)))
        found: T = pickle.loads(path.read_bytes())
        return found

    return cache(find_or_draw)
