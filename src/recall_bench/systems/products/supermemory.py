"""Supermemory: a service that makes memories of documents, through its own SDK.

True limits: written against version 5 of the SDK and run against a fake server only, never the
product. The day's date goes in as the date of a document; whether it decides anything is for the
service to know, and the question's date cannot be given. A document is `done` before its memories
are made, which is called dreaming: settling waits for both. A document that failed is an error.
Memories are in the service's words, so only those that carry the day of their document are traced.
"""

import contextlib
from collections.abc import Sequence
from datetime import date
from typing import Any, Literal

from recall_bench.systems.products.product import Product
from recall_bench.systems.products.service import (
    ServiceAdapter,
    ServiceErrors,
    SessionPiece,
    build_service_passage,
)


class Supermemory(ServiceAdapter):
    """Supermemory, a service: finds memories and the passages they were made of."""

    name = "supermemory"
    title = "Supermemory"
    package = "supermemory"
    key_variable = "SUPERMEMORY_API_KEY"
    place = "namespace"

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
        super().__init__(
            k=k,
            respect_sessions=respect_sessions,
            settle_timeout_s=settle_timeout_s,
            poll_s=poll_s,
        )
        self._base_url = base_url
        self._search_mode = search_mode
        self._dreaming = dreaming
        self._waiting: dict[str, str] = {}

    def connect(self) -> ServiceErrors:
        """Build the client."""
        from supermemory import (
            APIConnectionError,
            APIStatusError,
            APITimeoutError,
            AsyncSupermemory,
        )

        self._client = AsyncSupermemory(base_url=self._base_url, api_key=self._key, max_retries=0)
        return ServiceErrors(
            product=self.title,
            key=self._key,
            timeouts=(APITimeoutError,),
            connection_errors=(APIConnectionError,),
            status_errors=(APIStatusError,),
        )

    async def create_place(self) -> bool:
        """A namespace exists once it holds a document."""
        with _ignore_missing():
            found = await self._client.list(self._name, "documents", limit=1)
            return not found.documents
        return True

    async def add_piece(self, piece: SessionPiece) -> None:
        """Add a document."""
        added = await self._client.add(
            self._name,
            content=piece.text,
            id=piece.id,
            date=piece.at.isoformat(),
            metadata=piece.metadata,
            dreaming=self._dreaming,
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

    async def find_passages(
        self,
        question: str,
        *,
        limit: int,
        labels: Sequence[str] | None,
        today: date,  # noqa: ARG002 - the search does not take one
    ) -> list[dict[str, object]]:
        """What the service ranks first, with its similarity."""
        query: dict[str, object] = {
            "query": question,
            "search_mode": self._search_mode,
            "limit": limit,
            "include": {"documents": True},
        }
        if labels is not None:
            wanted = [{"field": "session", "operator": "eq", "value": label} for label in labels]
            query["filter"] = {"operator": "or", "operands": wanted}
        with _ignore_missing():
            reply = await self._client.search(self._name, **query)
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
