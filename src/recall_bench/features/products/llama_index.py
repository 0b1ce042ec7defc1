"""LlamaIndex's long-term memory: a VectorMemoryBlock, its vectors in Qdrant's local mode.

True limits: a block keeps the text of a message and its session, nothing else, so a note's date
and session stand in the text that is embedded, its headings are left out, and neither its day nor
a score comes back. It embeds one message at a time. The queue of recent messages that goes before
the blocks in LlamaIndex's `Memory` is not used: what it holds comes back whatever is asked.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from recall_bench.features.products.product import FolderAdapter, Passages, Product, ProductEmbedder
from recall_bench.systems.notes import NO_SESSION, split_notes
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_MESSAGE = re.compile(
    r"<message role='user'>(.*?)</message>(?=\n\n<message role='user'>|\Z)", re.DOTALL
)


@dataclass(kw_only=True, eq=False)
class LlamaIndex(FolderAdapter):
    """LlamaIndex's vector memory block: finds notes by their meaning."""

    name = "llama-index"
    package = "llama-index-core"
    clock = "in-text"
    max_concurrency = 1

    endpoint: str | None = None

    def __post_init__(self) -> None:
        self.embedder = ProductEmbedder(self.endpoint)
        self._client: Any = None
        self._block: Any = None

    async def setup(self) -> None:
        """Open the block over the folder; a copied folder is filled already."""
        from llama_index.core.memory import VectorMemoryBlock
        from llama_index.vector_stores.qdrant import QdrantVectorStore
        from qdrant_client import AsyncQdrantClient, models

        self._client = AsyncQdrantClient(path=str(self.state_dir))
        if not await self._client.collection_exists("notes"):
            size, distance = self.embedder.dimensions, models.Distance.COSINE
            await self._client.create_collection(
                "notes", vectors_config=models.VectorParams(size=size, distance=distance)
            )
        self._block = VectorMemoryBlock(
            vector_store=QdrantVectorStore("notes", aclient=self._client),
            embed_model=_build_embedding(self.embedder),
        )

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Put each of the day's notes as a message."""
        from llama_index.core.llms import ChatMessage

        for note in split_notes(day, content, metadata):
            message = ChatMessage(role="user", content=note.quote)
            await self._block.aput([message], session_id=note.session or NO_SESSION)

    async def query(self, question: str, context: QueryContext) -> Passages:
        """The nearest messages, as the block quotes them."""
        from llama_index.core.llms import ChatMessage
        from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

        sessions = self.list_sessions(context)
        self._block.similarity_top_k = context.top_k or self.k
        self._block.query_kwargs = {}
        if sessions is not None:
            own = MetadataFilter(key="session_id", value=list(sessions), operator=FilterOperator.IN)
            self._block.query_kwargs = {"filters": MetadataFilters(filters=[own])}
        context_text = await self._block.aget([ChatMessage(role="user", content=question)])
        return {"passages": [{"text": text} for text in _MESSAGE.findall(context_text)]}

    async def reopen(self) -> None:
        """Open what an earlier process left in the folder."""
        await self.setup()

    async def delete_session(self, session: str) -> int:
        """Delete what the block put for a session. By episode it cannot: a block keeps no id."""
        from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

        before = await self._count_messages()
        own = MetadataFilters(filters=[MetadataFilter(key="session_id", value=session)])
        await self._block.vector_store.adelete_nodes(filters=own)
        return before - await self._count_messages()

    async def stored(self) -> list[str]:
        """The text of every message in the collection."""
        count = await self._count_messages()
        points = (await self._client.scroll("notes", limit=count))[0] if count else []
        return [json.loads(point.payload["_node_content"])["text"] for point in points]

    async def teardown(self) -> None:
        """Close the collection and release the folder's lock."""
        if self._client is not None:
            await self._client.close()

    async def _count_messages(self) -> int:
        return int((await self._client.count("notes")).count)


def _build_embedding(embedder: ProductEmbedder) -> object:
    """Our embedder in LlamaIndex's interface."""
    from llama_index.core.embeddings import BaseEmbedding

    class SharedEmbedding(BaseEmbedding):  # type: ignore[misc]  # the product may not be installed
        def _get_text_embedding(self, text: str) -> list[float]:
            return embedder.embed([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return embedder.embed([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return embedder.embed([query])[0]

    return SharedEmbedding()


product = Product(
    LlamaIndex, needs=("llama_index.core", "llama_index.vector_stores.qdrant", "qdrant_client")
)
