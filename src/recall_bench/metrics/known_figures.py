"""Figures that were computed before, by a digest of all that they depend on.

Resampling is most of what a report takes, and the same trials give the same figure each time.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Final, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

_MAX_FIGURES: Final = 1 << 16
"""How many figures of one kind are kept."""
_KEY_BYTES = 16
_NOTHING = msgspec.msgpack.encode({})

_Figure = TypeVar("_Figure")


def digest_inputs(settings: object, *arrays: NDArray[np.generic]) -> bytes:
    """Digest all that a figure depends on: arrays, and settings whose `repr` is exact."""
    total = blake2b(repr(settings).encode(), digest_size=_KEY_BYTES)
    for each in arrays:
        total.update(f"{each.dtype.str}{each.shape}".encode())
        total.update(np.ascontiguousarray(each).data)
    return total.digest()


class KnownFigures(Generic[_Figure]):
    """The figures of one kind that were computed in this process, or read from a cache.

    Several threads may use it: its tables are replaced, and never emptied.
    """

    def __init__(
        self,
        kind: object,
        *,
        max_figures: int = _MAX_FIGURES,
        count: Callable[[_Figure], int] | None = None,
    ) -> None:
        """`kind` is the type of a figure, as msgspec takes it, `max_figures` how many are kept.

        `count` counts the figures in one that holds several.
        """
        self._kind = kind
        self._max_figures = max_figures
        self._count = count
        self._used: dict[bytes, _Figure] = {}
        self._stored: dict[bytes, _Figure] = {}
        self._offered: tuple[bytes, ...] = ()
        self.is_changed = False
        """Whether a figure was computed that was not known."""

    def select_known(self, keys: Iterable[bytes]) -> dict[bytes, _Figure]:
        """Select the figures that are known."""
        if self._offered:
            self._decode_offered()
        if self._count_all(self._used) > self._max_figures:
            self._used = {}
        used, stored = self._used, self._stored
        found = dict[bytes, _Figure]()
        for key in keys:
            if key in used:
                found[key] = used[key]
            elif key in stored:
                found[key] = used[key] = stored[key]
        return found

    def add(self, figures: Mapping[bytes, _Figure]) -> None:
        """Add figures that were computed."""
        if not figures:
            return
        self.is_changed = True
        self._used = self._limit(self._used, figures)

    def offer(self, content: bytes) -> None:
        """Offer figures that were encoded before; they are decoded when one is looked for."""
        self._offered = (*self._offered, content)

    def encode(self, before: bytes = _NOTHING) -> bytes:
        """Encode the figures that were used since the last time, with those encoded before."""
        used, self._used = self._used, {}
        self._stored = self._limit(self._stored, used)
        self.is_changed = False
        return msgspec.msgpack.encode(self._limit(self._decode(before), used))

    def forget(self) -> None:
        """Forget all figures."""
        self._used, self._stored, self._offered = {}, {}, ()
        self.is_changed = False

    def _decode_offered(self) -> None:
        offered, self._offered = self._offered, ()
        for content in offered:
            self._stored = self._limit(self._stored, self._decode(content))

    def _decode(self, content: bytes) -> dict[bytes, _Figure]:
        # What is damaged is computed again.
        with suppress(msgspec.DecodeError, ValueError, RecursionError):
            kind = dict[bytes, self._kind]  # type: ignore[name-defined]
            found: dict[bytes, _Figure] = msgspec.msgpack.decode(content, type=kind)
            return found
        return {}

    def _limit(
        self, old: Mapping[bytes, _Figure], new: Mapping[bytes, _Figure]
    ) -> dict[bytes, _Figure]:
        """Join figures; those that are new alone, or none, if there are too many."""
        added = self._count_all(new)
        if self._count_all(old) + added <= self._max_figures:
            return {**old, **new}
        return dict(new) if added <= self._max_figures else {}

    def _count_all(self, figures: Mapping[bytes, _Figure]) -> int:
        return len(figures) if self._count is None else sum(map(self._count, figures.values()))
