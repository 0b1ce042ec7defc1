"""Hebb Mind: its own server, one for each memory, spoken to over HTTP.

Raw, every note stays in the working memory as it was told. With `consolidated` its consolidation
runs after each day, as its nightly job does: a language model turns each session of the day into
long-term memories and the notes are deleted, so that a score is that model's as much as Hebb's.

True limits: its reranker, which is on by default, needs a model from a hub and is off. A date in a
question is matched with the date of a note, but "last week" is counted back from the wall clock,
and so is how recent a memory is; nothing is old enough to be forgotten. Kept to their sessions,
memories are consolidated without a look at related ones, because that look would cross sessions.
A server takes some seconds to start, and SQLite must be able to load extensions, which not every
Python's can. A day taken in twice is kept twice.
"""

import json
import re
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recall_bench.systems.builtin.passage_index import format_quote
from recall_bench.systems.products.notes import (
    NO_SESSION,
    DayNote,
    build_note_passage,
    list_visible_sessions,
    split_notes,
)
from recall_bench.systems.products.product import ENDPOINT_MODEL, Product
from recall_bench.systems.python.adapter import DayMetadata, QueryContext
from recall_bench.systems.transports.ephemeral_server import EphemeralServer

_SERVE = "from hebb.cli.main import main; main()"

_INBOX = "mem_hippocampus"
"""The partition in which Hebb looks for memories to consolidate."""

_MAX_RESULTS = 100
"""Hebb gives back no more for one search."""

_BATCH = 256
"""Notes in one request."""

_TIMEOUT_S = 3600.0
"""Consolidation answers when the model has read the day; who is impatient is the run's to say."""


class HebbMind:
    """Hebb Mind behind its own server: finds by vectors, words and tags together."""

    name = "hebb-mind"
    clock = "native"
    answers = False

    def __init__(
        self,
        *,
        state_dir: Path,
        endpoint: str,
        consolidated: bool = False,
        k: int = 10,
        respect_sessions: bool = False,
    ) -> None:
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            raise RuntimeError(
                "this Python's sqlite3 loads no extensions; use another, as Debian's"
            )
        self.version = version("hebb-mind")
        self.honours_sessions = respect_sessions
        self._consolidates = consolidated
        self._k = k
        self._server = EphemeralServer(
            [sys.executable, "-c", _SERVE, "_serve", "--port", "{port}"],
            folder=state_dir,
            files={"hebb.json": json.dumps(_build_settings(endpoint))},
            env=_ENVIRONMENT,
        )
        self._http: Any = None
        self._partitions: set[str] | None = None

    def setup(self) -> None:
        """Start the server on the folder, which is filled already in a copy."""
        import httpx

        self._server.__enter__()
        self._http = httpx.Client(
            base_url=f"{self._server.base_url}/api/v1", timeout=_TIMEOUT_S, trust_env=False
        )
        status = self._http.get(f"{self._server.base_url}/status").json()
        if not status["embedding"]["available"]:
            # It would go on without vectors.
            self.teardown()
            raise ConnectionError("Hebb got no vector from the model endpoint; see if it serves")

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Put the day's notes into working memory, and consolidate them where that is wanted."""
        notes = split_notes(day, content, metadata)
        partitions = {note.id: self._choose_partition(note) for note in notes}
        told = [
            self._build_memory(note, turn, partitions[note.id]) for turn, note in enumerate(notes)
        ]
        for start in range(0, len(told), _BATCH):
            self._call("POST", "/memories/batch", told[start : start + _BATCH])
        if self._consolidates and notes:
            self._run_consolidation(sorted(set(partitions.values())))

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """What Hebb ranks first, in its order; the score is how relevant it finds each alone."""
        asked: dict[str, object] = {
            "query": question,
            "top_k": min(context.top_k or self._k, _MAX_RESULTS),
        }
        seen = list_visible_sessions(context) if self.honours_sessions else None
        if seen is not None:
            asked["partition_ids"] = [
                name for session in seen for name in self._list_partitions(session)
            ]
        found = self._call("POST", "/search", asked)
        return {
            "passages": [_build_passage(each["memory"], each["score"]) for each in found["results"]]
        }

    def teardown(self) -> None:
        """End the server."""
        if self._http is not None:
            self._http.close()
        if self._server.pid is not None:
            self._server.__exit__()

    def _choose_partition(self, note: DayNote) -> str:
        """Where a note is put: each session has partitions of its own where they are kept apart."""
        if not self.honours_sessions:
            return _INBOX
        name = _name_partition(note.session or NO_SESSION)
        if self._consolidates:
            # What was consolidated in a partition would be again with all that is put into it.
            name += f"_{note.day}"
        if name not in self._load_partitions():
            self._call("POST", "/partitions", {"id": name, "name": note.session or "no session"})
            self._load_partitions().add(name)
        return name

    def _list_partitions(self, session: str) -> list[str]:
        """Those of a session; never none, which would be all there are."""
        first = _name_partition(session)
        return [first, *(name for name in self._load_partitions() if name.startswith(f"{first}_"))]

    def _load_partitions(self) -> set[str]:
        """The partitions there are; a copy has those of its original."""
        if self._partitions is None:
            listed = self._call("GET", "/partitions")
            self._partitions = {partition["id"] for partition in listed}
        return self._partitions

    def _build_memory(self, note: DayNote, turn: int, partition: str) -> dict[str, object]:
        """A note as Hebb is given it; the model that consolidates learns the date from the text."""
        session_id = f"{note.date}/{note.day}/{note.session or NO_SESSION}"
        place = {"session_id": session_id, "turn": turn, "timestamp": note.date}
        return {
            "content": note.quote if self._consolidates else note.search_text,
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
    # It writes below these: the folder of this memory, and nobody's home.
    "HEBB_HOME": "{state_dir}",
    "HOME": "{state_dir}",
    "HEBB_AUTO_UPGRADE": "off",
    # Else the library it calls models with downloads a price list.
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
        "llm_api_key": "unused",
        "auto_upgrade_mode": "off",
    }


def _name_partition(session: str) -> str:
    """A partition's id has few letters to choose from."""
    plain = re.sub(r"[^a-z0-9]+", "_", session.lower())[:32]
    return f"mem_session_{plain}_{sha256(session.encode()).hexdigest()[:8]}"


def _build_passage(memory: Mapping[str, Any], score: float) -> dict[str, object]:
    """A note, or what a model made of the session that it names."""
    kept = memory["metadata"]
    if "note" in kept:
        return build_note_passage(kept, score)
    on, day, session = kept["session_id"].split("/", 2)
    said = format_quote(memory["content"], date.fromisoformat(on), session or None)
    return build_note_passage({"quoted": said, "day": int(day), "note": memory["id"]}, score)


product = Product(HebbMind, needs=("hebb", "httpx"), wants_endpoint=True)
