"""txtai: words and meaning together, in process.

True limits: its index lives in memory and is written to the folder at the end of ingestion;
the date decides nothing, it comes back with the note. The score is its own mean of BM25 and
cosine. Importing it brings torch and transformers, for which nothing is downloaded here.
"""

from collections.abc import Sequence
from typing import Any

from recall_bench.features.products.product import Product, StoreAdapter
from recall_bench.systems.notes import DayNote, StoredNote, build_note_passage, build_stored_note

_QUERY = "select score, note, day, quoted from txtai where similar(:question, :candidates)"


class Txtai(StoreAdapter):
    """txtai's hybrid index: finds notes by their words and their meaning."""

    name = "txtai"
    package = "txtai"

    _index: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._path = self.state_dir / "index"

    def setup(self) -> None:
        """Open the index in the folder; a copied folder already holds one."""
        from txtai import Embeddings

        # It calls a function to get vectors, but any other callable to get a function.
        embedder = {"transform": lambda texts: self.embedder.embed(texts)}  # noqa: PLW0108
        self._index = Embeddings(method="external", content=True, hybrid=True, **embedder)
        if self._path.exists():
            self._index.load(str(self._path), config=embedder)

    def add_notes(self, notes: Sequence[DayNote]) -> None:
        """Add them to the index."""
        self._index.upsert(
            [(note.id, {"text": note.search_text, **note.metadata}) for note in notes]
        )

    def finalize_ingestion(self) -> None:
        """Write the index to the folder."""
        if self._index.isdense():
            self._index.save(str(self._path))

    def find_passages(
        self, question: str, limit: int, sessions: Sequence[str] | None
    ) -> list[dict[str, object]]:
        """The best notes by txtai's hybrid score."""
        if not self._index.isdense():
            return []
        values: dict[str, object] = {"question": question, "candidates": 10 * limit}
        query = _QUERY
        if sessions is not None:
            # Sessions are filtered after candidates are chosen, so all notes must be candidates.
            values["candidates"] = self._index.count()
            values |= {f"session{number}": session for number, session in enumerate(sessions)}
            query += " and session in (:session0, :session1)"
        rows = self._index.search(query, limit, parameters=values)
        return [build_note_passage(row, row["score"]) for row in rows]

    def list_notes(self) -> list[StoredNote]:
        """The notes in the index."""
        if not self._index.isdense():
            return []
        columns = "id, episode, session, day, quoted"
        rows = self._index.search(f"select {columns} from txtai", self._index.count())  # noqa: S608
        return [build_stored_note(row["id"], row) for row in rows]

    def erase_notes(self, keys: Sequence[str]) -> None:
        """Delete them from the index."""
        self._index.delete(list(keys))

    def teardown(self) -> None:
        """Close the index."""
        if self._index is not None:
            self._index.close()


product = Product(Txtai, needs=("txtai",))
