"""Qdrant's local mode: its Python client over a folder, without a server.

True limits: local mode goes through every point in Python and loads all of them when it is opened;
a server's speed is not what is measured here. It finds by meaning alone; the date decides nothing,
it comes back with the note.
"""

from collections.abc import Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from recall_bench.features.products.product import Product, StoreAdapter
from recall_bench.systems.notes import DayNote, StoredNote, build_note_passage, build_stored_note


class Qdrant(StoreAdapter):
    """Qdrant in local mode: finds notes by their meaning."""

    name = "qdrant"
    package = "qdrant-client"

    _client: Any = None

    def setup(self) -> None:
        """Open the collection in the folder; a copied folder already holds one."""
        from qdrant_client import QdrantClient, models

        self._client = QdrantClient(path=str(self.state_dir))
        if not self._client.collection_exists("notes"):
            self._client.create_collection(
                "notes",
                vectors_config=models.VectorParams(
                    size=self.embedder.dimensions, distance=models.Distance.COSINE
                ),
            )

    def add_notes(self, notes: Sequence[DayNote]) -> None:
        """Add a point for each; Qdrant's ids are numbers or UUIDs."""
        from qdrant_client import models

        vectors = self.embedder.embed([note.search_text for note in notes])
        points = [
            models.PointStruct(
                id=str(uuid5(NAMESPACE_OID, note.id)),
                vector=vector,
                payload={"searched": note.search_text, **note.metadata},
            )
            for note, vector in zip(notes, vectors, strict=True)
        ]
        self._client.upsert("notes", points)

    def find_passages(
        self, question: str, limit: int, sessions: Sequence[str] | None
    ) -> list[dict[str, object]]:
        """The nearest notes; the score is the cosine."""
        from qdrant_client import models

        allowed = None
        if sessions is not None:
            own = models.FieldCondition(key="session", match=models.MatchAny(any=list(sessions)))
            allowed = models.Filter(must=[own])
        reply = self._client.query_points(
            "notes", query=self.embedder.embed([question])[0], query_filter=allowed, limit=limit
        )
        return [build_note_passage(point.payload, point.score) for point in reply.points]

    def list_notes(self) -> list[StoredNote]:
        """The points in the collection."""
        count = self._client.count("notes").count
        points = self._client.scroll("notes", limit=count)[0] if count else []
        return [build_stored_note(str(point.id), point.payload) for point in points]

    def erase_notes(self, keys: Sequence[str]) -> None:
        """Delete the points."""
        self._client.delete("notes", points_selector=list(keys))

    def teardown(self) -> None:
        """Close the collection and release the folder's lock."""
        if self._client is not None:
            self._client.close()


product = Product(Qdrant, needs=("qdrant_client",))
