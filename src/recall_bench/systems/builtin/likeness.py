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

LIKENESS_BYTES = 32 * 2**20
"""The most that is kept for one memory; what does not fit is compared with all passages."""


class LikenessCache:
    """Similarities by question, with the version of the index that they belong to."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[IndexVersion, NDArray[np.float32]]] = {}
        self._size = 0

    def find(self, question: str, version: IndexVersion) -> NDArray[np.float32] | None:
        """The similarities to the first passages of a version, as far as they are known."""
        known = self._known.get(question)
        return known[1] if known is not None and version.grew_from(known[0]) else None

    def keep(self, question: str, version: IndexVersion, found: NDArray[np.float32]) -> None:
        """Keep the similarities to all passages of a version, in place of earlier ones."""
        known = self._known.pop(question, None)
        self._size -= 0 if known is None else known[1].nbytes
        if self._size + found.nbytes <= LIKENESS_BYTES:
            self._known[question] = version, found
            self._size += found.nbytes


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
        import numpy as np

        known = self.cache.find(question, self)
        found = [] if known is None else [known]
        left_out = 0 if known is None else len(known)
        for block in blocks:
            if left_out < len(block):
                found.append(compute_similarity(block[left_out:], direction))
            left_out = max(0, left_out - len(block))
        if len(found) == 1 and known is not None:
            return known
        whole = np.concatenate(found)
        whole.flags.writeable = False
        self.cache.keep(question, self, whole)
        return whole
