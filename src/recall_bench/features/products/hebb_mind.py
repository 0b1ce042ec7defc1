"""Hebb Mind: a server of its own for each memory, called over HTTP.

Raw, every note stays unchanged in the working memory. With `consolidated` its consolidation
runs after each day, as its nightly job does: a language model turns each session of the day into
long-term memories and the notes are deleted, so that a score is that model's as much as Hebb's.

True limits: its reranker, which is on by default, needs a model from a hub and is off. A date in a
question is matched with the date of a note, but "last week" is counted back from the wall clock,
and so is how recent a memory is; nothing is old enough to be forgotten. Kept to their sessions,
memories are consolidated without the related ones, which may be of other sessions.
A server takes some seconds to start, and SQLite must be able to load extensions, which not every
Python's can. A day that is ingested twice is kept twice.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

from recall_bench.features.products.product import (
    UNUSED_KEY,
    Product,
    ProductAdapter,
    require_sqlite_extensions,
    split_batches,
)
from recall_bench.systems.builtin.passage_index import format_quote
from recall_bench.systems.endpoint_client import ENDPOINT_MODEL
from recall_bench.systems.notes import NO_SESSION, DayNote, build_note_passage, split_notes
from recall_bench.systems.python.adapter import DayMetadata, QueryContext
from recall_bench.systems.transports.ephemeral_server import EphemeralServer

_SERVE = "from hebb.cli.main import main; main()"

_INBOX = "mem_hippocampus"
"""The partition in which Hebb looks for memories to consolidate."""

_MAX_RESULTS = 100
"""The most results that Hebb returns for one search."""

_BATCH = 256
"""Notes in one request."""

_TIMEOUT_S = 3600.0
"""Consolidation replies when the model has read the day; the run has timeouts of its own."""


@dataclass(kw_only=True, eq=False)
class HebbMind(ProductAdapter):
    """Hebb Mind behind its own server: finds by vectors, words and tags together."""

    name = "hebb-mind"
    package = "hebb-mind"

    state_dir: Path
    endpoint: str
    consolidated: bool = False

    def __post_init__(self) -> None:
        require_sqlite_extensions()
        self._server = EphemeralServer(
            [sys.executable, "-c", _SERVE, "_serve", "--port", "{port}"],
            folder=self.state_dir,
            files={"hebb.json": json.dumps(_build_settings(self.endpoint))},
            env=_ENVIRONMENT,
        )
        self._http: Any = None
        self._partitions: set[str] | None = None

    def setup(self) -> None:
        """Start the server on the folder; a copied folder already holds its files."""
        import httpx

        self._server.__enter__()
        self._http = httpx.Client(
            base_url=f"{self._server.base_url}/api/v1", timeout=_TIMEOUT_S, trust_env=False
        )
        status = self._http.get(f"{self._server.base_url}/status").json()
        if not status["embedding"]["available"]:
            # It would continue without vectors.
            self.teardown()
            raise ConnectionError("Hebb got no vector from the model endpoint; see if it serves")

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add the day's notes to the working memory, and consolidate them if that is set."""
        notes = split_notes(day, content, metadata)
        partitions = {note.id: self._choose_partition(note) for note in notes}
        memories = [
            self._build_memory(note, turn, partitions[note.id]) for turn, note in enumerate(notes)
        ]
        for batch in split_batches(memories, _BATCH):
            self._call("POST", "/memories/batch", batch)
        if self.consolidated and notes:
            self._run_consolidation(sorted(set(partitions.values())))

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The results in Hebb's order; the score is the relevance of each by itself."""
        request: dict[str, object] = {
            "query": question,
            "top_k": min(context.top_k or self.k, _MAX_RESULTS),
        }
        sessions = self.list_sessions(context)
        if sessions is not None:
            request["partition_ids"] = [
                name for session in sessions for name in self._list_partitions(session)
            ]
        reply = self._call("POST", "/search", request)
        return {
            "passages": [
                _build_passage(result["memory"], result["score"]) for result in reply["results"]
            ]
        }

    def teardown(self) -> None:
        """End the server."""
        if self._http is not None:
            self._http.close()
        if self._server.pid is not None:
            self._server.__exit__()

    def _choose_partition(self, note: DayNote) -> str:
        """The partition of a note: with separate sessions, each has partitions of its own."""
        if not self.honours_sessions:
            return _INBOX
        name = _name_partition(note.session or NO_SESSION)
        if self.consolidated:
            # A partition is consolidated as a whole, so each day needs a new one.
            name += f"_{note.day}"
        if name not in self._load_partitions():
            self._call("POST", "/partitions", {"id": name, "name": note.session or "no session"})
            self._load_partitions().add(name)
        return name

    def _list_partitions(self, session: str) -> list[str]:
        """The partitions of a session; never empty, because that would mean all partitions."""
        first = _name_partition(session)
        return [first, *(name for name in self._load_partitions() if name.startswith(f"{first}_"))]

    def _load_partitions(self) -> set[str]:
        """The existing partitions; a copy has those of its original."""
        if self._partitions is None:
            listed = self._call("GET", "/partitions")
            self._partitions = {partition["id"] for partition in listed}
        return self._partitions

    def _build_memory(self, note: DayNote, turn: int, partition: str) -> dict[str, object]:
        """A note as Hebb receives it; the model that consolidates reads the date in the text."""
        session_id = f"{note.date}/{note.day}/{note.session or NO_SESSION}"
        place = {"session_id": session_id, "turn": turn, "timestamp": note.date}
        return {
            "content": note.quote if self.consolidated else note.search_text,
            "partition_id": partition,
            "metadata": {**note.metadata, **place},
        }

    def _run_consolidation(self, partitions: Sequence[str]) -> None:
        body = {"partition_ids": partitions, "keep_partition": True}
        done = self._call("POST", "/admin/consolidate", body if self.honours_sessions else {})
        if done["failed"]:
            why = done["errors"][0]["error"]
            raise RuntimeError(f"{done['failed']} sessions were not consolidated: {why}")

    def _call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """The reply, or what an adapter raises."""
        import httpx

        try:
            reply = self._http.request(method, path, json=body)
        except httpx.TransportError as error:
            raise ConnectionError(
                f"Hebb's server is out of reach ({error}); {self._server.describe_end()}"
            ) from error
        if reply.is_error:
            raise RuntimeError(
                f"Hebb refused {path} (HTTP {reply.status_code}): {reply.text[:500]}"
            )
        return reply.json()


