"""Targets that read the sources of personas, which `world build` makes days and questions of.

A build is compared as a whole: the digest of what it wrote is that of the persona, which every run
records.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from recall_bench.features.personas.worlds import build_world
from recall_bench.stories.shipped import digest_folder
from tests.fuzz.target import FuzzTarget, Reading, make_file_target

_SAMPLES = Path(__file__).parents[1] / "features" / "personas"
_DAYS = 12


def _copy(source: Path) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        shutil.copytree(source, folder, dirs_exist_ok=True)

    return write


def _build(days: int, name: str = "") -> Callable[[Path], Reading]:
    """Build the sources in a folder below the target's, the same ones once."""
    known: dict[str, Reading] = {}

    def look(folder: Path) -> Reading:
        sources = digest_folder(folder)
        if sources not in known:
            known[sources] = build(folder)
        return known[sources]

    def build(folder: Path) -> Reading:
        with tempfile.TemporaryDirectory() as scratch:
            built = build_world(str(folder / name), Path(scratch), days=days)
            found = digest_folder(built)
        return Reading(found, found)

    return look


def list_source_targets() -> Sequence[FuzzTarget]:
    """The sources of a simulated persona."""
    return (
        make_file_target(
            "sources of a persona", _copy(_SAMPLES / "simulator" / "bakery"), _build(_DAYS)
        ),
    )
