"""mem0's open-source memory, over Qdrant's local mode: raw, or with its inference.

Raw, every note is a memory. With `infer` a language model reads each session of a day and writes
down what it thinks is worth keeping, so that a score is that model's as much as mem0's.

True limits: the open-source memory refuses a timestamp and stamps what it keeps with the wall
clock, which it also tells the model that infers; so a note's date stands in its text. It drops
what has a cosine below 0.1. Its keyword and entity signals need models from a hub and are off, so
it finds by meaning alone. It embeds one note at a time, and Qdrant's local mode waits for the disk
after each. A reply of the model that is not the JSON it asked for counts as nothing to remember.
A day taken in twice is kept twice.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from recall_bench.systems.builtin.passage_index import format_quote
from recall_bench.systems.products.notes import (
    DayNote,
    build_note_passage,
    list_visible_sessions,
    split_notes,
)
from recall_bench.systems.products.product import (
    ENDPOINT_MODEL,
    Product,
    ProductEmbedder,
    measure_folder,
)
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

_USER = "principal"
"""Whose memories they are: every memory of ours has a folder of its own."""

_KEY = "unused"
"""The client of OpenAI insists on one, and the endpoint does not look at it."""


class Mem0:
    """mem0, open source and in process: finds notes, or what a model made of them, by meaning."""

    name = "mem0"
    clock = "in-text"
    answers = False

    def __init__(
        self,
        *,
        state_dir: Path,
        endpoint: str,
        infer: bool = False,
        k: int = 10,
        respect_sessions: bool = False,
    ) -> None:
        if infer and os.environ.get("OPENROUTER_API_KEY"):
            raise RuntimeError(
                "mem0 asks OpenRouter rather than the run's model where OPENROUTER_API_KEY is set; "
                "unset it"
            )
        self.version = version("mem0ai")
        self.honours_sessions = respect_sessions
        self._folder = state_dir
        self._endpoint = endpoint
        self._infers = infer
        self._k = k
        self._memory: Any = None

    def setup(self) -> None:
        """Open the memory in the folder, which is filled already in a copy."""
        # Read at the first import only: without them it reports home, and keeps files there.
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(self._folder / "mem0")
        from mem0 import Memory

        with _translate_errors():
            self._memory = Memory.from_config(self._build_config())

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add each note as it is, or each session of the day to be read by the model."""
        notes = split_notes(day, content, metadata)
        with _translate_errors():
            if not self._infers:
                for note in notes:
                    self._add([note], infer=False)
                return
            for _, together in groupby(notes, key=lambda note: note.session):
                self._add(list(together), infer=True)

    def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The nearest memories; the score is the cosine."""
        filters: dict[str, object] = {"user_id": _USER}
        seen = list_visible_sessions(context) if self.honours_sessions else None
        if seen is not None:
            filters["session"] = {"in": list(seen)}
        with _translate_errors():
            found = self._memory.search(question, filters=filters, top_k=context.top_k or self._k)
        return {"passages": [self._build_passage(each) for each in found["results"]]}

    def stored_days(self) -> set[int] | None:
        """The days of the notes kept; what a model made of them, and made over, may be of several.

        The store is asked, for mem0 lists no more than it is told to and does not say how many.
        """
        if self._infers:
            return None
        client, store = self._memory.vector_store.client, "notes"
        count = client.count(store).count
        points = client.scroll(store, limit=count, with_payload=["day"])[0] if count else []
        return {point.payload["day"] for point in points}

    def stored_bytes(self) -> int:
        """What its folder takes, the history it keeps of itself included."""
        return measure_folder(self._folder)

    def teardown(self) -> None:
        """Close the history, and let go of the lock on the vectors, which mem0 leaves open."""
        if self._memory is not None:
            self._memory.close()
            self._memory.vector_store.client.close()

    def _build_config(self) -> dict[str, object]:
        size = ProductEmbedder(self._endpoint).dimensions
        served = {"model": ENDPOINT_MODEL, "openai_base_url": self._endpoint, "api_key": _KEY}
        store = {
            "path": str(self._folder / "qdrant"),
            "collection_name": "notes",
            "embedding_model_dims": size,
            "on_disk": True,
        }
        return {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": {"provider": "openai", "config": {**served, "embedding_dims": size}},
            "llm": {"provider": "openai", "config": served},
            "history_db_path": str(self._folder / "history.db"),
        }

    def _add(self, notes: list[DayNote], *, infer: bool) -> None:
        """Notes of one session: what mem0 makes of them is kept beside what they have in common."""
        first = notes[0].metadata
        kept = {key: first[key] for key in ("day", "date", "session")} if infer else first
        said = [{"role": "user", "content": f"On {note.date}\n{note.searched}"} for note in notes]
        self._memory.add(said, user_id=_USER, metadata=kept, infer=infer)

    def _build_passage(self, found: Mapping[str, Any]) -> dict[str, object]:
        kept = found["metadata"]
        if not self._infers:
            return build_note_passage(kept, found["score"])
        on = date.fromisoformat(kept["date"])
        said = format_quote(found["memory"], on, kept["session"] or None)
        return build_note_passage({**kept, "note": found["id"], "quoted": said}, found["score"])


@contextmanager
def _translate_errors() -> Iterator[None]:
    """What the client of OpenAI raises, perhaps wrapped by mem0, as an adapter says it."""
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
