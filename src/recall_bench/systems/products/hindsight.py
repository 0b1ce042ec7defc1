"""Hindsight: a server that makes facts and observations of what it retains, through its own SDK.

True limits: written against version 1 of the SDK and run against a fake server only, never the
product. The day goes in as a timestamp and the question's date as the time it is asked. Facts are
made first and consolidated into observations afterwards: settling waits for both, and anything that
failed is an error. A recall is bounded by tokens (`max_tokens`), not by a number of facts. An
observation made of several days has the day its server keeps beside it, or none.
"""

from importlib.metadata import version
from typing import Any, Literal
from uuid import NAMESPACE_OID, uuid5

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

KEY = "HINDSIGHT_API_KEY"

_MAX_CHARS = 50_000
"""Of one item. The server cuts it itself; days are shorter than this but for made-up ones."""


class HindsightServer:
    """Hindsight, a server: recalls facts and observations."""

    name = "hindsight"
    clock = "native"
    answers = False
    can_snapshot = False
    max_concurrency = SERVICE_CONCURRENCY

    def __init__(
        self,
        *,
        base_url: str = "http://127.0.0.1:8888",
        k: int = 10,
        respect_sessions: bool = False,
        budget: Literal["low", "mid", "high"] = "mid",
        max_tokens: int = 4096,
        settle_timeout_s: float = 3600.0,
        poll_s: float = 5.0,
    ) -> None:
        self.version = version("hindsight-client")
        self.honours_sessions = respect_sessions
        self._base_url = base_url
        self._k = k
        self._recall = {"budget": budget, "max_tokens": max_tokens}
        self._settle_limits = {"timeout_s": settle_timeout_s, "poll_s": poll_s}
        self._key = read_api_key("Hindsight", KEY)
        self._bank = make_unique_name()
        self._is_open = False
        self._sent: set[str] = set()
        self._client: Any = None
        self._faults: Any = None

    async def setup(self) -> None:
        """Create a bank of our own, and see that it is empty."""
        import aiohttp
        import hindsight_client
        from hindsight_client_api.exceptions import ApiException

        self._faults = ServiceErrors(
            product="Hindsight",
            key=self._key,
            late=(TimeoutError,),
            unreachable=(aiohttp.ClientConnectionError,),
            refused=(ApiException, aiohttp.ClientResponseError),
        )
        # The run has a patience of its own, and counts how often it was needed.
        self._client = hindsight_client.Hindsight(
            base_url=self._base_url, api_key=self._key, max_attempts=1
        )
        async with undo_on_failure(self.teardown):
            with self._faults.told():
                await self._client.acreate_bank(self._bank)
                self._is_open = True
                there = await self._client.banks.get_agent_stats(self._bank)
        if there.total_documents or there.total_nodes:
            raise RuntimeError(f"Hindsight's bank {self._bank} is not empty")

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Retain an item for each session of the day; what was taken already is not sent again."""
        for piece in split_pieces(day, content, metadata, most=_MAX_CHARS):
            if piece.id in self._sent:
                continue
            with self._faults.told():
                await self._client.aretain_batch(
                    self._bank,
                    [_build_item(piece)],
                    retain_async=True,
                    # The same for the same piece: a second request is not a second memory.
                    operation_id=str(uuid5(NAMESPACE_OID, f"{self._bank}/{piece.id}")),
                )
            self._sent.add(piece.id)

    async def finalize_ingestion(self) -> None:
        """Wait until every item is retained and consolidated."""
        await wait_for_processing("Hindsight", self._count_waiting, **self._settle_limits)

    async def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """What Hindsight recalls first; the score is the one it ranks by."""
        seen = list_visible_labels(context) if self.honours_sessions else None
        only = {} if seen is None else {"tags": seen, "tags_match": "any_strict"}
        with self._faults.told():
            reply = await self._client.arecall(
                self._bank,
                question,
                query_timestamp=f"{context.date}T00:00:00+00:00",
                **self._recall,
                **only,
            )
        return {
            "passages": [_build_passage(each) for each in reply.results[: context.top_k or self._k]]
        }

    async def teardown(self) -> None:
        """Delete the bank, and hang up."""
        if self._client is None:
            return
        try:
            if self._is_open:
                with self._faults.told():
                    await self._client.adelete_bank(self._bank)
        finally:
            await self._client.aclose()

    async def _count_waiting(self) -> int:
        with self._faults.told():
            stats = await self._client.banks.get_agent_stats(self._bank)
        failed = stats.failed_operations + (stats.failed_consolidation or 0)
        if failed:
            raise RuntimeError(f"Hindsight failed to process {failed} of what it was given")
        # Those under way are not among the pending ones.
        by_status = stats.operations_by_status or {}
        under_way = max(stats.pending_operations, by_status.get("pending", 0))
        return int(under_way + by_status.get("processing", 0) + (stats.pending_consolidation or 0))


def _build_item(piece: SessionPiece) -> dict[str, object]:
    return {
        "content": piece.text,
        "timestamp": piece.at,
        "document_id": piece.id,
        "tags": [piece.label],
        "metadata": {key: str(value) for key, value in piece.metadata.items()},
    }


def _build_passage(result: Any) -> dict[str, object]:  # noqa: ANN401  the SDK's own record
    score = None if result.scores is None else float(result.scores.final)
    return build_service_passage(result.text, result.metadata or {}, score, result_id=result.id)


product = Product(HindsightServer, needs=("hindsight_client",))
