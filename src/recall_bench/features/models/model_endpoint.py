"""The model endpoint on loopback: one embedder for every product, and every token counted.

`--system-model` and `--system-embedder` choose its models. The built-in word vectors are the
default embedder.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Self

import anyio

from recall_bench.core.errors import ModelFault, UsageError
from recall_bench.core.folders import find_cache_folder
from recall_bench.core.memory import (
    Exchange,
    Memory,
    MemorySystem,
    Offer,
    Snapshots,
    SystemCard,
    TranscribingSystem,
    get_worker_limit,
    list_offers,
    reopen_memory,
    reopen_state,
)
from recall_bench.core.redaction import learn_secrets
from recall_bench.core.settings import Settings
from recall_bench.core.usage import Usage, UsageMeter
from recall_bench.core.user_code import require_libraries
from recall_bench.features.models.embedders import (
    Embedder,
    Embeddings,
    Reranker,
    open_embedder,
    open_reranker,
)
from recall_bench.systems.models import static_embedding
from recall_bench.systems.parent_endpoint import (
    BUILT_IN_EMBEDDER,
    ParentEndpoint,
    find_parent_url,
    started_here,
)
from recall_bench.systems.transports.child_environment import ENDPOINT_VARIABLE

if TYPE_CHECKING:
    from recall_bench.features.models.chat_completions import Chat
    from recall_bench.features.models.endpoint_server import ServerThread


class WordVectors(Embedder):
    """The built-in word vectors; they need no network and cost nothing."""

    name = model = identity = "wordllama"
    length = static_embedding.DIMENSIONS

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return one unit vector per text; zeros for a text without tokens."""
        with self._lock:
            return Embeddings(
                vectors=static_embedding.embed(texts), tokens=static_embedding.count_tokens(texts)
            )


UNUSED_KEY = "unused"
"""A key for products that require one; it is checked only if there is a token."""


class ModelEndpoint:
    """Serves the embedder, and the model if there is one, between `start` and `stop`."""

    def __init__(
        self,
        *,
        embedder: Embedder | None = None,
        chat: "Chat | None" = None,
        reranker: Reranker | None = None,
        port: int = 0,
        token: str | None = None,
        is_token_in_url: bool = False,
    ) -> None:
        """With a token, only requests that carry it are served: as their key, or in the URL."""
        self._token = token
        self._prefix = f"/{token}" if is_token_in_url else ""
        self._embedder = embedder or WordVectors()
        self._chat = chat
        self._reranker = reranker
        self._port = port
        self._serving: ServerThread | None = None
        self.meter = UsageMeter()
        """The usage of products, over all starts."""

    @property
    def url(self) -> str:
        """The base URL for products, including the version."""
        if self._serving is None:
            raise UsageError("the model endpoint has no address yet; start it first")
        return f"http://127.0.0.1:{self._serving.port}{self._prefix}/v1"

    @property
    def embedding_model(self) -> str:
        """The embedder's name for products; other names get the same vectors."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """The length of the vectors; may call the embedder to find out, which is not metered."""
        return self._embedder.dimensions

    @property
    def embedder(self) -> str:
        """The exact name of the embedder, without secrets."""
        return self._embedder.name

    @property
    def model(self) -> str | None:
        """The exact name of the language model; None if there is none."""
        return None if self._chat is None else self._chat.name

    @property
    def reranker(self) -> str | None:
        """The exact name of the reranker; None if there is none."""
        return None if self._reranker is None else self._reranker.name

    def start(self) -> None:
        """Start the endpoint and wait until it answers; UsageError if it cannot start.

        The models are asked once first, so that no product waits while they load.
        """
        if self._serving is not None:
            return
        require_libraries("the model endpoint", "http", "starlette", "uvicorn")
        from recall_bench.features.models.endpoint_server import EndpointApplication, ServerThread

        model = "embedder"
        try:
            self._embedder.embed(["ready"])
            if self._reranker is not None:
                model = "reranker"
                self._reranker.score("ready", ["ready"])
        except ModelFault as fault:
            self.stop()
            raise UsageError(f"the {model} cannot be asked: {fault}") from fault
        application = EndpointApplication(
            self._embedder, self._chat, self.meter, reranker=self._reranker, token=self._token
        )
        serving = ServerThread(
            application.app, port=self._port, hang_up=application.cancel_requests
        )
        serving.start()
        self._serving = serving

    def stop(self) -> None:
        """Stop the endpoint and wait for its end. May be called twice."""
        serving, self._serving = self._serving, None
        if serving is not None:
            serving.stop()
        self._embedder.close()
        if self._reranker is not None:
            self._reranker.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def open_metered_system(
    endpoint: ModelEndpoint | ParentEndpoint, made: Callable[[str], MemorySystem]
) -> "EndpointSystem":
    """Start the endpoint, and make the system with its address.

    Until the system is closed, child processes find the endpoint in their environment. If the
    system cannot be made, the endpoint is stopped.
    """
    endpoint.start()
    if isinstance(endpoint, ModelEndpoint):
        started_here.add(endpoint.url)
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
    """A system with its model endpoint, which counts every token."""

    def __init__(
        self, system: MemorySystem, endpoint: ModelEndpoint | ParentEndpoint, before: str | None
    ) -> None:
        self._system = system
        self._endpoint = endpoint
        self._before = before

    @property
    def card(self) -> SystemCard:
        """The system's card with its embedder and language model."""
        card = self._system.card
        models: dict[str, object] = {"embedder": self._endpoint.embedder}
        if self._endpoint.model is not None:
            models["model"] = self._endpoint.model
        if self._endpoint.reranker is not None:
            models["reranker"] = self._endpoint.reranker
        return card.replace(config={**card.config, "endpoint": models})

    @property
    def snapshots(self) -> Snapshots | None:
        """The system's."""
        return self._system.snapshots

    @property
    def max_shards(self) -> int | None:
        """The system's: every worker starts its own endpoint."""
        return get_worker_limit(self._system)

    @property
    def offers(self) -> frozenset[Offer]:
        """The system's."""
        return list_offers(self._system)

    async def open(self, scenario: str) -> Memory:
        """Open a memory of the system."""
        return await self._system.open(scenario)

    async def reopen(self, memory: Memory) -> Memory:
        """Reopen a memory of the system."""
        return await reopen_memory(self._system, memory)

    async def reopen_folder(self, folder: Path, scenario: str) -> Memory:
        """Go on with what a memory of the system left in another process."""
        return await reopen_state(self._system, folder, scenario)

    async def close(self) -> None:
        """Close the system, then stop the endpoint."""
        try:
            await self._system.close()
        finally:
            _restore_variable(self._before)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._endpoint.stop)

    def drain(self) -> Usage:
        """Return the usage at the endpoint since the last call."""
        return self._endpoint.meter.drain()

    def drain_exchanges(self, scenario: str) -> tuple[Exchange, ...]:
        """The system's, if it is an agent."""
        agent = self._system
        return agent.drain_exchanges(scenario) if isinstance(agent, TranscribingSystem) else ()


