"""The messages that an agent receives, word for word.

A day is worded as its user would tell it, with its date, because nothing else gives the date. A
question is asked as it stands, with the date of the day it is asked. Raise the version with every
change that an agent could notice.
"""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from recall_bench.core.scenario import PRINCIPAL, Episode, Question, Turn

WORDING_VERSION = 1

USER = "user"
"""The speaker of a dialogue whose turns begin a message."""


class Telling(StrEnum):
    """How a dialogue is sent. The log of a day is always one message."""

    TURNS = "turns"
    """Each turn of the user is a message, with what others said after it."""
    USER_TURNS = "user-turns"
    """Each turn of the user is a message, and what others said is left out."""
    DAY = "day"
    """The whole day is one message."""


def tell_episode(episode: Episode, telling: Telling = Telling.TURNS) -> tuple[str, ...]:
    """The messages that tell an episode, in order."""
    opening = _open_day(episode.at, episode.session)
    parts: tuple[str, ...] = ()
    if telling is not Telling.DAY and any(turn.speaker == USER for turn in episode.turns):
        parts = tuple(_join_turns(episode.turns, with_others=telling is Telling.TURNS))
    first, *rest = parts or (episode.text,)
    return (f"{opening}\n\n{first}", *rest)


def ask_question(question: Question) -> str:
    """The message that asks a question."""
    words = [f"Today is {_format_date(question.asked_at)}."]
    if question.session != PRINCIPAL:
        words.append(f'I ask from the session "{question.session}".')
    words.append(question.text)
    if question.choices:
        words.append("\n".join(("\n\nAnswer with one of these:", *question.choices)))
    return " ".join(words)


def _open_day(at: datetime, session: str | None) -> str:
    where = "" if session is None else f' This is from the session "{session}".'
    return (
        f"Today is {_format_date(at)}.{where} Please remember what follows, I will come back to "
        "it another day. A short reply is enough."
    )


def _join_turns(turns: tuple[Turn, ...], *, with_others: bool) -> Iterator[str]:
    """Each turn of the user, and perhaps the turns of others up to the next, as one text."""
    lines: list[str] = []
    has_user = False
    for turn in turns:
        if turn.speaker == USER:
            if has_user:
                yield "\n\n".join(lines)
                lines = []
            has_user = True
            lines.append(turn.text)
        elif with_others:
            lines.append(f"{turn.speaker}: {turn.text}")
    yield "\n\n".join(lines)


def _format_date(at: datetime) -> str:
    return f"{at:%A}, {at:%Y-%m-%d}"
