"""A day as notes: what every product here is given to keep, so that all keep the same.

Notes are cut as the built-in systems cut their passages. A product indexes `searched` and keeps
`kept` beside it, in its own store; what it finds, it gives back with `passage`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time

from recall_bench.core.scenario import PRINCIPAL, Episode
from recall_bench.systems.builtin.chunks import split_chunks
from recall_bench.systems.builtin.passage_index import format_quote
from recall_bench.systems.python.adapter import DayMetadata, QueryContext

NO_SESSION = ""
"""The session, as it is kept, of what a day says outside any: stores know no missing value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayNote:
    """A few neighbouring sentences of one day."""

    id: str
    """The same whenever the same day is cut, so that taking it in twice keeps it once."""
    day: int
    date: str
    """ISO 8601, as in 2026-01-31."""
    session: str | None
    context: str
    """The session and the headings it stands under."""
    searched: str
    """What is indexed: the text after its context."""
    quoted: str
    """What is given back: the text after its date and session."""

    @property
    def metadata(self) -> dict[str, str | int]:
        """What a product keeps beside the indexed text, in values any store can hold."""
        return {
            "note": self.id,
            "day": self.day,
            "date": self.date,
            "session": NO_SESSION if self.session is None else self.session,
            "quoted": self.quoted,
        }


def split_notes(day: int, content: str, metadata: DayMetadata) -> tuple[DayNote, ...]:
    """The notes of one day in order; none for a day without a sentence."""
    on = date.fromisoformat(metadata.date)
    episode = Episode(id=f"day-{day:04}", day=day, at=datetime.combine(on, time()), text=content)
    return tuple(
        DayNote(
            id=f"{day:04}-{number:03}",
            day=day,
            date=metadata.date,
            session=excerpt.session,
            context=excerpt.context,
            searched=excerpt.search_text,
            quoted=format_quote(excerpt.text, on, excerpt.session),
        )
        for number, excerpt in enumerate(split_chunks(episode), start=1)
    )


def list_visible_sessions(context: QueryContext) -> tuple[str, ...] | None:
    """The sessions, as they are kept, that a question may see: its own and none.

    None where it may see all, as the principal may.
    """
    return None if context.session == PRINCIPAL else (NO_SESSION, context.session)


def build_note_passage(kept: Mapping[str, object], score: float | None) -> dict[str, object]:
    """A note that was found, from what the product kept beside it, as an adapter returns it."""
    return {
        "text": kept["quoted"],
        "day": kept["day"],
        "source": kept["note"],
        "score": score,
    }
