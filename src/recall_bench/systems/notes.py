"""A day as notes: the same units for every product, so that products can be compared.

Notes are the chunks of the built-in systems. A product indexes `search_text` and keeps `metadata`
beside it in its own store; `build_note_passage` makes a passage of what it finds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from recall_bench.core.scenario import PRINCIPAL, Episode
from recall_bench.systems.builtin.chunks import split_chunks
from recall_bench.systems.builtin.passage_index import format_quote
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

NO_SESSION = ""
"""The stored session of text outside any session: not every store supports missing values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayNote:
    """A few neighbouring sentences of one day."""

    id: str
    """The same whenever the same day is cut, so that ingesting it twice stores it once."""
    episode: str
    """The id of what it was cut from."""
    day: int
    date: str
    """ISO 8601, as in 2026-01-31."""
    session: str | None
    context: str
    """The session and the headings above it."""
    search_text: str
    """What is indexed: the context and the text."""
    quote: str
    """What is given back: the text after its date and session."""

    @property
    def metadata(self) -> dict[str, str | int]:
        """What a product stores beside the indexed text, in types that any store can hold."""
        return {
            "note": self.id,
            "episode": self.episode,
            "day": self.day,
            "date": self.date,
            "session": NO_SESSION if self.session is None else self.session,
            "quoted": self.quote,
        }


def split_notes(day: int, content: str, metadata: DayMetadata) -> tuple[DayNote, ...]:
    """The notes of one day in order; none for a day without a sentence."""
    on = date.fromisoformat(metadata.date)
    episode = Episode(
        id=f"day-{day:04}",
        day=day,
        at=datetime.combine(on, time()),
        text=content,
        session=metadata.session,
    )
    return tuple(
        DayNote(
            id=f"{day:04}-{number:03}",
            episode=metadata.episode_id,
            day=day,
            date=metadata.date,
            session=chunk.session,
            context=chunk.context,
            search_text=chunk.search_text,
            quote=format_quote(chunk.text, on, chunk.session),
        )
        for number, chunk in enumerate(split_chunks(episode), start=1)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNote:
    """A note as a product lists it."""

    key: str
    """By which the product deletes it."""
    text: str
    episode: str
    session: str
    day: int

    @property
    def entry(self) -> dict[str, object]:
        """The note as an adapter lists it."""
        return {"text": self.text, "id": self.key, "day": self.day}


def build_stored_note(key: str, metadata: Mapping[str, Any]) -> StoredNote:
    """A listed note, from the metadata stored beside it."""
    return StoredNote(
        key=key,
        text=metadata["quoted"],
        episode=metadata["episode"],
        session=metadata["session"],
        day=metadata["day"],
    )


def list_visible_sessions(context: QueryContext) -> tuple[str, ...] | None:
    """The stored sessions that a question may see: its own, and text outside any session.

    None if it may see all, as the principal may.
    """
    return None if context.session == PRINCIPAL else (NO_SESSION, context.session)


def build_note_passage(metadata: Mapping[str, object], score: float | None) -> dict[str, object]:
    """A found note as an adapter returns it, from the metadata stored beside it."""
    return {
        "text": metadata["quoted"],
        "day": metadata["day"],
        "source": metadata["note"],
        "score": score,
    }
