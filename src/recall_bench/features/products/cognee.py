"""Cognee, in process, over its embedded stores: chunks alone, or a graph that a model builds.

With `mode: chunks` documents are split and embedded by a pipeline of Cognee's own tasks, without a
language model, and chunks are found by meaning. With `mode: graph` a model reads every chunk
(`cognify`), as Cognee does by default, and the context from which Cognee would answer is returned.

True limits: the tests here run `graph` with a scripted model, so they show that the code works, not
how good the answers are; its context is one text, which begins with the question, without a day or
a score. Cognee is configured once per process, so all memories share its folder, each as a dataset
with databases of its own; there are no copies, and the folder is removed with the process. The date
does not affect the ranking; it is returned with the chunk. Cognee waits two minutes for an endpoint
that does not reply before it fails, and each dataset takes seconds to open.
"""

import asyncio
import atexit
import os
import shutil
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from uuid import NAMESPACE_OID, uuid5

import msgspec

from recall_bench.core.atomic_file import make_lasting_folder
from recall_bench.features.products.product import (
    UNUSED_KEY,
    Product,
    ProductAdapter,
    ProductEmbedder,
)
from recall_bench.features.products.service import (
    SessionPiece,
    build_service_passage,
    list_visible_labels,
    make_unique_name,
    split_pieces,
)
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_EMBEDDER = "text-embedding-3-small"
"""A model whose tokens Cognee can count without a download; the endpoint ignores the name."""

_MAX_CHARS = 50_000

_CHUNK_TOKENS = 200


@dataclass(kw_only=True, eq=False)
class Cognee(ProductAdapter):
    """Cognee, in process: finds chunks by their meaning, or the context of a graph."""

    name = "cognee"
    package = "cognee"
    can_snapshot = False
    max_concurrency = 1

    endpoint: str
    mode: Literal["chunks", "graph"] = "chunks"

    def __post_init__(self) -> None:
        if self.mode not in ("chunks", "graph"):
            raise ValueError(f"mode is chunks or graph, not {self.mode!r}")
        if self.mode == "graph" and self.respect_sessions:
            raise ValueError("Cognee keeps sessions apart in mode chunks only")
        self._dataset = make_unique_name()
        self._sent: set[str] = set()
        self._is_settled = True

    def setup(self) -> None:
        """Configure Cognee for this process; its first document creates the dataset."""
        _configure(self.endpoint)

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add a document for each session of the day; those added already are skipped."""
        pieces = [
            piece
            for piece in split_pieces(day, content, metadata, most=_MAX_CHARS)
            if piece.id not in self._sent
        ]
        if pieces:
            await _run_in_loop(self._add(pieces))
            self._sent.update(piece.id for piece in pieces)
            self._is_settled = False

    async def finalize_ingestion(self) -> None:
        """Process the documents added since the last call."""
        if not self._is_settled:
            await _run_in_loop(self._run_pipeline())
            self._is_settled = True

    async def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The nearest chunks; the score is 1 - distance, so a higher one is nearer."""
        if not self._sent:
            return {"passages": []}
        labels = list_visible_labels(context) if self.respect_sessions else None
        search = self._search(question, context.top_k or self.k, labels)
        return {"passages": await _run_in_loop(search)}

    async def teardown(self) -> None:
        """Delete the dataset and everything derived from it."""
        if self._sent:
            import cognee

            await _run_in_loop(cognee.forget(dataset=self._dataset))

    async def _add(self, pieces: list[SessionPiece]) -> None:
        import cognee
        from cognee.tasks.ingestion.data_item import DataItem

        items = [
            DataItem(
                data=piece.text,
                label=piece.id,
                external_metadata=piece.metadata,
                # Otherwise two days with the same text would be one document.
                data_id=uuid5(NAMESPACE_OID, f"{self._dataset}/{piece.id}"),
                node_set=[piece.label],
                literal_text=True,
            )
            for piece in pieces
        ]
        await cognee.add(items, dataset_name=self._dataset)

    async def _run_pipeline(self) -> None:
        import cognee

        if self.mode == "graph":
            await cognee.cognify(datasets=[self._dataset])
            return
        from cognee.modules.chunking.TextChunker import TextChunker
        from cognee.modules.pipelines.models.PipelineRunInfo import get_errored_run_info
        from cognee.modules.pipelines.tasks.task import Task
        from cognee.tasks.documents import classify_documents, extract_chunks_from_documents
        from cognee.tasks.storage import add_data_points

        extract = Task(
            extract_chunks_from_documents, max_chunk_size=_CHUNK_TOKENS, chunker=TextChunker
        )
        store = Task(add_data_points, task_config={"batch_size": 50})
        result = await cognee.run_custom_pipeline(
            tasks=[Task(classify_documents), extract, store],
            dataset=self._dataset,
            incremental_loading=True,
            data_cache=True,
        )
        if failed := get_errored_run_info(result):
            raise RuntimeError(f"Cognee's pipeline failed: {failed.payload}")

    async def _search(
        self, question: str, limit: int, labels: list[str] | None
    ) -> list[dict[str, object]]:
        import cognee
        from cognee import SearchType

        query: dict[str, Any] = {"query_text": question, "datasets": [self._dataset]}
        if self.mode == "graph":
            replies = await cognee.search(
                query_type=SearchType.GRAPH_COMPLETION, only_context=True, top_k=limit, **query
            )
            contexts = [reply["search_result"] for reply in replies]
            return [{"text": text} for text in contexts if isinstance(text, str) and text.strip()]
        replies = await cognee.search(
            query_type=SearchType.CHUNKS, node_name=labels, top_k=limit, **query
        )
        # One reply per dataset, even if it found nothing.
        return [_build_passage(chunk) for reply in replies for chunk in reply["search_result"]]


