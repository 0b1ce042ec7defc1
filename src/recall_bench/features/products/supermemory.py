"""Supermemory: a service that makes memories of documents, through its own SDK.

True limits: written against version 5 of the SDK and run against a fake server only, never the
product. The day's date goes in as the date of a document; whether it decides anything is for the
service to know, and the question's date cannot be given. A document is `done` before its memories
are made, which is called dreaming: settling waits for both. A document that failed is an error.
Memories are in the service's words, so only those that carry the day of their document are traced.
"""

import contextlib
from dataclasses import dataclass
from typing import Any, Literal

from recall_bench.features.products.product import Product
from recall_bench.features.products.service import (
    PolledServiceAdapter,
    ServiceErrors,
    ServiceQuery,
    SessionPiece,
    build_service_passage,
)


@dataclass(kw_only=True, eq=False)
class Supermemory(PolledServiceAdapter):
    """Supermemory, a service: finds memories and the passages they were made of."""

    name = "supermemory"
    title = "Supermemory"
    package = "supermemory"
    key_variable = "SUPERMEMORY_API_KEY"
    place = "namespace"

    search_mode: Literal["hybrid", "memories", "chunks"] = "hybrid"
    dreaming: Literal["dynamic", "instant"] = "dynamic"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._waiting: dict[str, str] = {}

    def connect(self) -> ServiceErrors:
        """Build the client."""
        import supermemory

        self._client = supermemory.AsyncSupermemory(
            base_url=self.base_url, api_key=self._key, max_retries=0
        )
        return ServiceErrors.read_sdk(supermemory, self.title, self._key)

    async def create_place(self) -> bool:
        """A namespace exists once it holds a document."""
        with _ignore_missing():
            reply = await self._client.list(self._name, "documents", limit=1)
            return not reply.documents
        return True

    async def add_piece(self, piece: SessionPiece) -> None:
        """Add a document."""
        added = await self._client.add(
            self._name,
            content=piece.text,
            id=piece.id,
            date=piece.at.isoformat(),
            metadata=piece.metadata,
            dreaming=self.dreaming,
        )
        self._waiting[piece.id] = added.id

    async def count_waiting(self) -> int:
        """Documents that are not done or not dreamt of."""
        for piece, document in list(self._waiting.items()):
            # For a moment after it was accepted, a document cannot be found.
            with _ignore_missing():
                state = (await self._client.documents.get(self._name, document)).system
                if state.status == "failed":
                    raise RuntimeError(f"Supermemory failed to process what it was given: {piece}")
                if state.status == "done" and state.dreaming_status == "done":
                    del self._waiting[piece]
        return len(self._waiting)

    async def find_passages(self, query: ServiceQuery) -> list[dict[str, object]]:
        """What the service ranks first, with its similarity."""
        request: dict[str, object] = {
            "query": query.question,
            "search_mode": self.search_mode,
            "limit": query.limit,
            "include": {"documents": True},
        }
        if query.labels is not None:
            operands = [
                {"field": "session", "operator": "eq", "value": label} for label in query.labels
            ]
            request["filter"] = {"operator": "or", "operands": operands}
        with _ignore_missing():
            reply = await self._client.search(self._name, **request)
            return [_build_passage(result) for result in reply.results]
        return []

    async def delete_place(self) -> None:
        """Delete the namespace, if anything was ever added to it."""
        if self._sent:
            with _ignore_missing():
                await self._client.namespaces.delete(self._name)


def _ignore_missing() -> contextlib.AbstractContextManager[None]:
    from supermemory import NotFoundError

    return contextlib.suppress(NotFoundError)


def _build_passage(result: Any) -> dict[str, object]:  # noqa: ANN401  the SDK's own record
    metadata = dict(result.metadata or {})
    source = result.included.document if result.included else None
    if source is not None:
        metadata = {**source.metadata, **metadata}
    return build_service_passage(
        result.memory or result.chunk or "", metadata, result.similarity, result_id=result.id
    )


product = Product(Supermemory, needs=("supermemory",))
