"""A folder of embeddings that processes share, on request.

Processes and machines share the folder without a lock or a server: every writer uses a file name
of its own until its entry is complete, and entries of one name have the same content. A damaged or
unreadable entry is computed again.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recall_bench.core.atomic_file import open_cache, write_shared_file
from recall_bench.core.usage import Usage
from recall_bench.features.models.embedders import Embedder, Embeddings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HEAD = struct.Struct("<4sIdB")
"""Kind of file, tokens, price in US dollars, whether the price is unknown."""
_KIND = b"RBv1"
_CHECK_BYTES = 32


class CachedVector(NamedTuple):
    """The cached vector of one text."""

    vector: NDArray[np.float32]
    tokens: int
    price: Usage
    """What it cost when it was made, or that the price is unknown."""


def make_cache_key(identity: str, text: str) -> str:
    """Return the name of one text's entry for one embedder."""
    # The length separates the two: no text can continue an identity.
    return sha256(f"{len(identity)}:{identity}{text}".encode()).hexdigest()


class EmbeddingCache:
    """A folder of vectors that many processes may share. Entries appear whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = open_cache(folder, "vectors")
        self._is_full = False

    def find(self, key: str) -> CachedVector | None:
        """Return the vector, to the bit; None if there is none, or it was damaged."""
        import numpy as np

        try:
            entry = self._locate_entry(key).read_bytes()
        except OSError:
            return None
        content, checksum = entry[:-_CHECK_BYTES], entry[-_CHECK_BYTES:]
        if len(content) <= _HEAD.size or checksum != _compute_checksum(key, content):
            return None
        kind, tokens, cost_usd, is_unpriced = _HEAD.unpack_from(content)
        if kind != _KIND:
            return None
        vector = np.frombuffer(content, "<f4", offset=_HEAD.size).astype(np.float32, copy=False)
        return CachedVector(vector, tokens, Usage(cost_usd=cost_usd, unpriced=is_unpriced))

    def keep(self, key: str, cached: CachedVector) -> None:
        """Store a vector, replacing an earlier one.

        A full disk is logged once: the vector is right anyway, and a system under test must not
        fail because our disk is full.
        """
        price = cached.price
        head = _HEAD.pack(_KIND, cached.tokens, price.cost_usd, price.unpriced > 0)
        content = head + cached.vector.astype("<f4", copy=False).tobytes()
        try:
            write_shared_file(self._locate_entry(key), content + _compute_checksum(key, content))
        except OSError as error:
            if not self._is_full:
                self._is_full = True
                logging.getLogger(__name__).warning(
                    "vectors can no longer be kept in %s (%s); they are computed again each time",
                    self._folder,
                    error.strerror or error,
                )

    def _locate_entry(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.f32"


def _compute_checksum(key: str, content: bytes) -> bytes:
    """Digest the key too, so that an entry under another name is noticed."""
    return sha256(key.encode() + content).digest()


class CachedEmbedder(Embedder):
    """Calls the embedder only for texts that are not in the shared cache.

    `usage` is what was really spent, with the texts found in the cache as `cached`; `spared` is
    what those would have cost. So a meter can show what a system would spend without the cache: a
    warm cache must not make the second system look cheaper than the first. It does change
    latencies, so it is used on request only.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self._embedder = embedder
        self._cache = cache
        self.name = embedder.name
        self.model = embedder.model
        self.identity = embedder.identity

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector per text; only those not in the cache are computed, each once."""
        import numpy as np

        keys = {text: make_cache_key(self.identity, text) for text in texts}
        cached_vectors = {
            text: cached for text, key in keys.items() if (cached := self._cache.find(key))
        }
        new_vectors, usage = self._embed_missing(
            [text for text in keys if text not in cached_vectors], keys
        )
        if (
            len(
                {cached.vector.size for cached in (*cached_vectors.values(), *new_vectors.values())}
            )
            > 1
        ):
            # Another model has this name now: only vectors it makes now fit together.
            more, spent = self._embed_missing(list(cached_vectors), keys)
            cached_vectors, new_vectors, usage = {}, new_vectors | more, usage + spent
        vectors, spared, unpaid = cached_vectors | new_vectors, Usage(), set(new_vectors)
        for text in texts:
            # A text that occurs twice in a request is made once, and its second price is spared.
            if text in unpaid:
                unpaid.discard(text)
            else:
                spared += vectors[text].price
        embeddings = Embeddings(
            vectors=np.stack([vectors[text].vector for text in texts]),
            tokens=tuple(vectors[text].tokens for text in texts),
            usage=usage + Usage(cached=len(cached_vectors)),
            spared=spared,
        )
        self.length = embeddings.vectors.shape[1]
        return embeddings

    def _embed_missing(
        self, texts: list[str], keys: dict[str, str]
    ) -> tuple[dict[str, CachedVector], Usage]:
        """Compute and store the vectors of these texts, and return them with their cost."""
        if not texts:
            return {}, Usage()
        embedded = self._embedder.embed(texts)
        columns = (embedded.vectors, embedded.tokens, embedded.price_texts())
        vectors = {
            text: CachedVector(vector, tokens, price)
            for text, vector, tokens, price in zip(texts, *columns, strict=True)
        }
        for text, cached in vectors.items():
            self._cache.keep(keys[text], cached)
        return vectors, embedded.usage

    def close(self) -> None:
        """Close the embedder's connections; the cache stays."""
        self._embedder.close()
