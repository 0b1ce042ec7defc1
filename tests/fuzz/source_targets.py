"""Targets that read the sources of personas, which `world build` makes days and questions of.

A build is compared as a whole: the digest of what it wrote is that of the persona, which every run
records.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from recall_bench.generate.worlds import build_world
from tests.fuzz.target import FuzzTarget, Reading, make_file_target
from tests.generate.written.small_edition import write_small_edition

_SAMPLES = Path(__file__).parents[1] / "generate"
_DAYS = 12


def _copy(source: Path) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        shutil.copytree(source, folder, dirs_exist_ok=True)

    return write


def _build(name: str = "", days: int | None = None) -> Callable[[Path], Reading]:
    """Build the sources in a folder below the target's."""

    def look(folder: Path) -> Reading:
        with tempfile.TemporaryDirectory() as scratch:
            built = build_world(str(folder / name), Path(scratch), days=days)
            found = sha256()
            for path in sorted(built.rglob("*")):
                if path.is_file():
                    found.update(path.relative_to(scratch).as_posix().encode())
                    found.update(path.read_bytes())
        return Reading(found.hexdigest(), found.hexdigest())

    return look


def list_source_targets() -> Sequence[FuzzTarget]:
    """The sources of a simulated persona, of a written edition and of a life edition."""
    return (
        make_file_target(
            "sources of a persona", _copy(_SAMPLES / "world" / "bakery"), _build(days=_DAYS)
        ),
        make_file_target(
            "sources of a written edition",
            write_small_edition,
            _build("ferry-desk/written-9d"),
        ),
        make_file_target(
            "sources of a life edition",
            _copy(_SAMPLES / "life" / "tool-library"),
            _build("life-200d"),
        ),
    )
