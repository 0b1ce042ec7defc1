"""mem0's open-source memory, over Qdrant's local mode: raw, or with its inference.

Raw, every note is a memory. With `infer` a language model reads each session of a day and writes
down what it thinks is worth keeping, so that a score is that model's as much as mem0's.

True limits: the open-source memory refuses a timestamp and stamps what it keeps with the wall
clock, which it also gives the model that infers; so a note's date stands in its text. It drops
what has a cosine below 0.1. Its keyword and entity signals need models from a hub and are off, so
it finds by meaning alone. It embeds one note at a time, and Qdrant's local mode waits for the disk
after each. A reply of the model that is not the JSON it asked for counts as nothing to remember.
A day ingested twice is kept twice.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any

from recall_bench.features.products.product import UNUSED_KEY, Product, StoreAdapter
from recall_bench.systems.builtin.passage_index import format_quote
from recall_bench.systems.endpoint_client import ENDPOINT_MODEL
from recall_bench.systems.notes import DayNote, StoredNote, build_note_passage, build_stored_note

_USER = "principal"
"""Whose memories they are: each of our memories has a folder of its own."""


@dataclass(kw_only=True, eq=False)
class Mem0(StoreAdapter):
    """mem0, open source and in process: finds notes, or what a model made of them, by meaning."""

    name = "mem0"
    package = "mem0ai"
    clock = "in-text"

    infer: bool = False

    def __post_init__(self) -> None:
        if self.infer and os.environ.get("OPENROUTER_API_KEY"):
            raise RuntimeError(
                "mem0 asks OpenRouter instead of the run's model if OPENROUTER_API_KEY is set; "
                "unset it"
            )
        super().__post_init__()
        self._memory: Any = None

    def setup(self) -> None:
        """Open the memory in the folder; a copied folder is filled already."""
        # Read at the first import only: they stop telemetry and files in the home folder.
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(self.state_dir / "mem0")
        from mem0 import Memory

        with _translate_errors():
            self._memory = Memory.from_config(self._build_config())

    def add_notes(self, notes: Sequence[DayNote]) -> None:
        """Add each note as it is, or let the model read each session."""
        if self.infer:
            groups = [list(group) for _, group in groupby(notes, key=lambda note: note.session)]
        else:
            groups = [[note] for note in notes]
        with _translate_errors():
            for group in groups:
                # Notes of one session: what mem0 infers is stored with what they
                # have in common.
                metadata = group[0].metadata
                if self.infer:
                    metadata = {key: metadata[key] for key in ("episode", "day", "date", "session")}
                messages = [
                    {"role": "user", "content": f"On {note.date}\n{note.search_text}"}
                    for note in group
                ]
                self._memory.add(messages, user_id=_USER, metadata=metadata, infer=self.infer)

    def find_passages(
        self, question: str, limit: int, sessions: Sequence[str] | None
    ) -> list[dict[str, object]]:
        """The nearest memories; the score is the cosine."""
        filters: dict[str, object] = {"user_id": _USER}
        if sessions is not None:
            filters["session"] = {"in": list(sessions)}
        with _translate_errors():
            reply = self._memory.search(question, filters=filters, top_k=limit)
        return [self._build_passage(memory) for memory in reply["results"]]

    def stored_days(self) -> set[int] | None:
        """The days of the notes; None with `infer`, where a memory may come from several days."""
        return None if self.infer else super().stored_days()

    def list_notes(self) -> list[StoredNote]:
        """The memories in the store, because mem0 does not say how many it would list."""
        client, store = self._memory.vector_store.client, "notes"
        count = client.count(store).count
        points = client.scroll(store, limit=count)[0] if count else []
        # What a model inferred has no quotation of the record.
        return [
            build_stored_note(str(point.id), {"quoted": point.payload["data"], **point.payload})
            for point in points
        ]

    def erase_notes(self, keys: Sequence[str]) -> None:
        """Delete the memories; mem0 keeps what they were in its history."""
        for key in keys:
            self._memory.delete(key)

    def teardown(self) -> None:
        """Close the history, and the vector store, which mem0 leaves locked."""
        if self._memory is not None:
            self._memory.close()
            self._memory.vector_store.client.close()

    def _build_config(self) -> dict[str, object]:
        size = self.embedder.dimensions
        served = {"model": ENDPOINT_MODEL, "openai_base_url": self.endpoint, "api_key": UNUSED_KEY}
        store = {
            "path": str(self.state_dir / "qdrant"),
            "collection_name": "notes",
            "embedding_model_dims": size,
            "on_disk": True,
        }
        return {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": {"provider": "openai", "config": {**served, "embedding_dims": size}},
            "llm": {"provider": "openai", "config": served},
            "history_db_path": str(self.state_dir / "history.db"),
        }

    def _build_passage(self, found: Mapping[str, Any]) -> dict[str, object]:
        metadata = found["metadata"]
        if not self.infer:
            return build_note_passage(metadata, found["score"])
        on = date.fromisoformat(metadata["date"])
        quote = format_quote(found["memory"], on, metadata["session"] or None)
        return build_note_passage(
            {**metadata, "note": found["id"], "quoted": quote}, found["score"]
        )


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise the errors of OpenAI's client, which mem0 may wrap, as an adapter should."""
    try:
        yield
    except Exception as error:
        from openai import APIConnectionError, RateLimitError

        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, APIConnectionError):
                raise ConnectionError(f"the model endpoint cannot be reached: {cause}") from error
            if isinstance(cause, RateLimitError):
                raise TimeoutError(str(cause)) from error
            cause = cause.__cause__
        raise


product = Product(Mem0, needs=("mem0", "openai", "qdrant_client"), wants_endpoint=True)
