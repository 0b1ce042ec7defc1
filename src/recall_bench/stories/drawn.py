"""Stories of shipped personas that the simulator draws from seeds, and their cache.

A fresh seed is drawn for one run, so its stories would pile up. Drawing a new story removes those
that were not used for a week.
"""

import os
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from recall_bench.core.errors import UsageError
from recall_bench.core.feature import require_part
from recall_bench.core.folders import find_cache_folder, make_cache_folder
from recall_bench.core.plan import DrawnStory
from recall_bench.core.settings import Settings
from recall_bench.stories import shipped
from recall_bench.stories.persona_files import DEFAULT_ARCS, parse_story_days
from recall_bench.stories.shipped import digest_folder, find_persona, load_catalogue

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from recall_bench.stories.seeds import WorldSeed

BuildProgress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Shows the simulation of a persona of that many days; yields a callback for each day."""

SIMULATED_EDITION = 3
"""The edition of stories that the simulator draws: another one for whatever changes a draw."""
FIRST_EDITION = 1
"""The first edition as released, of two of these trades."""
SHIPPED_SIMULATION = 2
"""The edition of the shipped 1,000 days that are simulated, of the trades that seeds draw."""
USUAL_ARCS = "arcs-180d.yaml"

KEPT_DAYS = 7
"""A story of 1,000 days has seven megabytes, and is drawn again in ten seconds."""
_PREFIX = "drawn-"
_REMOVED = ".removed-"
_DAY_S = 86_400


def show_nothing(_persona: str, _days: int) -> AbstractContextManager[Callable[[int], None]]:
    """Show nothing."""
    return nullcontext(lambda _: None)


def list_drawable() -> tuple[str, ...]:
    """The shipped personas that the simulator has sources of."""
    return tuple(
        name
        for name, persona in load_catalogue().items()
        if DEFAULT_ARCS in persona.list_stories(SHIPPED_SIMULATION)
    )


def choose_drawn_stories(settings: Settings) -> tuple[DrawnStory, ...]:
    """The shipped stories that the settings name, to be drawn from a seed."""
    if settings.data is not None:
        raise UsageError(
            "--world-seed: draws shipped personas only; leave --data out, or build your own "
            "sources with `recall-bench world build --seed`"
        )
    if settings.edition not in (None, SIMULATED_EDITION):
        raise UsageError(
            f"--edition: a seed draws stories of edition {SIMULATED_EDITION}; leave --edition out"
        )
    arcs = settings.arcs or USUAL_ARCS
    if not parse_story_days(arcs):
        raise UsageError(
            f"--arcs: a seed draws stories of any length, named like {USUAL_ARCS}, not {arcs}"
        )
    personas = tuple(dict.fromkeys(settings.personas or shipped.DEMO))
    drawable = list_drawable()
    for name in personas:
        if find_persona(name).id not in drawable:
            raise UsageError(
                f"--world-seed: {name} is written by hand; name other --personas: "
                f"{', '.join(drawable)}"
            )
    return tuple(
        DrawnStory(persona=name, arcs=arcs, edition=SIMULATED_EDITION) for name in personas
    )


def draw_story(story: DrawnStory, seed: "WorldSeed", building: BuildProgress | None = None) -> Path:
    """The folder of a shipped story drawn from a seed, simulated first if it is not cached."""
    folder = _locate_story(story, seed.commitment)
    if _is_intact(folder):
        return folder
    # The simulator is a feature of its own, which no run on stories as released loads.
    draw_folder = require_part("personas.draw_folder", "a story drawn from a seed")
    with lock_world(folder.parent):
        if not _is_intact(folder):
            make_cache_folder(folder.parent)
            shutil.rmtree(folder, ignore_errors=True)
            draw_folder(story, seed.value, folder.parent, building or show_nothing)
            _get_digest_file(folder).write_text(digest_folder(folder), encoding="ascii")
    sweep_worlds(folder.parent.parent)
    return folder


def find_drawn_story(story: DrawnStory, commitment: str) -> Path | None:
    """The folder of a story that was drawn here from the seed of this commitment."""
    folder = _locate_story(story, commitment)
    return folder if _is_intact(folder) else None


def _locate_story(story: DrawnStory, commitment: str) -> Path:
    """Where the cache holds a story drawn from the seed of this commitment."""
    if story.persona not in list_drawable() or story.edition != SIMULATED_EDITION:
        raise UsageError(
            f"{story.persona} {story.arcs} of edition {story.edition} cannot be drawn from a seed "
            "here; install the version of recall-bench that drew it"
        )
    named = "\0".join((commitment, story.persona, story.arcs, str(story.edition)))
    digest = sha256(named.encode()).hexdigest()
    return locate_world(find_cache_folder() / "worlds", digest) / story.persona


def _is_intact(folder: Path) -> bool:
    """Whether the cache holds the drawn story as it was built, which counts as a use."""
    mark_use(folder.parent)
    try:
        return digest_folder(folder) == _get_digest_file(folder).read_text(encoding="ascii")
    except OSError:
        return False


def _get_digest_file(folder: Path) -> Path:
    return folder.with_suffix(".digest")


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
    """Remove the stories that were not used for a week."""
    from filelock import Timeout

    for world in worlds.glob(f"{_PREFIX}*"):
        if _is_unused(world):
            with suppress(OSError, Timeout), lock_world(world).acquire(timeout=0):
                # Another process may have used it since. Renamed first: a story that is removed in
                # part would look like a damaged one.
                if _is_unused(world):
                    shutil.rmtree(world.rename(world.with_name(f"{_REMOVED}{token_hex(8)}")))
    for rest in worlds.glob(f"{_REMOVED}*"):
        shutil.rmtree(rest, ignore_errors=True)


def _is_unused(world: Path) -> bool:
    with suppress(OSError):
        return time.time() - world.stat().st_mtime > KEPT_DAYS * _DAY_S
    return False
