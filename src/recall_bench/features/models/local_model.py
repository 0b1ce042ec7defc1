"""Models that are loaded into this process: their libraries, and ONNX files in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recall_bench.core.errors import ModelFault, UsageError
from recall_bench.features.models.faults import truncate_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ONNX = "onnx"
"""The kind of a model whose files lie in a folder."""

_LIBRARIES = {ONNX: "onnxruntime"}
"""The library of a kind, if it has another name."""

_ONNX_FILES = ("model.onnx", "onnx/model.onnx")
_MOST_TOKENS = 256
"""Tokens of a text that a model reads, or 512 for a question with its passage."""
_BATCH = 32
"""Texts that a model reads at once."""

Loader = Callable[[Any, str], Any]
"""Loads a model by its name with the library it is given; its calls."""


@contextmanager
def translate_faults(name: str) -> Iterator[None]:
    """Raise what a library raises as a ModelFault with the name of the model."""
    try:
        yield
    except ModelFault as fault:
        raise ModelFault(f"{name}: {fault}") from fault
    except Exception as error:
        message = truncate_line(str(error) or type(error).__name__)
        raise ModelFault(f"{name}: failed: {message}") from error


class LoadedModel(NamedTuple):
    """What a loader made, the exact name of the model, and the version of its library."""

    calls: Any
    model: str
    version: str


def load_local(kind: str, model: str, loaders: Mapping[str, Loader]) -> LoadedModel:
    """Load a model of a library; UsageError without the library, and for whatever it raises."""
    name = f"{kind}:{model}"
    library_name = _LIBRARIES.get(kind, kind)
    if not model:
        raise UsageError(f"{kind}: names no model; write {kind}:MODEL")
    try:
        library = import_module(library_name.replace("-", "_"))
    except ImportError as missing:
        raise UsageError(
            f"{name}: needs packages that are not installed; pip install {library_name}"
        ) from missing
    try:
        calls = loaders[kind](library, model)
    except Exception as error:
        message = truncate_line(str(error) or type(error).__name__)
        raise UsageError(f"{name}: cannot be loaded: {message}") from error
    version = str(getattr(library, "__version__", "of unknown version"))
    return LoadedModel(calls, _name_folder(model) if kind == ONNX else model, version)


def _name_folder(folder: str) -> str:
    """The folder's own name and a digest of its files; the path is left out."""
    place = Path(folder).expanduser().resolve()
    total = sha256()
    for path in (_find_onnx(place), place / "tokenizer.json", *sorted(place.rglob("*.onnx_data"))):
        total.update(sha256(path.read_bytes()).digest())
    return f"{place.name}@{total.hexdigest()[:12]}"


def _find_onnx(place: Path) -> Path:
    files = [place / name for name in _ONNX_FILES if (place / name).is_file()]
    if not files or not (place / "tokenizer.json").is_file():
        raise FileNotFoundError(f"{place} holds no model.onnx with a tokenizer.json")
    return files[0]


class OnnxModel:
    """A model and its tokenizer as ONNX exports lay them out: model.onnx and tokenizer.json."""

    def __init__(self, library: Any, folder: str) -> None:  # noqa: ANN401 - a module
        from tokenizers import Tokenizer

        place = Path(folder).expanduser()
        self._session = library.InferenceSession(
            str(_find_onnx(place)), providers=["CPUExecutionProvider"]
        )
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.enable_padding()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text that the model reads."""
        return [
            sum(encoding.attention_mask) for encoding in self._encode(list(texts), _MOST_TOKENS)
        ]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The mean of the vectors of each text's tokens, as sentence models pool them."""
        import numpy as np

        vectors: list[NDArray[np.float32]] = []
        for at in range(0, len(texts), _BATCH):
            encoded = self._encode(list(texts[at : at + _BATCH]), _MOST_TOKENS)
            hidden = self._run(encoded)
            if hidden.ndim != 3:
                raise ModelFault("the model gives no vector per token, so it is not an embedder")
            mask = np.array([encoding.attention_mask for encoding in encoded], np.float32)[
                :, :, None
            ]
            vectors.append((hidden * mask).sum(axis=1) / mask.sum(axis=1))
        return np.concatenate(vectors)

    def score_pairs(self, question: str, texts: Sequence[str]) -> list[float]:
        """The score of each text beside the question, as a cross-encoder gives it."""
        scores: list[float] = []
        for at in range(0, len(texts), _BATCH):
            pairs = [(question, text) for text in texts[at : at + _BATCH]]
            logits = self._run(self._encode(pairs, 2 * _MOST_TOKENS))
            if logits.ndim > 2:
                raise ModelFault("the model gives vectors and no scores, so it is not a reranker")
            scores += [float(row[-1]) for row in logits.reshape(len(pairs), -1)]
        return scores

    def _encode(self, texts: list[Any], most: int) -> list[Any]:
        self._tokenizer.enable_truncation(most)
        encoded: list[Any] = self._tokenizer.encode_batch(texts)
        return encoded

    def _run(self, encoded: list[Any]) -> NDArray[np.float32]:
        import numpy as np

        tensors = {
            "input_ids": [encoding.ids for encoding in encoded],
            "attention_mask": [encoding.attention_mask for encoding in encoded],
            "token_type_ids": [encoding.type_ids for encoding in encoded],
        }
        inputs = {
            name: np.array(rows, np.int64) for name, rows in tensors.items() if name in self._inputs
        }
        output: NDArray[np.float32] = self._session.run(None, inputs)[0]
        return output


def _load_sentence_transformer(library: Any, model: str) -> Any:  # noqa: ANN401 - a module
    loaded = library.SentenceTransformer(model)
    return (
        lambda texts: loaded.encode(texts, convert_to_numpy=True, show_progress_bar=False),
        lambda texts: [len(ids) for ids in loaded.tokenizer(texts, truncation=True)["input_ids"]],
    )


def _load_fastembed(library: Any, model: str) -> Any:  # noqa: ANN401 - a module
    loaded = library.TextEmbedding(model_name=model)
    return (
        lambda texts: list(loaded.embed(texts)),
        lambda texts: [loaded.token_count([text]) for text in texts],
    )


def _load_onnx_embedder(library: Any, model: str) -> Any:  # noqa: ANN401 - a module
    loaded = OnnxModel(library, model)
    return loaded.embed, loaded.count_tokens


EMBEDDERS: Mapping[str, Loader] = {
    "sentence-transformers": _load_sentence_transformer,
    "fastembed": _load_fastembed,
    ONNX: _load_onnx_embedder,
}
"""Their calls embed texts, and count the tokens of each."""


def _load_cross_encoder(library: Any, model: str) -> Any:  # noqa: ANN401 - a module
    loaded = library.CrossEncoder(model)
    return lambda question, texts: loaded.predict(
        [(question, text) for text in texts], show_progress_bar=False
    )


def _load_fastembed_reranker(library: Any, model: str) -> Any:  # noqa: ANN401 - a module
    encoders = import_module(f"{library.__name__}.rerank.cross_encoder")
    loaded = encoders.TextCrossEncoder(model_name=model)
    return lambda question, texts: list(loaded.rerank(question, list(texts)))


RERANKERS: Mapping[str, Loader] = {
    "sentence-transformers": _load_cross_encoder,
    "fastembed": _load_fastembed_reranker,
    ONNX: lambda library, model: OnnxModel(library, model).score_pairs,
}
"""Their calls score texts beside a question."""
