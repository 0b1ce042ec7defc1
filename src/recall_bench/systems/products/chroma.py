"""Chroma: a vector database inside the process, with its files in a folder.

True limits: it finds by meaning alone, and approximately (HNSW), so that a note may be missed that
fits better; the date decides nothing, it comes back with the note. Chroma's own embedding function
downloads a model and is not used.
"""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recall_bench.systems.products.notes import (
    DayNote,
    build_note_passage,
    list_visible_sessions,
    split_notes,
)
from recall_bench.systems.products.product import Product, ProductEmbedder, measure_folder
from recall_bench.systems.python.adapter import DayMetadata, QueryContext


class Chroma:
    """Chroma, persistent and in process: finds notes by their meaning."""

    name = "chroma"
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
        self.version = version("chromadb")
        self.honours_sessions = respect_sessions
        self._folder = state_dir
        self._k = k
        self._vectors = ProductEmbedder(endpoint)
        self._client: Any = None
        self._collection: Any = None

    def setup(self) -> None:
        """Open the collection in the folder, which is there already in a copy."""
        import chromadb

        self._client = chromadb.PersistentClient(
            path=str(self._folder), settings=chromadb.Settings(anonymized_telemetry=False)
        )
        self._collection = self._client.get_or_create_collection(
            "notes", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add the day's notes, as many at a time as Chroma takes."""
        for notes in self._split_batches(split_notes(day, content, metadata)):
            self._collection.upsert(
                ids=[note.id for note in notes],
                documents=[note.searched for note in notes],
                embeddings=self._vectors.embed([note.searched for note in notes]),
                metadatas=[note.metadata for note in notes],
            )

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The nearest notes; the score is the cosine."""
        seen = list_visible_sessions(context) if self.honours_sessions else None
        found = self._collection.query(
            query_embeddings=self._vectors.embed([question]),
            n_results=context.top_k or self._k,
            where={"session": {"$in": list(seen)}} if seen else None,
            include=["metadatas", "distances"],
        )
        kept, distances = found["metadatas"][0], found["distances"][0]
        return {
            "passages": [
                build_note_passage(each, 1 - distance)
                for each, distance in zip(kept, distances, strict=True)
            ]
        }

    def stored_days(self) -> set[int]:
        """The days of the notes in the collection."""
        return {kept["day"] for kept in self._collection.get(include=["metadatas"])["metadatas"]}

    def stored_bytes(self) -> int:
        """What its folder takes."""
        return measure_folder(self._folder)

    def teardown(self) -> None:
        """Close the database."""
        if self._client is not None:
            self._client.close()

    def _split_batches(self, notes: Sequence[DayNote]) -> Iterator[Sequence[DayNote]]:
        size = self._client.get_max_batch_size()
        for start in range(0, len(notes), size):
            yield notes[start : start + size]


product = Product(Chroma, needs=("chromadb",))
