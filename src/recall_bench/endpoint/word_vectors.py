"""The embedded word vectors as an embedder: what every product gets unless another is named."""

import threading
from collections.abc import Sequence

from recall_bench.models.embedders import Embeddings
from recall_bench.systems.builtin import embedding


class WordVectors:
    """Never touches the network, and costs nothing."""

    name = "wordllama"
    model = "wordllama"
    dimensions = embedding.DIMENSIONS

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """One unit vector a text; all zeros for a text without a single token."""
        with self._lock:
            return Embeddings(vectors=embedding.embed(texts), tokens=embedding.count_tokens(texts))

    def close(self) -> None:
        """Nothing to release."""
