"""Figures that this process computed before, by a digest of all that they depend on.

Resampling is most of what a report takes, and several of its parts show the same figures.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

_MAX_FIGURES: Final = 1 << 16
"""How many figures of one kind are kept."""
_KEY_BYTES = 16

_Figure = TypeVar("_Figure")


def digest_inputs(settings: object, *arrays: NDArray[np.generic]) -> bytes:
    """Digest all that a figure depends on: arrays, and settings whose `repr` is exact."""
    total = blake2b(repr(settings).encode(), digest_size=_KEY_BYTES)
    for array in arrays:
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.digest()


class KnownFigures(Generic[_Figure]):
    """The figures of one kind that were computed in this process.

    Several threads may use it: its table is replaced, and never emptied.
    """

    def __init__(self) -> None:
        self._figures: Mapping[bytes, _Figure] = {}

    def select_known(self, keys: Iterable[bytes]) -> dict[bytes, _Figure]:
        """Select the figures that are known."""
        figures = self._figures
        return {key: figures[key] for key in keys if key in figures}

    def add(self, figures: Mapping[bytes, _Figure]) -> None:
        """Add figures that were computed; with too many, those of before are forgotten."""
        kept = self._figures if len(self._figures) + len(figures) <= _MAX_FIGURES else {}
        self._figures = {**kept, **figures}

    def forget(self) -> None:
        """Forget all figures."""
        self._figures = {}
