"""The embedded word vectors as an embedder: what every product gets unless another is named."""

import threading
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import msgspec

from recall_bench.core.errors import ModelFault, UsageError
from recall_bench.core.usage import UsageMeter
from recall_bench.models import static_embedding
from recall_bench.models.embedders import Embedder, Embeddings
from recall_bench.models.embedding_cache import MemoryCachedEmbedder

if TYPE_CHECKING:
    from recall_bench.systems.endpoint.chat_completions import Chat
    from recall_bench.systems.endpoint.endpoint_server import ServerThread
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import anyio

from recall_bench.core.cache_folder import find_cache_folder
from recall_bench.core.memory import Memory, MemorySystem, Snapshots, SystemCard, get_worker_limit
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage

if TYPE_CHECKING:
    from recall_bench.models.embedders import Embedder
    from recall_bench.systems.endpoint.chat_completions import Chat


class WordVectors:
    """Never touches the network, and costs nothing."""

    name = "wordllama"
    model = "wordllama"
    dimensions = static_embedding.DIMENSIONS

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """One unit vector a text; all zeros for a text without a single token."""
        with self._lock:
            return Embeddings(
                vectors=static_embedding.embed(texts), tokens=static_embedding.count_tokens(texts)
            )

    def close(self) -> None:
        """Nothing to release."""


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
            from recall_bench.systems.endpoint.endpoint_server import (
                EndpointApplication,
                ServerThread,
            )
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


def open_metered_system(
    endpoint: ModelEndpoint | ParentEndpoint, made: Callable[[str], MemorySystem]
) -> "EndpointSystem":
    """Start the endpoint, make the system with its address, and keep the two together.

    Until the system is closed, child processes find the endpoint in their environment. If the
    system cannot be made, the endpoint is stopped again.
    """
    endpoint.start()
    before = os.environ.get(ENDPOINT_VARIABLE)
    os.environ[ENDPOINT_VARIABLE] = endpoint.url
    try:
        return EndpointSystem(made(endpoint.url), endpoint, before)
    except BaseException:
        _restore_variable(before)
        endpoint.stop()
        raise


def _restore_variable(before: str | None) -> None:
    if before is None:
        os.environ.pop(ENDPOINT_VARIABLE, None)
    else:
        os.environ[ENDPOINT_VARIABLE] = before


class EndpointSystem:
    """The system, with every token it spends at its endpoint counted."""

    def __init__(
        self, system: MemorySystem, endpoint: ModelEndpoint | ParentEndpoint, before: str | None
    ) -> None:
        self._system = system
        self._endpoint = endpoint
        self._before = before

    @property
    def card(self) -> SystemCard:
        """The system's, and what it embeds and chats with."""
        card = self._system.card
        models: dict[str, object] = {"embedder": self._endpoint.embedder}
        if self._endpoint.model is not None:
            models["model"] = self._endpoint.model
        return card.replace(config={**card.config, "endpoint": models})

    @property
    def snapshots(self) -> Snapshots | None:
        """The system's."""
        return self._system.snapshots

    @property
    def max_shards(self) -> int | None:
        """The system's: every worker starts an endpoint of its own."""
        return get_worker_limit(self._system)

    async def open(self, scenario: str) -> Memory:
        """A memory of the system."""
        return await self._system.open(scenario)

    async def close(self) -> None:
        """Close the system, then stop the endpoint."""
        try:
            await self._system.close()
        finally:
            _restore_variable(self._before)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._endpoint.stop)

    def drain(self) -> Usage:
        """What was spent at the endpoint since the last time."""
        return self._endpoint.meter.drain()


BUILT_IN_EMBEDDER = "wordllama"
"""What the embedded word vectors are called."""


def is_parent_endpoint_set(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the process that started this one has an endpoint for it."""
    return bool((os.environ if environ is None else environ).get(ENDPOINT_VARIABLE, "").strip())


def resolve_endpoint(
    settings: Settings, environ: Mapping[str, str] | None = None, *, port: int = 0
) -> ModelEndpoint | ParentEndpoint:
    """The endpoint that the settings ask for, not started; UsageError if it could not be.

    In a process that was started by another one with an endpoint, that one.
    """
    environ = os.environ if environ is None else environ
    if above := environ.get(ENDPOINT_VARIABLE, "").strip():
        if settings.system_model is not None or settings.system_embedder is not None:
            raise UsageError(
                "--system-model, --system-embedder: the endpoint that RECALL_BENCH_ENDPOINT names "
                "has its own; leave them out, or unset the variable"
            )
        return ParentEndpoint(above)
    return build_endpoint(settings, environ, port=port)


def build_endpoint(
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    *,
    port: int = 0,
    flags: tuple[str, str] = ("--system-model", "--system-embedder"),
) -> ModelEndpoint:
    """An endpoint of this process, not started. The flags are what a mistake is told by."""
    return ModelEndpoint(
        embedder=_open_embedder(settings, environ, flags[1]),
        chat=_open_chat(settings.system_model, environ, flags[0]),
        port=port,
    )


def _open_embedder(
    settings: Settings, environ: Mapping[str, str] | None, flag: str
) -> "Embedder | None":
    target = settings.system_embedder
    if target is None or target.strip() == BUILT_IN_EMBEDDER:
        return None
    from recall_bench.models.embedders import open_embedder

    try:
        opened = open_embedder(target, environ)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    if not settings.embedding_cache:
        return opened
    from recall_bench.models.embedding_cache import CachedEmbedder, EmbeddingCache

    try:
        return CachedEmbedder(opened, EmbeddingCache(find_cache_folder() / "embeddings"))
    except UsageError as error:
        raise UsageError(f"--embedding-cache: {error}") from error


def _open_chat(target: str | None, environ: Mapping[str, str] | None, flag: str) -> "Chat | None":
    if target is None:
        return None
    from recall_bench.models.model_spec import parse_spec
    from recall_bench.systems.endpoint.chat_completions import open_chat

    try:
        spec = parse_spec(target, environ)
        if spec is not None:
            return open_chat(spec, environ)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    # Not repeated: it may hold a key.
    raise UsageError(f"{flag}: names no language model; write provider:model")
