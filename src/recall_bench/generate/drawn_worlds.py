"""The cache of stories that were drawn from seeds: used for a while, then removed.

A fresh seed is drawn for one run, so its stories would pile up. Drawing a new story removes
those that were not used for a month, and the longest unused if there are many. A story that was
used within a day stays: a process may be reading it.
"""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from recall_bench.core.cache_folder import make_cache_folder

if TYPE_CHECKING:
    from filelock import BaseFileLock

KEPT_DAYS = 30
KEPT_WORLDS = 100
"""A story of 1,000 days has seven megabytes."""
_PREFIX = "drawn-"
_REMOVED = ".removed-"
_DAY_S = 86_400


def locate_world(worlds: Path, digest: str) -> Path:
    """The folder of the story whose seed, name and generator have this digest."""
    return worlds / f"{_PREFIX}{digest[:16]}"


def lock_world(world: Path) -> "BaseFileLock":
    """The lock for drawing a story or removing it; it lies outside of what is removed."""
    from filelock import FileLock

    locks = world.parent / ".locks"
    make_cache_folder(locks)
    return FileLock(locks / f"{world.name.removeprefix(_PREFIX)[:2]}.lock")


def mark_use(world: Path) -> None:
    """Note that a story is used now."""
    with suppress(OSError):
        os.utime(world)


def sweep_worlds(worlds: Path) -> None:
    """Remove the stories that were not used for a month, and the longest unused of too many."""
    from filelock import Timeout

    now = time.time()
    found = sorted(
        ((used, path) for path in worlds.glob(f"{_PREFIX}*") if (used := _read_use(path))),
        reverse=True,
    )
    for number, (used, path) in enumerate(found):
        limit_days = KEPT_DAYS if number < KEPT_WORLDS else 1
        if now - used <= limit_days * _DAY_S:
            continue
        with suppress(Timeout), lock_world(path).acquire(timeout=0):
            # Another process may have used it since.
            if _read_use(path) == used:
                _remove(path)
    for left in worlds.glob(f"{_REMOVED}*"):
        shutil.rmtree(left, ignore_errors=True)


def _read_use(world: Path) -> float:
    """When a story was last used; 0 if it is gone."""
    try:
        return world.stat().st_mtime
    except OSError:
        return 0.0


def _remove(world: Path) -> None:
    """Rename first: a story that is removed in part would look like a damaged one."""
    aside = world.with_name(f"{_REMOVED}{token_hex(8)}")
    with suppress(OSError):
        world.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
