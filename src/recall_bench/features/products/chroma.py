"""Chroma: a vector database inside the process, with its files in a folder.

True limits: it finds by meaning alone, and approximately (HNSW), so a better note may be missed;
the date decides nothing, it comes back with the note. Chroma's own embedding function downloads a
model and is not used.
"""

from collections.abc import Sequence
from typing import Any

from recall_bench.features.products.product import Product, StoreAdapter, split_batches
from recall_bench.systems.notes import DayNote, StoredNote, build_note_passage, build_stored_note


class Chroma(StoreAdapter):
    """Chroma, persistent and in process: finds notes by their meaning."""

    name = "chroma"
    package = "chromadb"

    _client: Any = None
    _collection: Any = None

    def setup(self) -> None:
        """Open the collection in the folder; a copied folder already holds one."""
        import chromadb

        self._client = chromadb.PersistentClient(
            path=str(self.state_dir), settings=chromadb.Settings(anonymized_telemetry=False)
        )
        self._collection = self._client.get_or_create_collection(
            "notes", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add_notes(self, notes: Sequence[DayNote]) -> None:
        """Add them, as many at a time as Chroma takes."""
        for batch in split_batches(notes, self._client.get_max_batch_size()):
            texts = [note.search_text for note in batch]
            self._collection.upsert(
                ids=[note.id for note in batch],
                documents=texts,
                embeddings=self.embedder.embed(texts),
                metadatas=[note.metadata for note in batch],
            )

    def find_passages(
        self, question: str, limit: int, sessions: Sequence[str] | None
    ) -> list[dict[str, object]]:
        """The nearest notes; the score is the cosine."""
        rows = self._collection.query(
            query_embeddings=self.embedder.embed([question]),
            n_results=limit,
            where={"session": {"$in": list(sessions)}} if sessions else None,
            include=["metadatas", "distances"],
        )
        pairs = zip(rows["metadatas"][0], rows["distances"][0], strict=True)
        return [build_note_passage(metadata, 1 - distance) for metadata, distance in pairs]

    def list_notes(self) -> list[StoredNote]:
        """The notes in the collection."""
        rows = self._collection.get(include=["metadatas"])
        return [
            build_stored_note(key, metadata)
            for key, metadata in zip(rows["ids"], rows["metadatas"], strict=True)
        ]

    def erase_notes(self, keys: Sequence[str]) -> None:
        """Delete them, as many at a time as Chroma takes."""
        for batch in split_batches(keys, self._client.get_max_batch_size()):
            self._collection.delete(ids=list(batch))

    def teardown(self) -> None:
        """Close the database."""
        if self._client is not None:
            self._client.close()


product = Product(Chroma, needs=("chromadb",))
