"""Zep: a service that makes a graph of facts, each with the time it holds, through its own SDK.

True limits: written against version 4 of the SDK and run against a fake server only, never the
product. The day goes in as the reference time of an episode, with its zone, for a bare date is
refused, as are more than 10,000 characters at once. What comes back is dated by when the fact holds
(`valid_at`), which Zep reads out of the text: that is not always the day on which it was said. A
fact is in Zep's words; its day is that of the first of its episodes that this memory was given.
"""

from datetime import date, datetime
from importlib.metadata import version
from typing import Any, Literal

from recall_bench.systems.products.product import Product
from recall_bench.systems.products.service import (
    SERVICE_CONCURRENCY,
    ServiceErrors,
    SessionPiece,
    build_service_passage,
    list_visible_labels,
    make_unique_name,
    read_api_key,
    split_pieces,
    undo_on_failure,
    wait_for_processing,
)
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

KEY = "ZEP_API_KEY"

MAX_CHARS = 10_000
"""Of one episode; Zep refuses more."""

MAX_FACTS = 50
"""Of one search, as far as Zep goes."""

_TIMEOUT_S = 60.0
"""For one request, as the SDK has it."""


class Zep:
    """Zep, a service: finds the facts of a graph."""

    name = "zep"
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
        reranker: Literal["rrf", "cross_encoder"] = "rrf",
        settle_timeout_s: float = 3600.0,
        poll_s: float = 5.0,
    ) -> None:
        self.version = version("zep-cloud")
        self.honours_sessions = respect_sessions
        self._base_url = base_url
        self._k = k
        self._reranker = reranker
        self._settle_limits = {"timeout_s": settle_timeout_s, "poll_s": poll_s}
        self._key = read_api_key("Zep", KEY)
        self._name = make_unique_name()
        self._graph: str | None = None
        self._episodes: dict[str, SessionPiece] = {}
        self._sent: set[str] = set()
        self._waiting: set[str] = set()
        self._http: Any = None
        self._client: Any = None
        self._faults: Any = None

    async def setup(self) -> None:
        """Create a graph of our own, and see that it is empty."""
        import httpx
        from zep_cloud.client import AsyncZep
        from zep_cloud.core.api_error import ApiError

        self._faults = ServiceErrors(
            product="Zep",
            key=self._key,
            late=(httpx.TimeoutException,),
            unreachable=(httpx.TransportError,),
            refused=(ApiError,),
        )
        self._http = httpx.AsyncClient(timeout=_TIMEOUT_S, follow_redirects=True)
        # The run has a patience of its own, and counts how often it was needed.
        self._client = AsyncZep(
            base_url=self._base_url, api_key=self._key, max_retries=0, httpx_client=self._http
        )
        async with undo_on_failure(self.teardown):
            with self._faults.told():
                graph = await self._client.graph.create(name=self._name, idempotency_key=self._name)
                self._graph = graph.uuid_
                there = await self._client.graph.episode.list(self._graph, page_size=1)
        if there.items:
            raise RuntimeError(f"Zep's graph {self._name} is not empty")

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add an episode for each session of the day; what was taken already is not sent again."""
        for piece in split_pieces(day, content, metadata, most=MAX_CHARS):
            if piece.id in self._sent:
                continue
            with self._faults.told():
                added = await self._client.graph.episode.add(
                    self._graph,
                    data=piece.text,
                    type="text",
                    reference_time=piece.at.isoformat(),
                    metadata=piece.metadata,
                    idempotency_key=f"{self._name}-{piece.id}",
                )
            self._sent.add(piece.id)
            self._episodes[added.episode.uuid_] = piece
            self._waiting.add(added.episode.uuid_)

    async def finalize_ingestion(self) -> None:
        """Wait until Zep has made facts of every episode."""
        await wait_for_processing("Zep", self._count_waiting, **self._settle_limits)

    async def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The facts Zep ranks first; the score is its own."""
        from zep_cloud.types import EdgeSearchFilters, MetadataFilter, MetadataFilterGroup

        asked: dict[str, object] = {}
        seen = list_visible_labels(context) if self.honours_sessions else None
        if seen is not None:
            own = MetadataFilter(property_name="session", operator="in", value=seen)
            only = MetadataFilterGroup(type="and", filters=[own])
            asked["filters"] = EdgeSearchFilters(metadata_filters=only)
        with self._faults.told():
            facts = await self._client.graph.search_edges(
                self._graph,
                query=question,
                page_size=min(context.top_k or self._k, MAX_FACTS),
                reranker=self._reranker,
                **asked,
            )
        return {"passages": [self._build_passage(fact) for fact in facts.items or ()]}

    async def teardown(self) -> None:
        """Delete the graph, and hang up."""
        if self._http is None:
            return
        try:
            if self._graph is not None:
                with self._faults.told():
                    await self._client.graph.delete(self._graph)
        finally:
            await self._http.aclose()

    async def _count_waiting(self) -> int:
        for episode in sorted(self._waiting):
            with self._faults.told():
                state = await self._client.graph.episode.get(self._graph, episode)
            if state.processed:
                self._waiting.discard(episode)
        return len(self._waiting)

    def _build_passage(self, fact: Any) -> dict[str, object]:  # noqa: ANN401  the SDK's own record
        sources = [
            self._episodes[each] for each in fact.episode_uuids or () if each in self._episodes
        ]
        kept: dict[str, object] = dict(sources[0].metadata) if sources else {}
        if fact.valid_at:
            kept["date"] = _parse_date(fact.valid_at).isoformat()
        text = fact.fact or ""
        if fact.invalid_at:
            text += f" (until {_parse_date(fact.invalid_at)})"
        score = fact.score if fact.relevance is None else fact.relevance
        return build_service_passage(text, kept, score, result_id=fact.uuid_)


def _parse_date(moment: str) -> date:
    return datetime.fromisoformat(moment).date()


product = Product(Zep, needs=("zep_cloud",))
