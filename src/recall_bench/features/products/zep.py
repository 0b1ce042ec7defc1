"""Zep: a service that makes a graph of facts, each with the time it holds, through its own SDK.

True limits: written against version 4 of the SDK and run against a fake server only, never the
product. The day goes in as the reference time of an episode, with its zone, because a bare date is
refused, as are more than 10,000 characters at once. What comes back is dated by when the fact holds
(`valid_at`), which Zep reads out of the text: that is not always the day on which it was said. A
fact is in Zep's words; its day is that of the first of its episodes that this memory was given.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

from recall_bench.features.products.product import Product
from recall_bench.features.products.service import (
    PolledServiceAdapter,
    ServiceErrors,
    ServiceQuery,
    SessionPiece,
    build_service_passage,
)

MAX_CHARS = 10_000
"""Of one episode; Zep refuses more."""

MAX_FACTS = 50
"""Of one search; Zep gives no more."""

_TIMEOUT_S = 60.0
"""For one request, as in the SDK."""


@dataclass(kw_only=True, eq=False)
class Zep(PolledServiceAdapter):
    """Zep, a service: finds the facts of a graph."""

    name = "zep"
    title = "Zep"
    package = "zep-cloud"
    key_variable = "ZEP_API_KEY"
    place = "graph"
    max_chars = MAX_CHARS

    reranker: Literal["rrf", "cross_encoder"] = "rrf"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._graph: str | None = None
        self._episodes: dict[str, SessionPiece] = {}
        self._waiting: set[str] = set()
        self._http: Any = None

    def connect(self) -> ServiceErrors:
        """Build the client."""
        import httpx
        from zep_cloud.client import AsyncZep
        from zep_cloud.core.api_error import ApiError

        self._http = httpx.AsyncClient(timeout=_TIMEOUT_S, follow_redirects=True)
        self._client = AsyncZep(
            base_url=self.base_url, api_key=self._key, max_retries=0, httpx_client=self._http
        )
        return ServiceErrors(
            product=self.title,
            key=self._key,
            timeouts=(httpx.TimeoutException,),
            connection_errors=(httpx.TransportError,),
            status_errors=(ApiError,),
        )

    async def create_place(self) -> bool:
        """Create a graph."""
        graph = await self._client.graph.create(name=self._name, idempotency_key=self._name)
        self._graph = graph.uuid_
        episodes = await self._client.graph.episode.list(self._graph, page_size=1)
        return not episodes.items

    async def add_piece(self, piece: SessionPiece) -> None:
        """Add an episode."""
        added = await self._client.graph.episode.add(
            self._graph,
            data=piece.text,
            type="text",
            reference_time=piece.at.isoformat(),
            metadata=piece.metadata,
            idempotency_key=f"{self._name}-{piece.id}",
        )
        self._episodes[added.episode.uuid_] = piece
        self._waiting.add(added.episode.uuid_)

    async def count_waiting(self) -> int:
        """Episodes of which Zep has not made facts yet."""
        for episode in sorted(self._waiting):
            if (await self._client.graph.episode.get(self._graph, episode)).processed:
                self._waiting.discard(episode)
        return len(self._waiting)

    async def find_passages(self, query: ServiceQuery) -> list[dict[str, object]]:
        """The facts Zep ranks first; the score is its own."""
        from zep_cloud.types import EdgeSearchFilters, MetadataFilter, MetadataFilterGroup

        only: dict[str, object] = {}
        if query.labels is not None:
            own = MetadataFilter(property_name="session", operator="in", value=query.labels)
            group = MetadataFilterGroup(type="and", filters=[own])
            only["filters"] = EdgeSearchFilters(metadata_filters=group)
        facts = await self._client.graph.search_edges(
            self._graph,
            query=query.question,
            page_size=min(query.limit, MAX_FACTS),
            reranker=self.reranker,
            **only,
        )
        return [self._build_passage(fact) for fact in facts.items or ()]

    async def delete_place(self) -> None:
        """Delete the graph."""
        if self._graph is not None:
            await self._client.graph.delete(self._graph)

    async def close_client(self) -> None:
        """Close the client's connections."""
        await self._http.aclose()

    def _build_passage(self, fact: Any) -> dict[str, object]:  # noqa: ANN401  the SDK's own record
        sources = [
            self._episodes[episode]
            for episode in fact.episode_uuids or ()
            if episode in self._episodes
        ]
        metadata: dict[str, object] = dict(sources[0].metadata) if sources else {}
        if fact.valid_at:
            metadata["date"] = _parse_date(fact.valid_at).isoformat()
        text = fact.fact or ""
        if fact.invalid_at:
            text += f" (until {_parse_date(fact.invalid_at)})"
        score = fact.score if fact.relevance is None else fact.relevance
        return build_service_passage(text, metadata, score, result_id=fact.uuid_)


def _parse_date(moment: str) -> date:
    return datetime.fromisoformat(moment).date()


product = Product(Zep, needs=("zep_cloud",))
