"""LanceDB: a table of vectors in columnar files, inside the process.

True limits: it finds by meaning alone, going through every row (no index is built: there are too
few for one to pay); the date decides nothing, it comes back with the note. A question without a
word finds nothing, for its vector has no direction.
"""

from datetime import timedelta
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


class LanceDB:
    """LanceDB, in process: finds notes by their meaning."""

    name = "lancedb"
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
        self.version = version("lancedb")
        self.honours_sessions = respect_sessions
        self._folder = state_dir
        self._k = k
        self._vectors = ProductEmbedder(endpoint)
        self._table: Any = None

    def setup(self) -> None:
        """Open the table in the folder, which is there already in a copy."""
        import lancedb
        import pyarrow as pa

        columns = {
            "vector": pa.list_(pa.float32(), self._vectors.dimensions),
            "searched": pa.string(),
            "note": pa.string(),
            "day": pa.int64(),
            "date": pa.string(),
            "session": pa.string(),
            "quoted": pa.string(),
        }
        self._table = lancedb.connect(self._folder).create_table(
            "notes", schema=pa.schema(columns), exist_ok=True
        )

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add the day's notes."""
        notes = split_notes(day, content, metadata)
        vectors = self._vectors.embed([note.searched for note in notes])
        if notes:
            self._table.add(
                [
                    {"vector": vector, "searched": note.searched, **note.metadata}
                    for note, vector in zip(notes, vectors, strict=True)
                ]
            )

    def finalize_ingestion(self) -> None:
        """Make one file of the many that adding day by day leaves, and drop the old ones."""
        import warnings

        with warnings.catch_warnings():
            # It warns of other readers of this table, and there are none.
            warnings.simplefilter("ignore", UserWarning)
            self._table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The nearest notes; the score is the cosine."""
        search = self._table.search(self._vectors.embed([question])[0]).distance_type("cosine")
        seen = list_visible_sessions(context) if self.honours_sessions else None
        if seen is not None:
            named = ", ".join("'" + session.replace("'", "''") + "'" for session in seen)
            search = search.where(f"session in ({named})", prefilter=True)
        found = search.limit(context.top_k or self._k).to_list()
        return {"passages": [build_note_passage(row, 1 - row["_distance"]) for row in found]}

    def stored_days(self) -> set[int]:
        """The days of the rows in the table."""
        rows = self._table.search().select(["day"]).limit(self._table.count_rows()).to_list()
        return {row["day"] for row in rows}

    def stored_bytes(self) -> int:
        """What its folder takes."""
        return measure_folder(self._folder)


product = Product(LanceDB, needs=("lancedb", "pyarrow"))
