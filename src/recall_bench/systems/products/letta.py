"""Letta: an archive of passages on a Letta server, through its own SDK.

True limits: written against version 1 of the SDK and run against a fake server only, never the
product. Used is the archival memory that agents search, without an agent: an agent would need a
language model, and would decide itself what to write down. The server embeds a passage before it
says that it has it, so there is nothing to wait for. The day is a passage's creation date; the
search does not rank by it.
"""

from importlib.metadata import version
from typing import Any

from recall_bench.systems.products.notes import DayNote, build_note_passage, split_notes
from recall_bench.systems.products.product import Product
from recall_bench.systems.products.service import (
    SERVICE_CONCURRENCY,
    ServiceErrors,
    label_session,
    list_visible_labels,
    make_unique_name,
    read_api_key,
    undo_on_failure,
)
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

KEY = "LETTA_API_KEY"

BATCH = 100
"""Passages in one request."""


class Letta:
    """Letta's archival memory, a service: finds notes by their meaning."""

    name = "letta"
    clock = "native"
    answers = False
    can_snapshot = False
    max_concurrency = SERVICE_CONCURRENCY

    def __init__(
        self,
        *,
        base_url: str | None = None,
        k: int = 10,
        respect_sessions: bool = False,
        embedding: str | None = None,
    ) -> None:
        self.version = version("letta-client")
        self.honours_sessions = respect_sessions
        self._base_url = base_url
        self._k = k
        self._embedding = embedding
        self._key = read_api_key("Letta", KEY)
        self._name = make_unique_name()
        self._archive: str | None = None
        self._sent: set[str] = set()
        self._client: Any = None
        self._faults: Any = None

    async def setup(self) -> None:
        """Create an archive of our own, and see that it is empty."""
        from letta_client import APIConnectionError, APIStatusError, APITimeoutError, AsyncLetta

        self._faults = ServiceErrors(
            product="Letta",
            key=self._key,
            late=(APITimeoutError,),
            unreachable=(APIConnectionError,),
            refused=(APIStatusError,),
        )
        where = {} if self._base_url is None else {"base_url": self._base_url}
        # The run has a patience of its own, and counts how often it was needed.
        self._client = AsyncLetta(api_key=self._key, max_retries=0, **where)
        wanted = {} if self._embedding is None else {"embedding": self._embedding}
        async with undo_on_failure(self.teardown):
            with self._faults.told():
                archive = await self._client.archives.create(name=self._name, **wanted)
                self._archive = archive.id
                there = await self._client.passages.search(archive_id=self._archive, limit=1)
        if there:
            raise RuntimeError(f"Letta's archive {self._name} is not empty")

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add the day's notes as passages; what was taken already is not sent again."""
        notes = [note for note in split_notes(day, content, metadata) if note.id not in self._sent]
        for start in range(0, len(notes), BATCH):
            batch = notes[start : start + BATCH]
            with self._faults.told():
                await self._client.archives.passages.create_many(
                    self._archive, passages=[_build_archive_entry(note) for note in batch]
                )
            self._sent.update(note.id for note in batch)

    async def query(self, question: str, context: QueryContext) -> dict[str, object]:
        """The nearest passages of the archive; the score is Letta's."""
        seen = list_visible_labels(context) if self.honours_sessions else None
        only = {} if seen is None else {"tags": seen, "tag_match_mode": "any"}
        with self._faults.told():
            results = await self._client.passages.search(
                archive_id=self._archive, query=question, limit=context.top_k or self._k, **only
            )
        return {
            "passages": [build_note_passage(each.passage.metadata, each.score) for each in results]
        }

    async def teardown(self) -> None:
        """Delete the archive and what is in it, and hang up."""
        if self._client is None:
            return
        async with self._client:
            if self._archive is not None:
                with self._faults.told():
                    await self._client.archives.delete(self._archive)


def _build_archive_entry(note: DayNote) -> dict[str, object]:
    return {
        "text": note.searched,
        "created_at": f"{note.date}T00:00:00+00:00",
        "tags": [label_session(note.session)],
        "metadata": note.metadata,
    }


product = Product(Letta, needs=("letta_client",))
