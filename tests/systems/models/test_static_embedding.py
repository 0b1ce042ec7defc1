"""Word vectors read without the package that ships them are those that it gives."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tokenizers import Tokenizer

from recall_bench.core.errors import UsageError
from recall_bench.systems.models import static_embedding

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


@pytest.fixture
def _no_model() -> Iterator[None]:
    """The model is read once in a process: here it is read anew."""
    static_embedding._load_model.cache_clear()
    yield
    static_embedding._load_model.cache_clear()


@pytest.mark.usefixtures("_no_model")
def test_a_package_without_its_files_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_embedding, "find_spec", lambda _name: None)

    with pytest.raises(UsageError, match="word vectors of the wordllama package"):
        static_embedding.embed(["a"])


@pytest.mark.usefixtures("_no_model")
def test_a_tokenizer_whose_cache_has_no_size_serves_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its size is set by a private method, which another version may lack."""
    expected = static_embedding.embed(TEXTS)
    static_embedding._load_model.cache_clear()
    read = Tokenizer.from_file

    def read_without_cache(path: str) -> SimpleNamespace:
        found = read(path)
        return SimpleNamespace(
            model=object(),
            no_padding=found.no_padding,
            no_truncation=found.no_truncation,
            encode_batch_fast=found.encode_batch_fast,
        )

    monkeypatch.setattr("tokenizers.Tokenizer", SimpleNamespace(from_file=read_without_cache))

    assert np.array_equal(static_embedding.embed(TEXTS), expected)
