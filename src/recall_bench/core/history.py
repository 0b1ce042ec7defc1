"""What the system under test gets to live through."""

from datetime import date, datetime, time, timedelta
from typing import Annotated

from msgspec import Meta

from recall_bench.core.record import Record

StoryTime = Annotated[datetime, Meta(tz=False)]
"""When something happens to the people in the dataset. Never compared with WallTime."""

WallTime = Annotated[datetime, Meta(tz=True)]
"""When something happens to us, in UTC."""


def compute_story_date(epoch: date, day: int) -> datetime:
    """The calendar day of story day `day`, day 1 being the epoch. Pure date arithmetic."""
    return datetime.combine(epoch + timedelta(days=day - 1), time())


class Turn(Record, frozen=True, kw_only=True):
    """One utterance."""

    speaker: str
    text: str


class Episode(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One dated stretch of history: a day's log, a chat session, a document."""

    id: str
    day: int
    """Its place in the story: the day number of a persona's log, the session number of a chat."""
    at: StoryTime
    text: str
    """What a system is given, verbatim."""
    turns: tuple[Turn, ...] = ()
    """The same, utterance by utterance, where the dataset knows."""
    arcs: tuple[str, ...] = ()
    """Ids of the story arcs active that day; the public protocol hands them over."""
