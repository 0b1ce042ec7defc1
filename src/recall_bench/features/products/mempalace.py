"""MemPalace: drawers of verbatim text in a palace on disk, found by vectors and words together.

A note is a drawer, a session its room, and its day the day it was filed. Drawers are
written through the palace's own collection; the miner, which cuts files into drawers by itself,
is not used, nor are closets, the knowledge graph and the agents that write to it.

True limits: words only reorder candidates that vectors found, so a note that no vector is near is
not found; the date decides between equals alone. A room is the only filter, so a question that is
kept to its session is two searches, whose results are merged by cosine. Long texts that are the
same on several days come back once. Its settings are variables of the process: all palaces in one
process have one embedder. It locks a palace by a file in the home folder, which is removed when
the memory is closed; the folder for it stays.
"""

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from recall_bench.features.products.product import Product, StoreAdapter, split_batches
from recall_bench.systems.endpoint_client import ENDPOINT_MODEL
from recall_bench.systems.notes import (
    NO_SESSION,
    DayNote,
    StoredNote,
    build_note_passage,
    build_stored_note,
)

_WING = "record"
_NO_SESSION_ROOM = "outside any session"
"""The room of text outside any session: an empty name would mean any room."""

_BATCH = 256
"""Drawers in one write."""


class MemPalace(StoreAdapter):
    """MemPalace in process: finds notes by their meaning and puts those with the words first."""

    name = "mempalace"
    package = "mempalace"

    _drawers: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._palace = str(self.state_dir / "palace")

    def setup(self) -> None:
        """Open the palace in the folder; a copied folder already holds one."""
        os.environ.update(
            MEMPALACE_EMBEDDING_MODEL="openai-compat",
            MEMPALACE_EMBEDDING_API_URL=str(self.endpoint),
            MEMPALACE_EMBEDDING_API_MODEL=ENDPOINT_MODEL,
            MEMPALACE_BACKEND="chroma",
            # No such folder exists, so that no settings of the user are found.
            MEMPALACE_CONFIG_DIR=str(self.state_dir / "settings"),
        )
        from mempalace.palace import get_collection

        self._drawers = get_collection(self._palace, create=True)

    def add_notes(self, notes: Sequence[DayNote]) -> None:
        """File them under their date."""
        for batch in split_batches(notes, _BATCH):
            self._drawers.upsert(
                ids=[note.id for note in batch],
                documents=[note.search_text for note in batch],
                metadatas=[_build_drawer_metadata(note) for note in batch],
            )

    def find_passages(
        self, question: str, limit: int, sessions: Sequence[str] | None
    ) -> list[dict[str, object]]:
        """The best drawers in the palace's own order; the score is the cosine."""
        rooms = [None] if sessions is None else [_name_room(session) for session in sessions]
        hits = _merge_rankings([self._search_room(question, limit, room) for room in rooms])[:limit]
        metadata = self._fetch_metadata([hit["drawer_id"] for hit in hits])
        return [build_note_passage(metadata[hit["drawer_id"]], hit["similarity"]) for hit in hits]

    def list_notes(self) -> list[StoredNote]:
        """The drawers."""
        drawers = self._drawers.get(include=["metadatas"])
        return [
            build_stored_note(key, metadata)
            for key, metadata in zip(drawers.ids, drawers.metadatas, strict=True)
        ]

    def erase_notes(self, keys: Sequence[str]) -> None:
        """Delete the drawers."""
        for batch in split_batches(keys, _BATCH):
            self._drawers.delete(ids=list(batch))

    def teardown(self) -> None:
        """Close the palace, which its backend would keep open, and remove its lock."""
        if self._drawers is None:
            return
        from mempalace.palace import get_backend_for_palace

        get_backend_for_palace(self._palace).close_palace(self._palace)
        real = os.path.normcase(os.path.realpath(self._palace))
        lock = f"mine_palace_{sha256(real.encode()).hexdigest()[:16]}.lock"
        Path("~/.mempalace/locks", lock).expanduser().unlink(missing_ok=True)

    def _search_room(self, question: str, limit: int, room: str | None) -> list[dict[str, Any]]:
        from mempalace.searcher import search_memories

        reply = search_memories(question, self._palace, room=room, n_results=limit)
        if "error" in reply:
            raise RuntimeError(f"MemPalace could not search: {reply['error']}")
        results: list[dict[str, Any]] = reply["results"]
        return results

    def _fetch_metadata(self, ids: Sequence[str]) -> dict[str, dict[str, object]]:
        """The metadata of drawers, which a search does not return."""
        if not ids:
            return {}
        opened = self._drawers.get(ids=list(ids), include=["metadatas"])
        return dict(zip(opened.ids, opened.metadatas, strict=True))


def _build_drawer_metadata(note: DayNote) -> dict[str, str | int]:
    """A note's metadata, and the labels that MemPalace gives a drawer."""
    return {
        **note.metadata,
        "wing": _WING,
        "room": _name_room(note.session or NO_SESSION),
        "source_file": f"day-{note.day:04}.md",
        "chunk_index": int(note.id.rpartition("-")[2]),
        "filed_at": f"{note.date}T00:00:00",
    }


def _name_room(session: str) -> str:
    return session or _NO_SESSION_ROOM


def _merge_rankings(rankings: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One ranking that keeps the order of each."""
    merged = []
    while waiting := [ranking for ranking in rankings if ranking]:
        nearest = max(waiting, key=lambda ranking: ranking[0]["similarity"])
        merged.append(nearest.pop(0))
    return merged


product = Product(MemPalace, needs=("mempalace", "chromadb"), wants_endpoint=True)