def _build_passage(chunk: dict[str, Any]) -> dict[str, object]:
    stored = chunk.get("external_metadata") or "{}"
    metadata = msgspec.json.decode(stored) if isinstance(stored, str) else stored
    return build_service_passage(
        chunk["text"], metadata, 1 - chunk["score"], result_id=str(chunk["id"])
    )


_LOCK = threading.Lock()
_LOOP: asyncio.AbstractEventLoop | None = None
_ENDPOINT: str | None = None


def _configure(endpoint: str) -> None:
    """Set the variables for Cognee's models and files before its import, and start its thread.

    It reads its settings once, and its connections belong to one event loop.
    """
    global _LOOP, _ENDPOINT  # noqa: PLW0603  Cognee's settings are global
    with _LOCK:
        if _ENDPOINT is not None:
            if endpoint != _ENDPOINT:
                raise RuntimeError("Cognee was set up with another endpoint in this process")
            return
        home = make_lasting_folder("cognee")
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        os.environ.update(_build_settings(home, endpoint))
        _LOOP = asyncio.new_event_loop()
        threading.Thread(target=_LOOP.run_forever, name="cognee", daemon=True).start()
        _ENDPOINT = endpoint


def _build_settings(home: Path, endpoint: str) -> dict[str, str]:
    spec = find_spec("litellm")
    package = Path(spec.origin).parent if spec is not None and spec.origin else home
    return {
        "SYSTEM_ROOT_DIRECTORY": str(home / "system"),
        "DATA_ROOT_DIRECTORY": str(home / "data"),
        "LLM_PROVIDER": "openai",
        "LLM_MODEL": "openai/recall-bench",
        "LLM_ENDPOINT": endpoint,
        "LLM_API_KEY": UNUSED_KEY,
        "EMBEDDING_PROVIDER": "openai_compatible",
        "EMBEDDING_MODEL": _EMBEDDER,
        "EMBEDDING_ENDPOINT": endpoint,
        "EMBEDDING_API_KEY": UNUSED_KEY,
        "EMBEDDING_DIMENSIONS": str(ProductEmbedder(endpoint).dimensions),
        "COGNEE_SKIP_CONNECTION_TEST": "true",
        "TELEMETRY_DISABLED": "1",
        "LOG_LEVEL": "ERROR",
        # Otherwise it downloads prices of models and tokenizers.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "TIKTOKEN_CACHE_DIR": str(package / "litellm_core_utils" / "tokenizers"),
        "HF_HUB_OFFLINE": "1",
    }


async def _run_in_loop(work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401
    """Run it in the event loop that Cognee's connections belong to."""
    if _LOOP is None:
        raise RuntimeError("Cognee is not set up yet")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _LOOP))


product = Product(Cognee, needs=("cognee",), wants_endpoint=True)
