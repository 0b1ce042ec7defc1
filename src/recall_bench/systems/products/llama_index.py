"""LlamaIndex's long-term memory: a VectorMemoryBlock, its vectors in Qdrant's local mode.

True limits: a block keeps the text of a message and its session, nothing else, so a note's date
and session stand in the text that is embedded, its headings are left out, and neither its day nor
a score comes back. It embeds one message at a time. The queue of recent messages that goes before
the blocks in LlamaIndex's `Memory` is not used: what it holds, it gives back whatever is asked.
"""

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recall_bench.systems.products.notes import NO_SESSION, list_visible_sessions, split_notes
from recall_bench.systems.products.product import Product, ProductEmbedder, measure_folder
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_MESSAGE = re.compile(
    r"<message role='user'>(.*?)</message>(?=\n\n<message role='user'>|\Z)", re.DOTALL
)


class LlamaIndex:
    """LlamaIndex's vector memory block: finds notes by their meaning."""

    name = "llama-index"
    clock = "in-text"
    answers = False
    max_concurrency = 1

    def __init__(
        self,
        *,
        state_dir: Path,
        k: int = 10,
        respect_sessions: bool = False,
        endpoint: str | None = None,
    ) -> None:
        self.version = version("llama-index-core")
        self.honours_sessions = respect_sessions
        self._folder = state_dir
        self._k = k
        self._vectors = ProductEmbedder(endpoint)
        self._client: Any = None
        self._block: Any = None

    async def setup(self) -> None:
        """Open the block over the folder, which is filled already in a copy."""
        from llama_index.core.memory import VectorMemoryBlock
        from llama_index.vector_stores.qdrant import QdrantVectorStore
        from qdrant_client import AsyncQdrantClient, models

        self._client = AsyncQdrantClient(path=str(self._folder))
        if not await self._client.collection_exists("notes"):
            size, distance = self._vectors.dimensions, models.Distance.COSINE
            await self._client.create_collection(
                "notes", vectors_config=models.VectorParams(size=size, distance=distance)
            )
        self._block = VectorMemoryBlock(
            vector_store=QdrantVectorStore("notes", aclient=self._client),
            embed_model=_build_embedding(self._vectors),
        )

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Put each of the day's notes as a message."""
        from llama_index.core.llms import ChatMessage

        for note in split_notes(day, content, metadata):
            message = ChatMessage(role="user", content=note.quoted)
            await self._block.aput([message], session_id=note.session or NO_SESSION)

    async def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The nearest messages, as the block quotes them."""
        from llama_index.core.llms import ChatMessage
        from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

        seen = list_visible_sessions(context) if self.honours_sessions else None
        self._block.similarity_top_k = context.top_k or self._k
        self._block.query_kwargs = {}
        if seen is not None:
            own = MetadataFilter(key="session_id", value=list(seen), operator=FilterOperator.IN)
            self._block.query_kwargs = {"filters": MetadataFilters(filters=[own])}
        told = await self._block.aget([ChatMessage(role="user", content=question)])
        return {"passages": [{"text": text} for text in _MESSAGE.findall(told)]}

    def stored_bytes(self) -> int:
        """What its folder takes; a block does not say which days it keeps."""
        return measure_folder(self._folder)

    async def teardown(self) -> None:
        """Close the collection and let go of the folder's lock."""
        if self._client is not None:
            await self._client.close()


def _build_embedding(vectors: ProductEmbedder) -> object:
    """Our embedder as LlamaIndex calls one."""
    from llama_index.core.embeddings import BaseEmbedding

    class SharedEmbedding(BaseEmbedding):  # type: ignore[misc]  # the product may not be installed
        def _get_text_embedding(self, text: str) -> list[float]:
            return vectors.embed([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return vectors.embed([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vectors.embed([query])[0]

    return SharedEmbedding()


product = Product(
    LlamaIndex, needs=("llama_index.core", "llama_index.vector_stores.qdrant", "qdrant_client")
)
