"""An embedder that makes no vector twice while it remembers the first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from recall_bench.core.usage import Usage
from recall_bench.models.embedders import Embedder, Embeddings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MEMORY_BYTES = 64 * 2**20
"""What the vectors kept may take: 65,536 of 256 dimensions."""


class _MemoryVector(NamedTuple):
    vector: NDArray[np.float32]
    tokens: int
    price: Usage


class MemoryCachedEmbedder:
    """Keeps the vectors that were asked for last, by the content of their texts.

    The tokens of a remembered text count again, and so does its price, as spared.
    """

    def __init__(self, embedder: Embedder, memory_bytes: int = MEMORY_BYTES) -> None:
        self._embedder = embedder
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, _MemoryVector] = OrderedDict()

    @property
    def name(self) -> str:
        """The embedder's."""
        return self._embedder.name

    @property
    def model(self) -> str:
        """The embedder's."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """The embedder's."""
        return self._embedder.dimensions

    @property
    def size(self) -> int:
        """How many vectors are remembered."""
        with self._lock:
            return len(self._kept)

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """One vector a text; only those not remembered are made, each once."""
        import numpy as np

        keys = [blake2b(text.encode(), digest_size=16).digest() for text in texts]
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        usage = spared = Usage()
        if missing:
            made = self._embedder.embed(list(missing.values()))
            usage, spared = made.usage, spared + made.spared
            each = zip(made.vectors, made.tokens, made.price_texts(), strict=True)
            new = {key: _MemoryVector(*facts) for key, facts in zip(missing, each, strict=True)}
            found |= new
            self._keep(new)
        for key in keys:
            # A text that stands twice in a request is asked for twice, and made once.
            if missing.pop(key, None) is None:
                spared += found[key].price
        return Embeddings(
            vectors=np.stack([found[key].vector for key in keys]),
            tokens=tuple(found[key].tokens for key in keys),
            usage=usage,
            spared=spared,
        )

    def _keep(self, new: dict[bytes, _MemoryVector]) -> None:
        with self._lock:
            for key, made in new.items():
                # A copy: a row of an array would keep the whole array alive.
                self._kept[key] = made._replace(vector=made.vector.copy())
                most = max(1, self._memory_bytes // made.vector.nbytes)
            while len(self._kept) > most:
                self._kept.popitem(last=False)

    def close(self) -> None:
        """The embedder's own connections; what is remembered stays."""
        self._embedder.close()
