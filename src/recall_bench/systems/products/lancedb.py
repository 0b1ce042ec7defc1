"""LanceDB: a table of vectors in columnar files, inside the process.

True limits: it finds by meaning alone, going through every row (no index is built: there are too
few rows for one to pay); the date decides nothing, it comes back with the note. A question without
a word finds nothing, because its vector is zero.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from recall_bench.systems.products.notes import DayNote, build_note_passage
from recall_bench.systems.products.product import Product, StoreAdapter


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
            "day": pa.int64(),
            "date": pa.string(),
            "session": pa.string(),
            "quoted": pa.string(),
        }
        self._table = lancedb.connect(self.state_dir).create_table(
            "notes", schema=pa.schema(columns), exist_ok=True
        )

    def add_notes(self, notes: Sequence[DayNote]) -> None:
        """Add a row for each."""
        vectors = self.embedder.embed([note.search_text for note in notes])
        self._table.add(
            [
                {"vector": vector, "searched": note.search_text, **note.metadata}
                for note, vector in zip(notes, vectors, strict=True)
            ]
        )

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
            names = ", ".join("'" + session.replace("'", "''") + "'" for session in sessions)
            search = search.where(f"session in ({names})", prefilter=True)
        return [
            build_note_passage(row, 1 - row["_distance"]) for row in search.limit(limit).to_list()
        ]

    def stored_days(self) -> set[int]:
        """The days of the rows in the table."""
        rows = self._table.search().select(["day"]).limit(self._table.count_rows()).to_list()
        return {row["day"] for row in rows}


product = Product(LanceDB, needs=("lancedb", "pyarrow"))
