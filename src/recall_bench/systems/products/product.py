"""The folder a product keeps its data in."""

import inspect
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

from recall_bench.core.errors import UsageError
from recall_bench.core.memory import MemorySystem
from recall_bench.systems.python.system import build_python_system


def measure_folder(folder: Path) -> int:
    """What the files below a folder add up to, by their lengths."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            # A database may drop a file of its own in between, and that takes no room then.
            with suppress(FileNotFoundError):
                size += Path(place, name).lstat().st_size
    return size


ENDPOINT_MODEL = "recall-bench"
"""The model asked for: an endpoint made for the run has one embedder, whatever it is called."""

EMBEDDING_BATCH = 256
"""Texts in one request."""

EMBEDDING_TIMEOUT_S = 120.0

_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


class _EmbeddingRow(msgspec.Struct):
    index: int
    embedding: list[float]


class _EmbeddingReply(msgspec.Struct):
    data: list[_EmbeddingRow]


class ProductEmbedder:
    """Embeds in this process, or through an endpoint in OpenAI's manner if one is given."""

    def __init__(self, endpoint: str | None = None) -> None:
        self._endpoint = endpoint
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """How long each vector is."""
        if self._dimensions is None:
            self._dimensions = len(self.embed(["length"])[0])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text. ConnectionError or TimeoutError where the endpoint does not serve."""
        if self._endpoint is not None:
            url = f"{self._endpoint}/embeddings"
            return [
                vector
                for batch in _split_batches(texts)
                for vector in _request_embeddings(url, batch)
            ]
        from recall_bench.models.static_embedding import embed

        found: list[list[float]] = embed(texts).tolist()
        return found


def _split_batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), EMBEDDING_BATCH):
        yield texts[start : start + EMBEDDING_BATCH]


def _request_embeddings(url: str, texts: Sequence[str]) -> list[list[float]]:
    replied = _post(url, msgspec.json.encode({"model": ENDPOINT_MODEL, "input": list(texts)}))
    try:
        rows = msgspec.json.decode(replied, type=_EmbeddingReply).data
    except msgspec.DecodeError as error:
        raise ValueError(f"{url} did not reply with embeddings: {error}") from error
    if sorted(row.index for row in rows) != list(range(len(texts))):
        raise ValueError(f"{url} gave {len(rows)} vectors for {len(texts)} texts")
    return [row.embedding for row in sorted(rows, key=lambda row: row.index)]


def _post(url: str, body: bytes) -> bytes:
    # The endpoint is on this machine, where no proxy leads.
    opener = build_opener(ProxyHandler({}))
    request = Request(url, body, {"Content-Type": "application/json"})  # noqa: S310  the run's own
    try:
        with opener.open(request, timeout=EMBEDDING_TIMEOUT_S) as reply:
            replied: bytes = reply.read()
            return replied
    except HTTPError as error:
        said = error.read().decode("utf-8", "replace")[:500]
        if error.code in _BUSY:
            raise TimeoutError(f"{url} is busy: {said}") from error
        raise RuntimeError(f"{url} refused to embed (HTTP {error.code}): {said}") from error
    except URLError as error:
        raise ConnectionError(f"{url} cannot be reached: {error.reason}") from error


class Product:
    """Makes the system of a product from its settings, and says what is missing for it.

    Nothing of the product is imported before it is called.
    """

    def __init__(
        self,
        adapter: type,
        *,
        needs: tuple[str, ...] = (),
        programs: tuple[str, ...] = (),
        extra: str | None = None,
        wants_endpoint: bool = False,
    ) -> None:
        self.adapter = adapter
        self.name: str = getattr(adapter, "name", adapter.__name__)
        self.needs = needs
        """The modules it imports that the base install does not bring."""
        self.programs = programs
        """The programs it starts, which no extra installs."""
        self.extra = self.name if extra is None else extra
        """The extra of ours that installs them."""
        self.wants_endpoint = wants_endpoint
        """Whether it cannot do without a model endpoint, so that one must be started for it."""
        self.__doc__ = adapter.__doc__

    @property
    def takes_endpoint(self) -> bool:
        """Whether it can make use of a model endpoint: its adapter has a parameter for it."""
        return "endpoint" in inspect.signature(self.adapter).parameters

    @property
    def is_installed(self) -> bool:
        """Whether every module it needs can be imported here."""
        return all(_is_importable(module) for module in self.needs)

    def __call__(
        self, config: Mapping[str, object], *, endpoint: str | None = None
    ) -> MemorySystem:
        """The system, or UsageError. The endpoint, a base URL ending in /v1, is on no card."""
        if not self.is_installed:
            raise UsageError(
                f"{self.name} is not installed; pip install 'recall-bench[{self.extra}]'"
            )
        for program in self.programs:
            if shutil.which(program) is None:
                raise UsageError(
                    f"{self.name} needs the program {program}, which is not on the PATH; install it"
                )
        if endpoint is None and self.wants_endpoint:
            raise UsageError(f"{self.name} needs a model endpoint, and none was started for it")
        if endpoint is not None and not self.takes_endpoint:
            raise UsageError(f"{self.name} has no use for a model endpoint; start none for it")
        given = {"endpoint": endpoint} if self.takes_endpoint else {}
        return build_python_system(
            self.adapter, {**self._collect_defaults(given), **config}, given=given
        )

    def _collect_defaults(self, given: Mapping[str, object]) -> dict[str, object]:
        """The settings unsaid: they too decide what is found, so they belong on the card."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.adapter).parameters.items()
            if name not in given and parameter.default is not inspect.Parameter.empty
        }


def _is_importable(module: str) -> bool:
    if module in sys.modules:
        return True
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