def resolve_endpoint(
    settings: Settings, environ: Mapping[str, str] | None = None
) -> ModelEndpoint | ParentEndpoint:
    """Return the endpoint of the settings, not started; UsageError if it cannot be built.

    A child of a process with an endpoint uses that one.
    """
    environ = os.environ if environ is None else environ
    if above := find_parent_url(environ):
        if settings.has_endpoint_models:
            raise UsageError(
                "--system-model, --system-embedder, --system-reranker: the endpoint that "
                "RECALL_BENCH_ENDPOINT names has its own; leave them out, or unset the variable"
            )
        return ParentEndpoint(above)
    # Products need no setting for it there, and no other user of this machine spends what it costs.
    token = token_urlsafe(24)
    learn_secrets({"token": token})
    return build_endpoint(settings, environ, token=token, is_token_in_url=True)


def build_endpoint(
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    *,
    port: int = 0,
    token: str | None = None,
    is_token_in_url: bool = False,
    flags: tuple[str, str, str] = ("--system-model", "--system-embedder", "--system-reranker"),
) -> ModelEndpoint:
    """Return an endpoint of this process, not started. Messages name the flags."""
    embedder, reranker, chat = settings.system_embedder, settings.system_reranker, None
    if embedder is not None and embedder.strip() == BUILT_IN_EMBEDDER:
        embedder = None
    with _name_flag(flags[1]):
        opened = None if embedder is None else open_embedder(embedder, environ)
    if opened is not None and settings.embedding_cache:
        from recall_bench.features.models.embedding_cache import CachedEmbedder, EmbeddingCache

        with _name_flag("--embedding-cache"):
            opened = CachedEmbedder(opened, EmbeddingCache(find_cache_folder() / "embeddings"))
    if settings.system_model is not None:
        from recall_bench.features.models.chat_completions import open_chat
        from recall_bench.features.models.model_spec import parse_spec

        with _name_flag(flags[0]):
            spec = parse_spec(settings.system_model, environ)
            if spec is None:
                # Not repeated: it may hold a key.
                raise UsageError("names no language model; write provider:model")
            chat = open_chat(spec, environ)
    with _name_flag(flags[2]):
        ranker = None if reranker is None else open_reranker(reranker, environ)
    return ModelEndpoint(
        embedder=opened,
        chat=chat,
        reranker=ranker,
        port=port,
        token=token,
        is_token_in_url=is_token_in_url,
    )


@contextmanager
def _name_flag(flag: str) -> Iterator[None]:
    """Errors of a model begin with the flag that names it."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error


def open_endpoint_system(
    settings: Settings, build: Callable[[str | None], MemorySystem]
) -> MemorySystem:
    """Build a system beside the endpoint of the settings, which starts and stops with it."""
    return open_metered_system(resolve_endpoint(settings), build)
