"""How similar questions are to the passages of a memory, kept from checkpoint to checkpoint.

An index only grows, and a question is asked at many checkpoints: only the new passages are compared
with it. Two memories may grow differently from one, so that what is kept belongs to a version of an
index, and is used for those that grew from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recall_bench.models.static_embedding import compute_similarity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIKENESS_BYTES = 56 * 2**20
"""The most that is kept for one memory; what does not fit is compared again at each checkpoint."""

Pieces = tuple["NDArray[np.float32]", ...]
"""The similarities of a question to consecutive passages. New ones are an array of their own: one
that is made anew at every settling would leave holes of nearly its size all over the memory."""
MOST_PIECES = 8
"""When there are more, they become one."""


class LikenessCache:
    """Similarities by question, with the version of the index that they belong to."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[IndexVersion, Pieces]] = {}
        self._size = 0

    def find(self, question: str, version: IndexVersion) -> Pieces:
        """The similarities to the first passages of a version, as far as they are known."""
        known = self._known.get(question)
        return known[1] if known is not None and version.grew_from(known[0]) else ()

    def keep(self, question: str, version: IndexVersion, found: Pieces) -> None:
        """Keep the similarities to all passages of a version, or what is kept of its first ones."""
        earlier = self.find(question, version)
        if not earlier:
            _, foreign = self._known.pop(question, (version, ()))
            self._size -= _measure_bytes(foreign)
        added = _measure_bytes(found) - _measure_bytes(earlier)
        if self._size + added <= LIKENESS_BYTES:
            self._known[question] = version, found
            self._size += added


def _measure_bytes(pieces: Pieces) -> int:
    return sum(piece.nbytes for piece in pieces)


class IndexVersion:
    """An index as it was after one settling."""

    def __init__(self, earlier: IndexVersion | None) -> None:
        self.earlier = earlier
        self.cache: LikenessCache = LikenessCache() if earlier is None else earlier.cache

    def grew_from(self, other: IndexVersion) -> bool:
        """Whether this one is the other, or the other with passages added."""
        version: IndexVersion | None = self
        while version is not None and version is not other:
            version = version.earlier
        return version is not None

    def measure_likeness(
        self, blocks: Sequence[NDArray[np.float32]], question: str, direction: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The similarity of the question to every row of the blocks, which are this version's."""
        found = self.cache.find(question, self)
        left_out = sum(map(len, found))
        fresh: list[NDArray[np.float32]] = []
        for block in blocks:
            if left_out < len(block):
                fresh.append(compute_similarity(block[left_out:], direction))
            left_out = max(0, left_out - len(block))
        if fresh:
            for piece in fresh:
                piece.flags.writeable = False
            found = (*found, *fresh)
            if len(found) > MOST_PIECES:
                found = (_join_pieces(found),)
            self.cache.keep(question, self, found)
        return _join_pieces(found)


def _join_pieces(pieces: Pieces) -> NDArray[np.float32]:
    import numpy as np

    if len(pieces) == 1:
        return pieces[0]
    whole = np.concatenate(pieces)
    whole.flags.writeable = False
    return whole
