"""The first weeks of one seed are drawn once for all test processes.

A suite or an examination draws them from a whole edition, which takes seconds.
"""

import pickle
from functools import cache
from pathlib import Path

from filelock import FileLock

from recall_bench.core.scenario import Scenario
from recall_bench.generate import worlds
from recall_bench.generate.world_seeds import WorldSeed


def share_short_stories(folder: Path) -> None:
    """Let `draw_short_story` look in this folder first, and leave there what it draws."""
    draw = worlds.draw_short_story

    def find_or_draw(seed: WorldSeed) -> Scenario:
        path = folder / f"{seed.hex}.pickle"
        with FileLock(path.with_suffix(".lock")):
            if not path.exists():
                path.write_bytes(pickle.dumps(draw(seed)))
        story: Scenario = pickle.loads(path.read_bytes())
        return story

    folder.mkdir(exist_ok=True)
    worlds.draw_short_story = cache(find_or_draw)
