"""Figures with their intervals beside a large journal, so that they are not resampled again.

A figure is found by a digest of all that it depends on. A cache that is out of date therefore gives
no wrong figure, only none. A cache of other code or another machine, or one that is not whole, is
passed over and written anew, and a folder that cannot be written to has none. It may be deleted at
any time. `verify`, `gate` and bundles do not read it.
"""

import platform
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec

from recall_bench.metrics.estimate import KNOWN_ESTIMATES, KNOWN_GRIDS, KNOWN_INTERVALS
from recall_bench.metrics.known_figures import KnownFigures
from recall_bench.metrics.trend import KNOWN_TRENDS
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.sealed_file import (
    FIGURES,
    digest_code,
    is_large,
    read_sealed_file,
    write_sealed_file,
)

_MAGIC = b"recall-bench figure cache\n"
_NO_FIGURES = msgspec.Raw(msgspec.msgpack.encode({}))
_KINDS: Final[Mapping[str, KnownFigures[Any]]] = {
    "intervals": KNOWN_INTERVALS,
    "estimates": KNOWN_ESTIMATES,
    "grids": KNOWN_GRIDS,
    "trends": KNOWN_TRENDS,
}


class _FigureCacheContent(msgspec.Struct, frozen=True):
    code: str
    figures: dict[str, msgspec.Raw]


def load_figures(path: Path) -> None:
    """Make the figures of a run's cache known to this process; nothing where it has none."""
    found = _read_figures(path)
    for name, known in _KINDS.items():
        known.offer(bytes(found.get(name, _NO_FIGURES)))


def write_figures(folder: RunFolder) -> None:
    """Write the figures that this process used, if some were not known before.

    Those that the cache has stay. Nothing is written for a small run, or where the folder cannot be
    written to.
    """
    if not is_large(folder.read_bytes) or not any(each.is_changed for each in _KINDS.values()):
        return
    before = _read_figures(folder.path)
    figures = {
        name: msgspec.Raw(known.encode(bytes(before.get(name, _NO_FIGURES))))
        for name, known in _KINDS.items()
    }
    content = msgspec.msgpack.encode(_FigureCacheContent(_describe_code(), figures))
    with suppress(OSError):
        write_sealed_file(folder.path / FIGURES, _MAGIC, content)


def _read_figures(path: Path) -> Mapping[str, msgspec.Raw]:
    """Read the encoded figures of a run's cache, by kind; none where it is not ours."""
    with suppress(OSError, msgspec.DecodeError, ValueError, RecursionError):
        content = read_sealed_file(path / FIGURES, _MAGIC)
        if content is not None:
            found = msgspec.msgpack.decode(content, type=_FigureCacheContent)
            if found.code == _describe_code():
                return found.figures
    return {}


def forget_figures() -> None:
    """Forget all figures, also those that come from a cache."""
    for known in _KINDS.values():
        known.forget()


@cache
def _describe_code() -> str:
    """Describe what computes figures: fractions are not summed alike everywhere."""
    return f"{digest_code()} {version('numpy')} {version('scipy')} {platform.machine()}"
