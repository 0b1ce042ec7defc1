"""Static word vectors, which ship inside the wordllama package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recall_bench.core.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

DIMENSIONS = 256
_MODEL = "l2_supercat"


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """One unit vector per text; zeros for a text without a word. Never uses the network."""
    import numpy as np

    model = _load_model()
    vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
    for place, tokens in enumerate(_tokenize(model, texts)):
        if tokens:
            # Row after row, so that the last digits do not depend on the number of texts.
            rows = model.weights.take(tokens, axis=0).astype(np.float32)
            np.add.reduce(rows, axis=0, out=vectors[place])
            vectors[place] /= len(tokens)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0, lengths, 1)
    return vectors


def count_tokens(texts: Sequence[str]) -> tuple[int, ...]:
    """The number of tokens of each text."""
    return tuple(len(tokens) for tokens in _tokenize(_load_model(), texts))


def _tokenize(model: _StaticModel, texts: Sequence[str]) -> Iterator[list[int]]:
    for encoded in model.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False):
        yield encoded.ids


def compute_similarity(
    vectors: NDArray[np.float32], direction: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The cosine of each vector with the direction.

    Not with `@`, whose last digits may depend on the number of threads.
    """
    import numpy as np

    similarity: NDArray[np.float32] = np.einsum("ij,j->i", vectors, direction)
    return similarity


class _StaticModel(NamedTuple):
    tokenizer: Tokenizer
    weights: NDArray[np.float16]
    """As the file has them, which is half of what they would take as `float32`."""


@cache
def _load_model() -> _StaticModel:
    """Read tokens and vectors from the package, which is not imported.

    It needs pydantic and requests for the models that it can download: half a second of a run.
    """
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    package = find_spec("wordllama")
    folder = Path(package.origin or "").parent if package is not None else Path()
    try:
        tokenizer = Tokenizer.from_file(
            str(folder / "tokenizers" / f"{_MODEL}_tokenizer_config.json")
        )
        (weights,) = load_file(folder / "weights" / f"{_MODEL}_{DIMENSIONS}.safetensors").values()
    except Exception as missing:
        raise UsageError(
            f"the word vectors of the wordllama package are incomplete ({missing}); reinstall it"
        ) from missing
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # It would keep the tokens of 10,000 texts, 3 kB each, and hardly any text comes twice.
    # A tokenizer from a file has no public way to say so: other versions may lack this one.
    with suppress(AttributeError):
        tokenizer.model._resize_cache(0)  # noqa: SLF001
    return _StaticModel(tokenizer, weights)


def normalise_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return unit vectors; zero vectors stay zero."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=np.float32)
