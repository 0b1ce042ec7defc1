"""LanceDB: a table of vectors in columnar files, inside the process.

True limits: it finds by meaning alone, going through every row (no index is built: there are too
few rows for one to pay); the date decides nothing, it comes back with the note. A question without
a word finds nothing, because its vector is zero.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from recall_bench.features.products.product import Product, StoreAdapter
from recall_bench.systems.notes import DayNote, StoredNote, build_note_passage, build_stored_note


class LanceDB(StoreAdapter):
    """LanceDB, in process: finds notes by their meaning."""

    name = "lancedb"
    package = "lancedb"

    _table: Any = None

    def setup(self) -> None:
        """Open the table in the folder; a copied folder already holds one."""
        import lancedb
        import pyarrow as pa

        columns = {
            "vector": pa.list_(pa.float32(), self.embedder.dimensions),
            "searched": pa.string(),
            "note": pa.string(),
            "episode": pa.string(),
            "day": pa.int64(),
            "date": pa.string(),
            "session": pa.string(),
            "quoted": pa.string(),
        }
        self._table = lancedb.connect(self.state_dir).create_table(
            "notes", schema=pa.schema(columns), exist_ok=True
        )

    def add_notes(self, notes: Sequence[DayNote]) -> None:
        """Write a row for each; a note that comes again replaces itself."""
        vectors = self.embedder.embed([note.search_text for note in notes])
        rows = [
            {"vector": vector, "searched": note.search_text, **note.metadata}
            for note, vector in zip(notes, vectors, strict=True)
        ]
        merge = self._table.merge_insert("note").when_matched_update_all()
        merge.when_not_matched_insert_all().execute(rows)

    def finalize_ingestion(self) -> None:
        """Compact the many small files that adding day by day leaves."""
        import warnings

        with warnings.catch_warnings():
            # It warns of other readers of this table, and there are none.
            warnings.simplefilter("ignore", UserWarning)
            self._table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)

    def find_passages(
        self, question: str, limit: int, sessions: Sequence[str] | None
    ) -> list[dict[str, object]]:
        """The nearest notes; the score is the cosine."""
        search = self._table.search(self.embedder.embed([question])[0]).distance_type("cosine")
        if sessions is not None:
            search = search.where(f"session in ({_quote_all(sessions)})", prefilter=True)
        return [
            build_note_passage(row, 1 - row["_distance"]) for row in search.limit(limit).to_list()
        ]

    def list_notes(self) -> list[StoredNote]:
        """The rows of the table."""
        columns = ["note", "episode", "session", "day", "quoted"]
        rows = self._table.search().select(columns).limit(self._table.count_rows()).to_list()
        return [build_stored_note(row["note"], row) for row in rows]

    def erase_notes(self, keys: Sequence[str]) -> None:
        """Delete the rows; the files that held them go when ingestion is finalised."""
        self._table.delete(f"note in ({_quote_all(keys)})")


def _quote_all(texts: Sequence[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


product = Product(LanceDB, needs=("lancedb", "pyarrow"))
