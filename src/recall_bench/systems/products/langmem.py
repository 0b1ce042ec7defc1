"""LangMem over LangGraph's SQLite store: its search tool, without its extracting manager.

True limits: the manager that decides what is worth remembering needs a language model and is not
used; every note is kept as it is. It finds by meaning alone, going through every note; the date
decides nothing, it comes back with the note. The store's filters know no "one of", so a question
that is kept to its session is two searches. SQLite must be able to load extensions, which not
every Python's can.
"""

import sqlite3
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recall_bench.systems.products.notes import (
    build_note_passage,
    list_visible_sessions,
    split_notes,
)
from recall_bench.systems.products.product import Product, ProductEmbedder, measure_folder
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_NAMESPACE = ("notes",)

_PAGE = 1000
"""Notes listed at a time."""


class LangMem:
    """LangMem's search tool over a LangGraph store: finds notes by their meaning."""

    name = "langmem"
    clock = "native"
    answers = False

    def __init__(
        self,
        *,
        state_dir: Path,
        k: int = 10,
        respect_sessions: bool = False,
        endpoint: str | None = None,
    ) -> None:
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            raise RuntimeError(
                "this Python's sqlite3 loads no extensions; use another, as Debian's"
            )
        self.version = version("langmem")
        self.honours_sessions = respect_sessions
        self._folder = state_dir
        self._k = k
        self._vectors = ProductEmbedder(endpoint)
        self._connection: sqlite3.Connection | None = None
        self._store: Any = None
        self._search_tool: Any = None

    def setup(self) -> None:
        """Open the store in the folder, which is there already in a copy."""
        from langgraph.store.sqlite import SqliteStore
        from langmem import create_search_memory_tool

        self._connection = sqlite3.connect(
            self._folder / "store.sqlite", check_same_thread=False, isolation_level=None
        )
        index = {
            "dims": self._vectors.dimensions,
            "embed": self._vectors.embed,
            # LangGraph's other stores call them `fields`; this one would embed the whole value.
            "text_fields": ["searched"],
        }
        self._store = SqliteStore(self._connection, index=index)
        self._store.setup()
        self._search_tool = create_search_memory_tool(
            _NAMESPACE, store=self._store, response_format="content_and_artifact"
        )

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Put the day's notes, in one batch so that they are embedded together."""
        from langgraph.store.base import PutOp

        self._store.batch(
            [
                PutOp(_NAMESPACE, note.id, {"searched": note.searched, **note.metadata})
                for note in split_notes(day, content, metadata)
            ]
        )

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The nearest notes; the score is the cosine."""
        limit = context.top_k or self._k
        seen = list_visible_sessions(context) if self.honours_sessions else None
        filters = [None] if seen is None else [{"session": session} for session in seen]
        found = [item for each in filters for item in self._search_notes(question, limit, each)]
        found.sort(key=lambda item: item.score, reverse=True)
        return {"passages": [build_note_passage(item.value, item.score) for item in found[:limit]]}

    def stored_days(self) -> Iterator[int]:
        """The days of the notes in the store, as many as there are of each."""
        seen = 0
        while found := self._store.search(_NAMESPACE, limit=_PAGE, offset=seen):
            yield from (item.value["day"] for item in found)
            seen += len(found)

    def stored_bytes(self) -> int:
        """What its folder takes."""
        return measure_folder(self._folder)

    def teardown(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()

    def _search_notes(self, question: str, limit: int, only: dict[str, str] | None) -> list[Any]:
        arguments = {"query": question, "limit": limit, "filter": only}
        call = {"type": "tool_call", "id": "1", "name": "search_memory", "args": arguments}
        found: list[Any] = self._search_tool.invoke(call).artifact
        return found


product = Product(LangMem, needs=("langmem", "langgraph.store.sqlite"))
