"""MemPalace: drawers of verbatim text in a palace on disk, found by vectors and words together.

A note is a drawer, a session its room, and the day it was told the day it was filed. Drawers are
written through the palace's own collection; the miner, which cuts files into drawers by itself,
is not used, nor are closets, the knowledge graph and the agents that write to it.

True limits: words only put candidates that vectors found in another order, so what no vector is
near is not found; the date decides between equals alone. A room is the only filter, so a question
that is kept to its session is two searches, and which of their best comes first is decided by the
cosine. Long texts that are the same on several days are given back once. Its settings are
variables of the process: all palaces in one process have one embedder. It locks a palace by a
file in the home folder, which is removed when the memory is closed; the folder for it stays.
"""

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recall_bench.systems.products.notes import (
    NO_SESSION,
    DayNote,
    build_note_passage,
    list_visible_sessions,
    split_notes,
)
from recall_bench.systems.products.product import ENDPOINT_MODEL, Product, measure_folder
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_WING = "record"
_NO_SESSION_ROOM = "outside any session"
"""The room of what a day says outside any session: an empty name would be any room."""

_BATCH = 256
"""Drawers in one write."""


class MemPalace:
    """MemPalace in process: finds notes by their meaning and puts those with the words first."""

    name = "mempalace"
    clock = "native"
    answers = False

    def __init__(
        self, *, state_dir: Path, endpoint: str, k: int = 10, respect_sessions: bool = False
    ) -> None:
        self.version = version("mempalace")
        self.honours_sessions = respect_sessions
        self._palace = str(state_dir / "palace")
        self._k = k
        self._endpoint = endpoint
        self._drawers: Any = None

    def setup(self) -> None:
        """Open the palace in the folder, which is there already in a copy."""
        os.environ.update(
            MEMPALACE_EMBEDDING_MODEL="openai-compat",
            MEMPALACE_EMBEDDING_API_URL=self._endpoint,
            MEMPALACE_EMBEDDING_API_MODEL=ENDPOINT_MODEL,
            MEMPALACE_BACKEND="chroma",
            # There is no such folder, so that nobody's own settings are found.
            MEMPALACE_CONFIG_DIR=str(Path(self._palace).with_name("settings")),
        )
        from mempalace.palace import get_collection

        self._drawers = get_collection(self._palace, create=True)

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """File the day's notes under its date."""
        for notes in _split_batches(split_notes(day, content, metadata)):
            self._drawers.upsert(
                ids=[note.id for note in notes],
                documents=[note.searched for note in notes],
                metadatas=[_build_drawer_metadata(note) for note in notes],
            )

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The best drawers in the palace's own order; the score is the cosine."""
        limit = context.top_k or self._k
        seen = list_visible_sessions(context) if self.honours_sessions else None
        rooms = [None] if seen is None else [_name_room(session) for session in seen]
        found = _merge_rankings([self._search_room(question, limit, room) for room in rooms])[
            :limit
        ]
        kept = self._fetch_metadata([hit["drawer_id"] for hit in found])
        return {
            "passages": [
                build_note_passage(kept[hit["drawer_id"]], hit["similarity"]) for hit in found
            ]
        }

    def stored_days(self) -> set[int]:
        """The days of the drawers."""
        return {kept["day"] for kept in self._drawers.get(include=["metadatas"]).metadatas}

    def stored_bytes(self) -> int:
        """What the palace takes."""
        return measure_folder(Path(self._palace))

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
        found: list[dict[str, Any]] = reply["results"]
        return found

    def _fetch_metadata(self, ids: Sequence[str]) -> dict[str, dict[str, object]]:
        """What lies beside the text in drawers: a search does not give it back."""
        if not ids:
            return {}
        opened = self._drawers.get(ids=list(ids), include=["metadatas"])
        return dict(zip(opened.ids, opened.metadatas, strict=True))


def _build_drawer_metadata(note: DayNote) -> dict[str, str | int]:
    """A note as MemPalace labels a drawer, and what we keep beside it."""
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


def _split_batches(notes: Sequence[DayNote]) -> Iterator[Sequence[DayNote]]:
    for start in range(0, len(notes), _BATCH):
        yield notes[start : start + _BATCH]


def _merge_rankings(rankings: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Several rankings as one that keeps the order of each."""
    merged = []
    while waiting := [ranking for ranking in rankings if ranking]:
        nearest = max(waiting, key=lambda ranking: ranking[0]["similarity"])
        merged.append(nearest.pop(0))
    return merged


product = Product(MemPalace, needs=("mempalace", "chromadb"), wants_endpoint=True)
