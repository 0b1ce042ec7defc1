"""txtai: words and meaning together, in process.

True limits: its index lives in memory and is written to the folder when the day's work is done;
the date decides nothing, it comes back with the note. The score is its own mean of BM25 and
cosine. Importing it brings torch and transformers, for which nothing is downloaded here.
"""

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

_QUERY = "select score, note, day, quoted from txtai where similar(:question, :candidates)"


class Txtai:
    """txtai's hybrid index: finds notes by their words and their meaning."""

    name = "txtai"
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
        self.version = version("txtai")
        self.honours_sessions = respect_sessions
        self._folder = state_dir / "index"
        self._k = k
        self._vectors = ProductEmbedder(endpoint)
        self._index: Any = None

    def setup(self) -> None:
        """Open the index in the folder, which is there already in a copy."""
        from txtai import Embeddings

        # It calls a function for vectors, and anything else that can be called for a function.
        embedder = {"transform": lambda texts: self._vectors.embed(texts)}  # noqa: PLW0108
        self._index = Embeddings(method="external", content=True, hybrid=True, **embedder)
        if self._folder.exists():
            self._index.load(str(self._folder), config=embedder)

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add the day's notes."""
        notes = split_notes(day, content, metadata)
        if notes:
            self._index.upsert(
                [(note.id, {"text": note.searched, **note.metadata}) for note in notes]
            )

    def finalize_ingestion(self) -> None:
        """Write the index to the folder."""
        if self._is_dense():
            self._index.save(str(self._folder))

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The best notes by txtai's hybrid score."""
        if not self._is_dense():
            return {"passages": []}
        limit = context.top_k or self._k
        values: dict[str, object] = {"question": question, "candidates": 10 * limit}
        query = _QUERY
        seen = list_visible_sessions(context) if self.honours_sessions else None
        if seen is not None:
            # Sessions are looked at after the candidates are chosen, so all notes must be.
            values["candidates"] = self._index.count()
            values |= {f"session{number}": session for number, session in enumerate(seen)}
            query += " and session in (:session0, :session1)"
        found = self._index.search(query, limit, parameters=values)
        return {"passages": [build_note_passage(row, row["score"]) for row in found]}

    def stored_days(self) -> set[int]:
        """The days of the notes in the index."""
        if not self._is_dense():
            return set()
        rows = self._index.search("select day from txtai group by day", self._index.count())
        return {row["day"] for row in rows}

    def stored_bytes(self) -> int:
        """What the index takes as it was last written."""
        return measure_folder(self._folder)

    def teardown(self) -> None:
        """Let go of the index."""
        if self._index is not None:
            self._index.close()

    def _is_dense(self) -> bool:
        return bool(self._index.isdense())


product = Product(Txtai, needs=("txtai",))
