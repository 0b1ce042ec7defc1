"""The embedded word vectors as an embedder: what every product gets unless another is named."""

import threading
from collections.abc import Sequence

from recall_bench.models.embedders import Embedded
from recall_bench.systems.builtin import embedding


class WordVectors:
    """Never touches the network, and costs nothing."""

    name = "wordllama"
    model = "wordllama"
    dimensions = embedding.DIMENSIONS

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Embedded:
        """One unit vector a text; all zeros for a text without a single token."""
        with self._lock:
            return Embedded(vectors=embedding.embed(texts), tokens=embedding.token_counts(texts))

    def close(self) -> None:
        """Nothing to release."""
