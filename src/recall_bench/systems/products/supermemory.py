"""Supermemory: a service that makes memories of documents, through its own SDK.

True limits: written against version 5 of the SDK and run against a fake server only, never the
product. The day's date goes in as the date of a document; whether it decides anything is for the
service to know, and the question's date cannot be given. A document is `done` before its memories
are made, which is called dreaming: settling waits for both. A document that failed is an error.
Memories are in the service's words, so only those that carry the day of their document are traced.
"""

import contextlib
from importlib.metadata import version
from typing import Any, Literal

from recall_bench.systems.products.product import Product
from recall_bench.systems.products.service import (
    SERVICE_CONCURRENCY,
    ServiceErrors,
    build_service_passage,
    list_visible_labels,
    make_unique_name,
    read_api_key,
    split_pieces,
    wait_for_processing,
)
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

KEY = "SUPERMEMORY_API_KEY"

_MAX_CHARS = 50_000
"""Of one document. The service names no limit; days are shorter than this but for made-up ones."""


class Supermemory:
    """Supermemory, a service: finds memories and the passages they were made of."""

    name = "supermemory"
    clock = "native"
    answers = False
    can_snapshot = False
    max_concurrency = SERVICE_CONCURRENCY

    def __init__(
        self,
        *,
        base_url: str | None = None,
        k: int = 10,
        respect_sessions: bool = False,
        search_mode: Literal["hybrid", "memories", "chunks"] = "hybrid",
        dreaming: Literal["dynamic", "instant"] = "dynamic",
        settle_timeout_s: float = 3600.0,
        poll_s: float = 5.0,
    ) -> None:
        self.version = version("supermemory")
        self.honours_sessions = respect_sessions
        self._base_url = base_url
        self._k = k
        self._search_mode = search_mode
        self._dreaming = dreaming
        self._settle_limits = {"timeout_s": settle_timeout_s, "poll_s": poll_s}
        self._key = read_api_key("Supermemory", KEY)
        self._namespace = make_unique_name()
        self._waiting: dict[str, str] = {}
        self._sent: set[str] = set()
        self._client: Any = None
        self._faults: Any = None

    async def setup(self) -> None:
        """Take a namespace of our own, and see that it is empty."""
        from supermemory import (
            APIConnectionError,
            APIStatusError,
            APITimeoutError,
            AsyncSupermemory,
        )

        self._faults = ServiceErrors(
            product="Supermemory",
            key=self._key,
            late=(APITimeoutError,),
            unreachable=(APIConnectionError,),
            refused=(APIStatusError,),
        )
        # The run has a patience of its own, and counts how often it was needed.
        self._client = AsyncSupermemory(base_url=self._base_url, api_key=self._key, max_retries=0)
        with self._faults.told(), _ignore_missing():
            there = await self._client.list(self._namespace, "documents", limit=1)
            if there.documents:
                raise RuntimeError(f"Supermemory's namespace {self._namespace} is not empty")

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add a document for each session of the day; what was taken already is not sent again."""
        for piece in split_pieces(day, content, metadata, most=_MAX_CHARS):
            if piece.id in self._sent:
                continue
            with self._faults.told():
                added = await self._client.add(
                    self._namespace,
                    content=piece.text,
                    id=piece.id,
                    date=piece.at.isoformat(),
                    metadata=piece.metadata,
                    dreaming=self._dreaming,
                )
            self._sent.add(piece.id)
            self._waiting[piece.id] = added.id

    async def finalize_ingestion(self) -> None:
        """Wait until every document is done and dreamt of."""
        await wait_for_processing("Supermemory", self._count_waiting, **self._settle_limits)

    async def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """What the service ranks first, with its similarity."""
        seen = list_visible_labels(context) if self.honours_sessions else None
        asked: dict[str, object] = {
            "query": question,
            "search_mode": self._search_mode,
            "limit": context.top_k or self._k,
            "include": {"documents": True},
        }
        if seen is not None:
            wanted = [{"field": "session", "operator": "eq", "value": each} for each in seen]
            asked["filter"] = {"operator": "or", "operands": wanted}
        with self._faults.told(), _ignore_missing():
            reply = await self._client.search(self._namespace, **asked)
            return {"passages": [_build_passage(result) for result in reply.results]}
        return {"passages": []}

    async def teardown(self) -> None:
        """Delete the namespace, if anything was ever put into it, and hang up."""
        if self._client is None:
            return
        async with self._client:
            if self._sent:
                with self._faults.told(), _ignore_missing():
                    await self._client.namespaces.delete(self._namespace)

    async def _count_waiting(self) -> int:
        for piece, document in list(self._waiting.items()):
            # For a moment after it was accepted, a document cannot be found.
            with self._faults.told(), _ignore_missing():
                state = (await self._client.documents.get(self._namespace, document)).system
                if state.status == "failed":
                    raise RuntimeError(f"Supermemory failed to process what it was given: {piece}")
                if state.status == "done" and state.dreaming_status == "done":
                    del self._waiting[piece]
        return len(self._waiting)


def _ignore_missing() -> contextlib.AbstractContextManager[None]:
    from supermemory import NotFoundError

    return contextlib.suppress(NotFoundError)


def _build_passage(result: Any) -> dict[str, object]:  # noqa: ANN401  the SDK's own record
    kept = dict(result.metadata or {})
    source = result.included.document if result.included else None
    if source is not None:
        kept = {**source.metadata, **kept}
    return build_service_passage(
        result.memory or result.chunk or "", kept, result.similarity, result_id=result.id
    )


product = Product(Supermemory, needs=("supermemory",))