_ENVIRONMENT = {
    # The folders that it writes to.
    "HEBB_HOME": "{state_dir}",
    "HOME": "{state_dir}",
    "HEBB_AUTO_UPGRADE": "off",
    # Otherwise its library for models downloads a price list.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
    "NO_PROXY": "127.0.0.1,localhost",
}


def _build_settings(endpoint: str) -> dict[str, object]:
    """Hebb's own settings: vectors and chats from the endpoint, nothing from a hub."""
    return {
        "embedding_provider": "api",
        "embedding_api_mode": "custom",
        "embedding_model": ENDPOINT_MODEL,
        "embedding_http_url": f"{endpoint}/embeddings",
        "embedding_http_body": f'{{"model": "{ENDPOINT_MODEL}", "input": {{{{input}}}}}}',
        "rerank_enabled": False,
        "llm_model": f"openai/{ENDPOINT_MODEL}",
        "llm_base_url": endpoint,
        "llm_api_key": UNUSED_KEY,
        "auto_upgrade_mode": "off",
    }


def _name_partition(session: str) -> str:
    """The id of a partition, in which few characters are allowed."""
    plain = re.sub(r"[^a-z0-9]+", "_", session.lower())[:32]
    return f"mem_session_{plain}_{sha256(session.encode()).hexdigest()[:8]}"


def _build_passage(memory: Mapping[str, Any], score: float) -> dict[str, object]:
    """A note, or a memory that a model wrote about a session."""
    metadata = memory["metadata"]
    if "note" in metadata:
        return build_note_passage(metadata, score)
    on, day, session = metadata["session_id"].split("/", 2)
    quote = format_quote(memory["content"], date.fromisoformat(on), session or None)
    return build_note_passage({"quoted": quote, "day": int(day), "note": memory["id"]}, score)


product = Product(HebbMind, needs=("hebb", "httpx"), wants_endpoint=True)
