"""Qdrant's local mode: its Python client over a folder, without a server.

True limits: local mode goes through every point in Python and loads all of them when it is opened;
a server's speed is not what is measured here. It finds by meaning alone; the date decides nothing,
it comes back with the note.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from recall_bench.systems.products.notes import (
    build_note_passage,
    list_visible_sessions,
    split_notes,
)
from recall_bench.systems.products.product import Product, ProductEmbedder, measure_folder
from recall_bench.systems.python.adapter import DayMetadata, QueryContext


class Qdrant:
    """Qdrant in local mode: finds notes by their meaning."""

    name = "qdrant"
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
        self.version = version("qdrant-client")
        self.honours_sessions = respect_sessions
        self._folder = state_dir
        self._k = k
        self._vectors = ProductEmbedder(endpoint)
        self._client: Any = None

    def setup(self) -> None:
        """Open the collection in the folder, which is there already in a copy."""
        from qdrant_client import QdrantClient, models

        self._client = QdrantClient(path=str(self._folder))
        if not self._client.collection_exists("notes"):
            self._client.create_collection(
                "notes",
                vectors_config=models.VectorParams(
                    size=self._vectors.dimensions, distance=models.Distance.COSINE
                ),
            )

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add the day's notes; Qdrant wants a number or a UUID for an id."""
        from qdrant_client import models

        notes = split_notes(day, content, metadata)
        vectors = self._vectors.embed([note.searched for note in notes])
        points = [
            models.PointStruct(
                id=str(uuid5(NAMESPACE_OID, note.id)),
                vector=vector,
                payload={"searched": note.searched, **note.metadata},
            )
            for note, vector in zip(notes, vectors, strict=True)
        ]
        if points:
            self._client.upsert("notes", points)

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The nearest notes; the score is the cosine."""
        from qdrant_client import models

        seen = list_visible_sessions(context) if self.honours_sessions else None
        allowed = None
        if seen is not None:
            own = models.FieldCondition(key="session", match=models.MatchAny(any=list(seen)))
            allowed = models.Filter(must=[own])
        found = self._client.query_points(
            "notes",
            query=self._vectors.embed([question])[0],
            query_filter=allowed,
            limit=context.top_k or self._k,
        )
        return {
            "passages": [build_note_passage(point.payload, point.score) for point in found.points]
        }

    def stored_days(self) -> set[int]:
        """The days of the points in the collection."""
        count = self._client.count("notes").count
        if not count:
            return set()
        points, _ = self._client.scroll("notes", limit=count, with_payload=["day"])
        return {point.payload["day"] for point in points}

    def stored_bytes(self) -> int:
        """What its folder takes."""
        return measure_folder(self._folder)

    def teardown(self) -> None:
        """Close the collection and let go of the folder's lock."""
        if self._client is not None:
            self._client.close()


product = Product(Qdrant, needs=("qdrant_client",))
