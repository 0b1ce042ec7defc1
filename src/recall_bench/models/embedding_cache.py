"""Vectors that were made once, on disk, by the digest of the text and of who embeds it.

Processes and machines share the folder without a lock and without a server: every writer has a
file name of its own until its entry is whole, and entries of one name hold the same thing. What
was damaged, or cannot be read just now, is made again.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recall_bench.core.atomic_file import write_shared_file
from recall_bench.core.errors import UsageError
from recall_bench.core.usage import Usage
from recall_bench.models.embedders import Embedder, Embeddings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HEAD = struct.Struct("<4sIdB")
"""What it is, tokens, price in US dollars, whether nobody knows the price."""
_KIND = b"RBv1"
_CHECK_BYTES = 32


class IdentifiedEmbedder(Embedder, Protocol):
    """An embedder that tells everything its vectors and their price depend on."""

    @property
    def identity(self) -> str:
        """Two embedders of one identity make the same vectors for the same money."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class CachedVector:
    """What is on record of one text."""

    vector: NDArray[np.float32]
    tokens: int
    price: Usage
    """What it cost when it was made: money, or that nobody knows."""


def make_cache_key(identity: str, text: str) -> str:
    """Names one text before one embedder."""
    # The length keeps the two apart: no text can pass for the end of an identity.
    return sha256(f"{len(identity)}:{identity}{text}".encode()).hexdigest()


class EmbeddingCache:
    """A folder of vectors that many processes may share. Entries appear whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_full = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"vectors cannot be kept in {folder} ({error.strerror or error}); "
                "name another folder"
            ) from error

    def find(self, key: str) -> CachedVector | None:
        """The vector on record, to the bit; None if there is none, or it was damaged."""
        import numpy as np

        try:
            entry = self._locate_entry(key).read_bytes()
        except OSError:
            return None
        content, check = entry[:-_CHECK_BYTES], entry[-_CHECK_BYTES:]
        if len(content) <= _HEAD.size or check != _compute_checksum(key, content):
            return None
        kind, tokens, cost_usd, is_unpriced = _HEAD.unpack_from(content)
        if kind != _KIND:
            return None
        vector = np.frombuffer(content, "<f4", offset=_HEAD.size).astype(np.float32, copy=False)
        return CachedVector(vector, tokens, Usage(cost_usd=cost_usd, unpriced=is_unpriced))

    def keep(self, key: str, kept: CachedVector) -> None:
        """Put a vector on record, in the place of whatever was there.

        A folder that takes no more is told in the log, once: the vector is right all the same,
        and a system under test must not fail because our disk is full.
        """
        price = kept.price
        head = _HEAD.pack(_KIND, kept.tokens, price.cost_usd, price.unpriced > 0)
        content = head + kept.vector.astype("<f4", copy=False).tobytes()
        try:
            write_shared_file(self._locate_entry(key), content + _compute_checksum(key, content))
        except OSError as error:
            if not self._is_full:
                self._is_full = True
                logging.getLogger(__name__).warning(
                    "vectors can no longer be kept in %s (%s); they are made anew each time",
                    self._folder,
                    error.strerror or error,
                )

    def _locate_entry(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.f32"


def _compute_checksum(key: str, content: bytes) -> bytes:
    """Of the key too: an entry under another's name is noticed."""
    return sha256(key.encode() + content).digest()


class CachedEmbedder:
    """Asks the embedder only for texts that nobody who shares the cache has asked it for.

    `usage` is what was really spent, with the texts found on record as `cached`; `spared` is what
    those would have cost. So a meter can show what a system would spend without the cache: a warm
    one must not make the second system measured look cheaper than the first. Latencies it does
    change, which is why nobody gets a cache without asking for one.
    """

    def __init__(self, embedder: IdentifiedEmbedder, cache: EmbeddingCache) -> None:
        self._embedder = embedder
        self._cache = cache
        self._dimensions: int | None = None

    @property
    def name(self) -> str:
        """The embedder's: its vectors are what they would be without us."""
        return self._embedder.name

    @property
    def model(self) -> str:
        """The embedder's."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """Known from the first vectors; looks for one word's if there were none yet."""
        if self._dimensions is None:
            self.embed(["dimensions"])
        return self._dimensions or 0

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """One vector a text, in their order; those on record are not made again."""
        import numpy as np

        keys = {text: make_cache_key(self._embedder.identity, text) for text in texts}
        found = {text: kept for text, key in keys.items() if (kept := self._cache.find(key))}
        made, usage = self._embed_missing([text for text in keys if text not in found], keys)
        if len({kept.vector.size for kept in (*found.values(), *made.values())}) > 1:
            # Another model has taken over the name: only what it makes now goes together.
            more, spent = self._embed_missing(list(found), keys)
            found, made, usage = {}, made | more, usage + spent
        known, paid, spared = found | made, set(made), Usage()
        for text in texts:
            # A text that stands twice in a request is asked for twice, and made once.
            if text in paid:
                paid.discard(text)
            else:
                spared += known[text].price
        vectors = np.stack([known[text].vector for text in texts])
        self._dimensions = vectors.shape[1]
        return Embeddings(
            vectors=vectors,
            tokens=tuple(known[text].tokens for text in texts),
            usage=usage + Usage(cached=len(found)),
            spared=spared,
        )

    def close(self) -> None:
        """The embedder's own connections; what is on record stays."""
        self._embedder.close()

    def _embed_missing(
        self, texts: list[str], keys: dict[str, str]
    ) -> tuple[dict[str, CachedVector], Usage]:
        """The vectors of these texts, made now and put on record, and what they cost."""
        if not texts:
            return {}, Usage()
        embedded = self._embedder.embed(texts)
        new = {
            text: CachedVector(vector, tokens, price)
            for text, vector, tokens, price in zip(
                texts, embedded.vectors, embedded.tokens, embedded.price_texts(), strict=True
            )
        }
        for text, kept in new.items():
            self._cache.keep(keys[text], kept)
        return new, embedded.usage


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
