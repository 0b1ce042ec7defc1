"""A model endpoint on loopback: one embedder for every product, and every token on the meter."""

from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import msgspec

from recall_bench.endpoint.meter import UsageMeter
from recall_bench.endpoint.remembering import MemoryCachedEmbedder
from recall_bench.endpoint.word_vectors import WordVectors
from recall_bench.errors import ModelFault, UsageError
from recall_bench.models.embedders import Embedder

if TYPE_CHECKING:
    from recall_bench.endpoint.chat import Chat
    from recall_bench.endpoint.serving_thread import ServerThread

ENDPOINT_VARIABLE = "RECALL_BENCH_ENDPOINT"
"""The environment variable that names the endpoint of the process above."""

UNUSED_KEY = "unused"
"""What to give a product that insists on a key: nobody looks at it."""


class ModelEndpoint:
    """Serves the embedder, and the model if there is one, between `start` and `stop`."""

    def __init__(
        self, *, embedder: Embedder | None = None, chat: "Chat | None" = None, port: int = 0
    ) -> None:
        self._embedder = MemoryCachedEmbedder(WordVectors() if embedder is None else embedder)
        self._chat = chat
        self._port = port
        self._serving: ServerThread | None = None
        self.meter = UsageMeter()
        """What products have spent, over all starts."""

    @property
    def url(self) -> str:
        """What a product is given as its base URL, version included."""
        if self._serving is None:
            raise UsageError("the model endpoint has no address yet; start it first")
        return f"http://127.0.0.1:{self._serving.port}/v1"

    @property
    def embedding_model(self) -> str:
        """What a product may call the embedder; any other name is served the same."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """How long the vectors are; may ask the embedder to find out, which is not metered."""
        return self._embedder.dimensions

    @property
    def embedder(self) -> str:
        """The embedder, precisely, for the record; no secret is in it."""
        return self._embedder.name

    @property
    def model(self) -> str | None:
        """The language model, precisely, for the record; None if there is none."""
        return None if self._chat is None else self._chat.name

    def start(self) -> None:
        """Return once requests are answered; UsageError if they cannot be.

        The embedder is asked for one vector first, so that no product waits for it to be loaded.
        """
        if self._serving is not None:
            return
        try:
            from recall_bench.endpoint.application import EndpointApplication
            from recall_bench.endpoint.serving_thread import ServerThread
        except ImportError as missing:
            raise UsageError(
                "the model endpoint needs packages that are not installed; "
                "pip install 'recall-bench[http]'"
            ) from missing
        try:
            self._embedder.embed(["ready"])
        except ModelFault as fault:
            self._embedder.close()
            raise UsageError(f"the embedder cannot be asked: {fault}") from fault
        application = EndpointApplication(self._embedder, self._chat, self.meter)
        serving = ServerThread(
            application.app, port=self._port, hang_up=application.cancel_requests
        )
        serving.start()
        self._serving = serving

    def stop(self) -> None:
        """Return once nothing of it runs. Stopping twice is no mistake."""
        serving, self._serving = self._serving, None
        if serving is not None:
            serving.stop()
        self._embedder.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class ParentEndpoint:
    """The endpoint of the process above, which started it, meters it and will stop it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url.strip())
        if parts.scheme != "http" or parts.hostname not in {"127.0.0.1", "localhost"}:
            raise UsageError(
                f"{ENDPOINT_VARIABLE}: names no endpoint on this machine; leave it to recall-bench to set"
            )
        self.url = url.strip().rstrip("/")
        """What a product is given as its base URL."""
        self.meter = UsageMeter()
        """Stays empty: the process above counts."""
        self._offered: list[dict[str, Any]] = []

    @property
    def embedding_model(self) -> str:
        """What a product may call the embedder."""
        return str(self._embedding_entry["id"])

    @property
    def dimensions(self) -> int:
        """How long the vectors are."""
        return int(self._embedding_entry["dimensions"])

    @property
    def embedder(self) -> str:
        """The embedder, precisely, for the record."""
        return str(self._embedding_entry["embedder"])

    @property
    def model(self) -> str | None:
        """What a product may call the language model; None if there is none."""
        _ = self._embedding_entry
        names = (str(model["id"]) for model in self._offered if "dimensions" not in model)
        return next(names, None)

    @property
    def _embedding_entry(self) -> dict[str, Any]:
        if not self._offered:
            self.start()
        return next(model for model in self._offered if "dimensions" in model)

    def start(self) -> None:
        """Make sure that it is there; UsageError otherwise."""
        self._offered = self._fetch_models()

    def stop(self) -> None:
        """Nothing: it is not ours to stop."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _fetch_models(self) -> list[dict[str, Any]]:
        parts = urlsplit(self.url)
        line = HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        try:
            line.request("GET", f"{parts.path}/models")
            listed = msgspec.json.decode(line.getresponse().read(), type=_ModelList).data
        except (OSError, HTTPException, msgspec.MsgspecError) as error:
            raise self._make_missing_error() from error
        finally:
            line.close()
        if not any("dimensions" in model for model in listed):
            raise self._make_missing_error()
        return listed

    def _make_missing_error(self) -> UsageError:
        return UsageError(
            f"{ENDPOINT_VARIABLE}: no model endpoint answers at {self.url}; start recall-bench endpoint, "
            "or unset the variable"
        )


class _ModelList(msgspec.Struct):
    """The part of `/v1/models` that matters."""

    data: list[dict[str, Any]]
