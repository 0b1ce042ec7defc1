"""Caches of embeddings: a folder that processes share, and the memory of one process.

Processes and machines share the folder without a lock or a server: every writer uses a file name
of its own until its entry is complete, and entries of one name have the same content. A damaged or
unreadable entry is computed again.
"""

from __future__ import annotations

import logging
import struct
import threading
from collections import OrderedDict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from recall_bench.core.atomic_file import open_cache, write_shared_file
from recall_bench.core.usage import Usage
from recall_bench.features.models.embedders import Embedder, Embeddings, LazyDimensions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HEAD = struct.Struct("<4sIdB")
"""Kind of file, tokens, price in US dollars, whether the price is unknown."""
_KIND = b"RBv1"
_CHECK_BYTES = 32

MEMORY_BYTES = 64 * 2**20
"""The size of the cache in memory: 65,536 vectors of 256 dimensions."""

_Key = TypeVar("_Key", bound=Hashable)
E = TypeVar("E", bound=Embedder)


class IdentifiedEmbedder(Embedder, Protocol):
    """An embedder that names everything its vectors and their price depend on."""

    @property
    def identity(self) -> str:
        """Embedders of one identity make the same vectors at the same price."""


@dataclass(frozen=True, slots=True, eq=False)
class CachedVector:
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


class _EmbedderWrapper(Generic[E]):
    """An embedder with a cache, which changes no vector."""

    def __init__(self, embedder: E) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        """The embedder's."""
        return self._embedder.name

    @property
    def model(self) -> str:
        """The embedder's."""
        return self._embedder.model

    def close(self) -> None:
        """Close the embedder's connections; the cache stays."""
        self._embedder.close()


class CachedEmbedder(_EmbedderWrapper[IdentifiedEmbedder], LazyDimensions):
    """Calls the embedder only for texts that are not in the shared cache.

    `usage` is what was really spent, with the texts found in the cache as `cached`; `spared` is
    what those would have cost. So a meter can show what a system would spend without the cache: a
    warm cache must not make the second system look cheaper than the first. It does change
    latencies, so it is used on request only.
    """

    def __init__(self, embedder: IdentifiedEmbedder, cache: EmbeddingCache) -> None:
        super().__init__(embedder)
        self._cache = cache

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector per text; only those not in the cache are computed."""
        keys = {text: make_cache_key(self._embedder.identity, text) for text in texts}
        found = {text: cached for text, key in keys.items() if (cached := self._cache.find(key))}
        made, usage = self._embed_missing([text for text in keys if text not in found], keys)
        if len({cached.vector.size for cached in (*found.values(), *made.values())}) > 1:
            # Another model has this name now: only vectors it makes now fit together.
            more, spent = self._embed_missing(list(found), keys)
            found, made, usage = {}, made | more, usage + spent
        usage += Usage(cached=len(found))
        joined = _join_vectors(texts, found | made, made=made, usage=usage)
        self._dimensions = joined.vectors.shape[1]
        return joined

    def _embed_missing(
        self, texts: list[str], keys: dict[str, str]
    ) -> tuple[dict[str, CachedVector], Usage]:
        """Compute and store the vectors of these texts, and return them with their cost."""
        if not texts:
            return {}, Usage()
        embedded = self._embedder.embed(texts)
        vectors = _split_vectors(texts, embedded)
        for text, cached in vectors.items():
            self._cache.keep(keys[text], cached)
        return vectors, embedded.usage


class MemoryCachedEmbedder(_EmbedderWrapper[Embedder]):
    """Keeps the vectors used last in memory, by a digest of their texts.

    The tokens of a cached text count again, and its price counts as spared.
    """

    def __init__(self, embedder: Embedder, memory_bytes: int = MEMORY_BYTES) -> None:
        super().__init__(embedder)
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, CachedVector] = OrderedDict()

    @property
    def dimensions(self) -> int:
        """The embedder's."""
        return self._embedder.dimensions

    @property
    def size(self) -> int:
        """The number of cached vectors."""
        with self._lock:
            return len(self._kept)

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one vector per text; only those not in the cache are computed, each once."""
        keys = [blake2b(text.encode(), digest_size=16).digest() for text in texts]
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        usage = spared = Usage()
        made: dict[bytes, CachedVector] = {}
        if missing:
            embedded = self._embedder.embed(list(missing.values()))
            usage, spared = embedded.usage, embedded.spared
            made = _split_vectors(tuple(missing), embedded)
            self._keep(made)
        return _join_vectors(keys, found | made, made=made, usage=usage, spared=spared)

    def _keep(self, made: dict[bytes, CachedVector]) -> None:
        with self._lock:
            for key, cached in made.items():
                # A copy: a row of an array would keep the whole array alive.
                self._kept[key] = replace(cached, vector=cached.vector.copy())
                limit = max(1, self._memory_bytes // cached.vector.nbytes)
            while len(self._kept) > limit:
                self._kept.popitem(last=False)


def _split_vectors(keys: Sequence[_Key], embedded: Embeddings) -> dict[_Key, CachedVector]:
    columns = (embedded.vectors, embedded.tokens, embedded.price_texts())
    return {
        key: CachedVector(vector, tokens, price)
        for key, vector, tokens, price in zip(keys, *columns, strict=True)
    }


def _join_vectors(
    keys: Sequence[_Key],
    known: Mapping[_Key, CachedVector],
    *,
    made: Collection[_Key],
    usage: Usage,
    spared: Usage | None = None,
) -> Embeddings:
    """Put the vectors in order; those that were not made now count as spared.

    A text that occurs twice in a request is made once, and its second price is spared.
    """
    import numpy as np

    paid, saved = set(made), spared or Usage()
    for key in keys:
        if key in paid:
            paid.discard(key)
        else:
            saved += known[key].price
    return Embeddings(
        vectors=np.stack([known[key].vector for key in keys]),
        tokens=tuple(known[key].tokens for key in keys),
        usage=usage,
        spared=saved,
    )
