"""Letta: an archive of passages on a Letta server, through its own SDK.

True limits: written against version 1 of the SDK and run against a fake server only, never the
product. Used is the archival memory that agents search, without an agent: an agent would need a
language model, and would decide itself what to write down. The server embeds a passage before it
confirms it, so there is nothing to wait for. The day is a passage's creation date; the search does
not rank by it.
"""

from dataclasses import dataclass

from recall_bench.features.products.product import Product, split_batches
from recall_bench.features.products.service import (
    ServiceAdapter,
    ServiceErrors,
    ServiceQuery,
    label_session,
)
from recall_bench.systems.notes import DayNote, build_note_passage, split_notes
from recall_bench.systems.python.adapter import DayMetadata

BATCH = 100
"""Passages in one request."""


@dataclass(kw_only=True, eq=False)
class Letta(ServiceAdapter):
    """Letta's archival memory, a service: finds notes by their meaning."""

    name = "letta"
    title = "Letta"
    package = "letta-client"
    key_variable = "LETTA_API_KEY"
    place = "archive"

    embedding: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._archive: str | None = None

    def connect(self) -> ServiceErrors:
        """Build the client."""
        import letta_client

        where = {} if self.base_url is None else {"base_url": self.base_url}
        self._client = letta_client.AsyncLetta(api_key=self._key, max_retries=0, **where)
        return ServiceErrors.read_sdk(letta_client, self.title, self._key)

    async def create_place(self) -> bool:
        """Create an archive."""
        options = {} if self.embedding is None else {"embedding": self.embedding}
        archive = await self._client.archives.create(name=self._name, **options)
        self._archive = archive.id
        return not await self._client.passages.search(archive_id=self._archive, limit=1)

    async def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add the day's notes as passages; what was added already is not sent again."""
        notes = [note for note in split_notes(day, content, metadata) if note.id not in self._sent]
        for batch in split_batches(notes, BATCH):
            with self._translate():
                await self._client.archives.passages.create_many(
                    self._archive, passages=[_build_archive_entry(note) for note in batch]
                )
            self._sent.update(note.id for note in batch)

    async def find_passages(self, query: ServiceQuery) -> list[dict[str, object]]:
        """The nearest passages of the archive; the score is Letta's."""
        only = {} if query.labels is None else {"tags": query.labels, "tag_match_mode": "any"}
        results = await self._client.passages.search(
            archive_id=self._archive, query=query.question, limit=query.limit, **only
        )
        return [build_note_passage(result.passage.metadata, result.score) for result in results]

    async def delete_place(self) -> None:
        """Delete the archive and what is in it."""
        if self._archive is not None:
            await self._client.archives.delete(self._archive)


def _build_archive_entry(note: DayNote) -> dict[str, object]:
    return {
        "text": note.search_text,
        "created_at": f"{note.date}T00:00:00+00:00",
        "tags": [label_session(note.session)],
        "metadata": note.metadata,
    }


product = Product(Letta, needs=("letta_client",))
