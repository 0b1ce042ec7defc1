"""LangMem over LangGraph's SQLite store: its search tool, without its extracting manager.

True limits: the manager that decides what is worth remembering needs a language model and is not
used; every note is kept as it is. It finds by meaning alone, going through every note; the date
decides nothing, it comes back with the note. The store's filters know no "one of", so a question
that is kept to its session is two searches. SQLite must be able to load extensions, which not
every Python's can.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from recall_bench.features.products.product import Product, StoreAdapter, require_sqlite_extensions
from recall_bench.systems.notes import DayNote, StoredNote, build_note_passage, build_stored_note

_NAMESPACE = ("notes",)

_PAGE = 1000
"""Notes listed at a time."""


class LangMem(StoreAdapter):
    """LangMem's search tool over a LangGraph store: finds notes by their meaning."""

    name = "langmem"
    package = "langmem"

    _connection: sqlite3.Connection | None = None
    _store: Any = None
    _search_tool: Any = None

    def __post_init__(self) -> None:
        require_sqlite_extensions()
        super().__post_init__()

    def setup(self) -> None:
        """Open the store in the folder; a copied folder already holds one."""
        from langgraph.store.sqlite import SqliteStore
        from langmem import create_search_memory_tool

        self._connection = sqlite3.connect(
            self.state_dir / "store.sqlite", check_same_thread=False, isolation_level=None
        )
        index = {
            "dims": self.embedder.dimensions,
            "embed": self.embedder.embed,
            # LangGraph's other stores call them `fields`; this one would embed the whole value.
            "text_fields": ["searched"],
        }
        self._store = SqliteStore(self._connection, index=index)
        self._store.setup()
        self._search_tool = create_search_memory_tool(
            _NAMESPACE, store=self._store, response_format="content_and_artifact"
        )

    def add_notes(self, notes: Sequence[DayNote]) -> None:
        """Put them in one batch, so that they are embedded together."""
        from langgraph.store.base import PutOp

        self._store.batch(
            [
                PutOp(_NAMESPACE, note.id, {"searched": note.search_text, **note.metadata})
                for note in notes
            ]
        )

    def find_passages(
        self, question: str, limit: int, sessions: Sequence[str] | None
    ) -> list[dict[str, object]]:
        """The nearest notes; the score is the cosine."""
        filters = [None] if sessions is None else [{"session": session} for session in sessions]
        items: list[Any] = []
        for only in filters:
            arguments = {"query": question, "limit": limit, "filter": only}
            call = {"type": "tool_call", "id": "1", "name": "search_memory", "args": arguments}
            items += self._search_tool.invoke(call).artifact
        items.sort(key=lambda item: item.score, reverse=True)
        return [build_note_passage(item.value, item.score) for item in items[:limit]]

    def list_notes(self) -> Iterator[StoredNote]:
        """The notes in the store."""
        offset = 0
        while items := self._store.search(_NAMESPACE, limit=_PAGE, offset=offset):
            yield from (build_stored_note(item.key, item.value) for item in items)
            offset += len(items)

    def erase_notes(self, keys: Sequence[str]) -> None:
        """Delete them from the store."""
        for key in keys:
            self._store.delete(_NAMESPACE, key)

    def teardown(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()


product = Product(LangMem, needs=("langmem", "langgraph.store.sqlite"))
