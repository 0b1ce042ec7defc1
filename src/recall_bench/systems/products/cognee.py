"""Cognee, in process, over its embedded stores: chunks alone, or the graph a model makes of them.

With `mode: chunks` documents are cut and embedded by a pipeline of Cognee's own tasks, without a
language model, and chunks are found by meaning. With `mode: graph` the normal path is taken: a
model reads every chunk (`cognify`), and what comes back is the context Cognee would answer from.

True limits: the tests here run `graph` with a scripted model, which shows that the path works and
nothing of how well; its context is one text, which begins with the question, without a day or a
score. Cognee is set up once for a process, so all memories of one share its folder, each as a
dataset with databases of its own; there are no copies, and the folder is gone with the process. The
date decides nothing, it comes back with the chunk. Cognee waits for a silent endpoint for two
minutes before it fails, and each dataset costs seconds to open.
"""

import asyncio
import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Coroutine
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from uuid import NAMESPACE_OID, uuid5

import msgspec

from recall_bench.systems.products.product import Product, ProductEmbedder
from recall_bench.systems.products.service import (
    SessionPiece,
    build_service_passage,
    list_visible_labels,
    make_unique_name,
    split_pieces,
)
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_KEY = "unused"
"""Cognee insists on one, and the endpoint does not look at it."""

_EMBEDDER = "text-embedding-3-small"
"""A name whose tokens Cognee can count with what is installed; the endpoint embeds under any."""

_MAX_CHARS = 50_000

_CHUNK_TOKENS = 200


class Cognee:
    """Cognee, in process: finds chunks by their meaning, or the context of a graph."""

    name = "cognee"
    clock = "native"
    answers = False
    can_snapshot = False
    max_concurrency = 1

    def __init__(
        self,
        *,
        endpoint: str,
        mode: Literal["chunks", "graph"] = "chunks",
        k: int = 10,
        respect_sessions: bool = False,
    ) -> None:
        if mode not in ("chunks", "graph"):
            raise ValueError(f"mode is chunks or graph, not {mode!r}")
        if mode == "graph" and respect_sessions:
            raise ValueError("Cognee keeps sessions apart in mode chunks only")
        self.version = version("cognee")
        self.honours_sessions = respect_sessions
        self._endpoint = endpoint
        self._mode = mode
        self._k = k
        self._dataset = make_unique_name()
        self._sent: set[str] = set()
        self._is_settled = True

    def setup(self) -> None:
        """Set Cognee up for this process; the dataset is made with its first document."""
        _configure(self._endpoint)

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add a document for each session of the day; what was taken already is not sent again."""
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
        """Process what was added since the last time."""
        if not self._is_settled:
            await _run_in_loop(self._run_pipeline())
            self._is_settled = True

    async def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The nearest chunks; the score is one less their distance, so that more is nearer."""
        if not self._sent:
            return {"passages": []}
        seen = list_visible_labels(context) if self.honours_sessions else None
        return {
            "passages": await _run_in_loop(self._search(question, context.top_k or self._k, seen))
        }

    async def teardown(self) -> None:
        """Forget the dataset and all that was made of it."""
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
                # Else two days in the same words would be one document.
                data_id=uuid5(NAMESPACE_OID, f"{self._dataset}/{piece.id}"),
                node_set=[piece.label],
                literal_text=True,
            )
            for piece in pieces
        ]
        await cognee.add(items, dataset_name=self._dataset)

    async def _run_pipeline(self) -> None:
        import cognee

        if self._mode == "graph":
            await cognee.cognify(datasets=[self._dataset])
            return
        from cognee.modules.chunking.TextChunker import TextChunker
        from cognee.modules.pipelines.models.PipelineRunInfo import get_errored_run_info
        from cognee.modules.pipelines.tasks.task import Task
        from cognee.tasks.documents import classify_documents, extract_chunks_from_documents
        from cognee.tasks.storage import add_data_points

        chunked = Task(
            extract_chunks_from_documents, max_chunk_size=_CHUNK_TOKENS, chunker=TextChunker
        )
        kept = Task(add_data_points, task_config={"batch_size": 50})
        done = await cognee.run_custom_pipeline(
            tasks=[Task(classify_documents), chunked, kept],
            dataset=self._dataset,
            incremental_loading=True,
            data_cache=True,
        )
        if failed := get_errored_run_info(done):
            raise RuntimeError(f"Cognee's pipeline failed: {failed.payload}")

    async def _search(
        self, question: str, most: int, seen: list[str] | None
    ) -> list[dict[str, object]]:
        import cognee
        from cognee import SearchType

        asked: dict[str, Any] = {"query_text": question, "datasets": [self._dataset]}
        if self._mode == "graph":
            replies = await cognee.search(
                query_type=SearchType.GRAPH_COMPLETION, only_context=True, top_k=most, **asked
            )
            contexts = [reply["search_result"] for reply in replies]
            return [{"text": text} for text in contexts if isinstance(text, str) and text.strip()]
        replies = await cognee.search(
            query_type=SearchType.CHUNKS, node_name=seen, top_k=most, **asked
        )
        # One reply a dataset, whatever it found.
        return [_build_passage(chunk) for reply in replies for chunk in reply["search_result"]]


def _build_passage(chunk: dict[str, Any]) -> dict[str, object]:
    beside = chunk.get("external_metadata") or "{}"
    kept = msgspec.json.decode(beside) if isinstance(beside, str) else beside
    return build_service_passage(
        chunk["text"], kept, 1 - chunk["score"], result_id=str(chunk["id"])
    )


_LOCK = threading.Lock()
_LOOP: asyncio.AbstractEventLoop | None = None
_ENDPOINT: str | None = None


def _configure(endpoint: str) -> None:
    """Say where Cognee's models and files are, before it is imported, and start its thread.

    It reads its settings once, and its connections belong to one event loop.
    """
    global _LOOP, _ENDPOINT  # noqa: PLW0603  Cognee's own settings are the process's
    with _LOCK:
        if _ENDPOINT is not None:
            if endpoint != _ENDPOINT:
                raise RuntimeError("Cognee was set up with another endpoint in this process")
            return
        home = Path(tempfile.mkdtemp(prefix="recall-bench-cognee-"))
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
        "LLM_API_KEY": _KEY,
        "EMBEDDING_PROVIDER": "openai_compatible",
        "EMBEDDING_MODEL": _EMBEDDER,
        "EMBEDDING_ENDPOINT": endpoint,
        "EMBEDDING_API_KEY": _KEY,
        "EMBEDDING_DIMENSIONS": str(ProductEmbedder(endpoint).dimensions),
        "COGNEE_SKIP_CONNECTION_TEST": "true",
        "TELEMETRY_DISABLED": "1",
        "LOG_LEVEL": "ERROR",
        # What else would be downloaded: prices of models, and how to count tokens.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "TIKTOKEN_CACHE_DIR": str(package / "litellm_core_utils" / "tokenizers"),
        "HF_HUB_OFFLINE": "1",
    }


async def _run_in_loop(work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401
    """What the work returns, done in the loop that Cognee's connections belong to."""
    if _LOOP is None:
        raise RuntimeError("Cognee is not set up yet")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _LOOP))


product = Product(Cognee, needs=("cognee",), wants_endpoint=True)
