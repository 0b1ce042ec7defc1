"""Hindsight: a server that makes facts and observations of what it retains, through its own SDK.

True limits: written against version 1 of the SDK and run against a fake server only, never the
product. The day goes in as a timestamp and the question's date as the time it is asked. Facts are
made first and consolidated into observations afterwards: settling waits for both, and anything that
failed is an error. A recall is bounded by tokens (`max_tokens`), not by a number of facts. An
observation made of several days has the day its server keeps beside it, or none.
"""

from dataclasses import dataclass
from typing import Any, Literal
from uuid import NAMESPACE_OID, uuid5

from recall_bench.features.products.product import Product
from recall_bench.features.products.service import (
    PolledServiceAdapter,
    ServiceErrors,
    ServiceQuery,
    SessionPiece,
    build_service_passage,
)


@dataclass(kw_only=True, eq=False)
class HindsightServer(PolledServiceAdapter):
    """Hindsight, a server: recalls facts and observations."""

    name = "hindsight"
    title = "Hindsight"
    package = "hindsight-client"
    key_variable = "HINDSIGHT_API_KEY"
    place = "bank"

    base_url: str | None = "http://127.0.0.1:8888"
    budget: Literal["low", "mid", "high"] = "mid"
    max_tokens: int = 4096

    def __post_init__(self) -> None:
        super().__post_init__()
        self._is_created = False

    def connect(self) -> ServiceErrors:
        """Build the client."""
        import aiohttp
        import hindsight_client
        from hindsight_client_api.exceptions import ApiException

        self._client = hindsight_client.Hindsight(
            base_url=self.base_url, api_key=self._key, max_attempts=1
        )
        return ServiceErrors(
            product=self.title,
            key=self._key,
            timeouts=(TimeoutError,),
            connection_errors=(aiohttp.ClientConnectionError,),
            status_errors=(ApiException, aiohttp.ClientResponseError),
        )

    async def create_place(self) -> bool:
        """Create a bank."""
        await self._client.acreate_bank(self._name)
        self._is_created = True
        stats = await self._client.banks.get_agent_stats(self._name)
        return not (stats.total_documents or stats.total_nodes)

    async def add_piece(self, piece: SessionPiece) -> None:
        """Retain an item."""
        item = {
            "content": piece.text,
            "timestamp": piece.at,
            "document_id": piece.id,
            "tags": [piece.label],
            "metadata": {key: str(value) for key, value in piece.metadata.items()},
        }
        # The same id for the same piece: a second request is not a second memory.
        operation = str(uuid5(NAMESPACE_OID, f"{self._name}/{piece.id}"))
        await self._client.aretain_batch(
            self._name, [item], retain_async=True, operation_id=operation
        )

    async def count_waiting(self) -> int:
        """Operations that are pending, under way or not consolidated."""
        stats = await self._client.banks.get_agent_stats(self._name)
        failed = stats.failed_operations + (stats.failed_consolidation or 0)
        if failed:
            raise RuntimeError(f"Hindsight failed to process {failed} of what it was given")
        # Operations under way are not among the pending ones.
        by_status = stats.operations_by_status or {}
        pending = max(stats.pending_operations, by_status.get("pending", 0))
        return int(pending + by_status.get("processing", 0) + (stats.pending_consolidation or 0))

    async def find_passages(self, query: ServiceQuery) -> list[dict[str, object]]:
        """What Hindsight recalls first; the score is the one it ranks by."""
        only = {} if query.labels is None else {"tags": query.labels, "tags_match": "any_strict"}
        reply = await self._client.arecall(
            self._name,
            query.question,
            query_timestamp=f"{query.today}T00:00:00+00:00",
            budget=self.budget,
            max_tokens=self.max_tokens,
            **only,
        )
        return [_build_passage(result) for result in reply.results[: query.limit]]

    async def delete_place(self) -> None:
        """Delete the bank."""
        if self._is_created:
            await self._client.adelete_bank(self._name)

    async def close_client(self) -> None:
        """Close the client's connections."""
        await self._client.aclose()


def _build_passage(result: Any) -> dict[str, object]:  # noqa: ANN401  the SDK's own record
    score = None if result.scores is None else float(result.scores.final)
    return build_service_passage(result.text, result.metadata or {}, score, result_id=result.id)


product = Product(HindsightServer, needs=("hindsight_client",))
