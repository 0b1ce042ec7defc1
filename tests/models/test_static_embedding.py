"""Word vectors read without the package that ships them are those that it gives."""

from pathlib import Path

import numpy as np
import pytest

from recall_bench.core.errors import UsageError
from recall_bench.models import static_embedding

TEXTS = ["", " ", "A ferry left at nine.", "é ü 日本語", "naïve " * 300, "the " * 5, "Ferry"]


def test_vectors_are_those_of_the_package() -> None:
    wordllama = pytest.importorskip("wordllama")
    package = wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True
    )
    expected = package.embed(TEXTS, norm=False)
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)

    found = static_embedding.embed(TEXTS)

    assert np.array_equal(found, expected / np.where(lengths > 0, lengths, 1))
    assert static_embedding.count_tokens(TEXTS) == tuple(
        sum(each.attention_mask) for each in package.tokenize(TEXTS)
    )


def test_a_package_without_its_files_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_embedding, "find_spec", lambda _name: None)
    static_embedding._load_model.cache_clear()
    try:
        with pytest.raises(UsageError, match="word vectors of the wordllama package"):
            static_embedding.embed(["a"])
    finally:
        static_embedding._load_model.cache_clear()
