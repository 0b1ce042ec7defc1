"""Static word vectors, which ship inside the wordllama package."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_bench.core.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 256


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """One unit vector per text; zeros for a text without a word. Never uses the network."""
    import numpy as np

    # Texts of a batch are padded to the longest: sorting by length wastes least.
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    vectors = np.empty((len(texts), DIMENSIONS), np.float32)
    vectors[order] = _load_model().embed([texts[place] for place in order], norm=False)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0, lengths, 1)
    return vectors


def count_tokens(texts: Sequence[str]) -> tuple[int, ...]:
    """The number of tokens of each text."""
    # The mask leaves out the padding of shorter texts.
    return tuple(sum(text.attention_mask) for text in _load_model().tokenize(list(texts)))


def compute_similarity(
    vectors: NDArray[np.float32], direction: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The cosine of each vector with the direction.

    Not with `@`, whose last digits may depend on the number of threads.
    """
    import numpy as np

    found: NDArray[np.float32] = np.einsum("ij,j->i", vectors, direction)
    return found


@cache
def _load_model() -> Any:  # noqa: ANN401
    with _keep_root_logger():
        import wordllama
    try:
        return wordllama.WordLlama.load(
            cache_dir=Path(wordllama.__file__).parent, disable_download=True
        )
    except FileNotFoundError as missing:
        raise UsageError(
            f"the word vectors of the wordllama package are incomplete ({missing}); reinstall it"
        ) from missing


@contextmanager
def _keep_root_logger() -> Iterator[None]:
    """Importing wordllama configures the root logger, but only one without handlers."""
    root = logging.getLogger()
    stopper = logging.NullHandler()
    root.addHandler(stopper)
    try:
        yield
    finally:
        root.removeHandler(stopper)
