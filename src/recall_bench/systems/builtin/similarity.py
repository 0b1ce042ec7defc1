"""How similar questions are to the passages of a memory, kept from checkpoint to checkpoint.

An index only grows, and a question is asked at many checkpoints: only the new passages are compared
with it. Two memories may grow differently from one, so that what is kept belongs to a version of an
index, and is used for those that grew from it.

Most searches show a few passages, so a rounded similarity is kept in one byte, and only those that
come near the best are measured again. A search that ranks all passages keeps exact ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from recall_bench.models.static_embedding import compute_similarity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIMILARITY_CACHE_BYTES = 32 * 2**20
"""The most that is kept for one memory; what does not fit is compared again at each checkpoint."""

STEPS = 127
"""A rounded similarity is a whole number of steps, this many from 0 to 1."""
MOST_ROUNDED = 0.501 / STEPS
"""The most that rounding changes: half a step, and a little for the last digits of a float."""

Blocks = Sequence["NDArray[np.float32]"]
"""The vectors of all passages, one row each."""
Pieces = tuple["NDArray[Any]", ...]
"""The similarities of a question to consecutive passages, or their steps. New ones are an array of
their own: one that is made anew at every settling would leave holes of nearly its size all over the
memory."""
MOST_PIECES = 8
"""When there are more, they become one."""


class CachedSimilarity(NamedTuple):
    """What is known about a question and the first passages of an index."""

    pieces: Pieces = ()
    low: np.float32 | None = None
    """The least similarity; None without passages."""
    high: np.float32 | None = None

    @property
    def nbytes(self) -> int:
        """The size of its arrays."""
        return sum(piece.nbytes for piece in self.pieces)

    def add(self, fresh: NDArray[np.float32], *, is_exact: bool) -> CachedSimilarity:
        """The same with the similarities of the next passages."""
        low, high = fresh.min(), fresh.max()
        pieces = (*self.pieces, _freeze(fresh if is_exact else _round(fresh)))
        return CachedSimilarity(
            pieces=pieces if len(pieces) <= MOST_PIECES else (_join_pieces(pieces),),
            low=low if self.low is None else min(self.low, low),
            high=high if self.high is None else max(self.high, high),
        )


@dataclass(frozen=True, slots=True)
class SimilarityTable:
    """The similarity of a question to every passage of an index."""

    values: NDArray[np.float32]
    low: np.float32
    """The least of the exact values."""
    high: np.float32
    error: float
    """The most that one of the values differs from the exact one."""
    blocks: Blocks
    direction: NDArray[np.float32]

    def measure(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """The exact values of some passages, whose numbers rise."""
        import numpy as np

        if not self.error:
            return self.values[numbers]
        rows, start = [self.blocks[0][:0]], 0
        for block in self.blocks:
            first, last = np.searchsorted(numbers, (start, start + len(block)))
            rows.append(block[numbers[first:last] - start])
            start += len(block)
        return compute_similarity(np.concatenate(rows), self.direction)


_Key = tuple[str, bool]
"""A question, and whether its similarities are exact."""


class SimilarityCache:
    """Similarities by question, with the version of the index that they belong to."""

    def __init__(self) -> None:
        self._known: dict[_Key, tuple[IndexVersion, CachedSimilarity]] = {}
        self._size = 0

    def find(self, key: _Key, version: IndexVersion) -> CachedSimilarity:
        """The similarities to the first passages of a version, as far as they are known."""
        known = self._known.get(key)
        is_known = known is not None and version.grew_from(known[0])
        return known[1] if known is not None and is_known else CachedSimilarity()

    def keep(self, key: _Key, version: IndexVersion, found: CachedSimilarity) -> None:
        """Keep the similarities to all passages of a version, or what is kept of its first ones."""
        earlier = self.find(key, version)
        if not earlier.pieces:
            _, foreign = self._known.pop(key, (version, earlier))
            self._size -= foreign.nbytes
        added = found.nbytes - earlier.nbytes
        if self._size + added <= SIMILARITY_CACHE_BYTES:
            self._known[key] = version, found
            self._size += added


class IndexVersion:
    """An index as it was after one settling."""

    def __init__(self, earlier: IndexVersion | None) -> None:
        self.earlier = earlier
        self.cache: SimilarityCache = SimilarityCache() if earlier is None else earlier.cache

    def grew_from(self, other: IndexVersion) -> bool:
        """Whether this one is the other, or the other with passages added."""
        version: IndexVersion | None = self
        while version is not None and version is not other:
            version = version.earlier
        return version is not None

    def measure_likeness(
        self,
        blocks: Blocks,
        question: str,
        direction: NDArray[np.float32],
        *,
        is_exact: bool,
    ) -> SimilarityTable:
        """The similarity of the question to every row of the blocks, which are this version's."""
        import numpy as np

        known = self.cache.find((question, is_exact), self)
        left_out = sum(map(len, known.pieces))
        fresh: list[NDArray[np.float32]] = []
        for block in blocks:
            if left_out < len(block):
                fresh.append(compute_similarity(block[left_out:], direction))
            left_out = max(0, left_out - len(block))
        if fresh:
            whole = fresh[0] if len(fresh) == 1 else np.concatenate(fresh)
            known = known.add(whole, is_exact=is_exact)
            self.cache.keep((question, is_exact), self, known)
        values: NDArray[Any] = _join_pieces(known.pieces)
        return SimilarityTable(
            values=values if is_exact else values * np.float32(1 / STEPS),
            low=np.float32(0) if known.low is None else known.low,
            high=np.float32(0) if known.high is None else known.high,
            error=0.0 if is_exact else MOST_ROUNDED,
            blocks=blocks,
            direction=direction,
        )


def _round(values: NDArray[np.float32]) -> NDArray[np.int8]:
    """The nearest number of steps of each; cosines are between -1 and 1."""
    import numpy as np

    steps = np.rint(values * np.float32(STEPS)).clip(-STEPS, STEPS)
    rounded: NDArray[np.int8] = steps.astype(np.int8)
    return rounded


def _join_pieces(pieces: Pieces) -> NDArray[Any]:
    import numpy as np

    return pieces[0] if len(pieces) == 1 else _freeze(np.concatenate(pieces))


def _freeze(values: NDArray[Any]) -> NDArray[Any]:
    values.flags.writeable = False
    return values
