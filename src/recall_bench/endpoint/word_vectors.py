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
            tokens = embedding._model().tokenize(list(texts))  # noqa: SLF001
            return Embedded(
                vectors=embedding.embed(texts),
                # Shorter texts of a batch are padded, and the mask leaves the padding out.
                tokens=tuple(sum(text.attention_mask) for text in tokens),
            )

    def close(self) -> None:
        """Nothing to release."""
