"""From `--system-model` and `--system-embedder` to the endpoint that products call."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from recall_bench.endpoint.endpoint import ENDPOINT_VARIABLE, ModelEndpoint, ParentEndpoint
from recall_bench.errors import UsageError
from recall_bench.settings import Settings
from recall_bench.shipped import find_cache_folder

if TYPE_CHECKING:
    from recall_bench.endpoint.chat import Chat
    from recall_bench.models.embedders import Embedder

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
    from recall_bench.endpoint.chat import open_chat
    from recall_bench.models.spec import parse_spec

    try:
        spec = parse_spec(target, environ)
        if spec is not None:
            return open_chat(spec, environ)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    # Not repeated: it may hold a key.
    raise UsageError(f"{flag}: names no language model; write provider:model")
