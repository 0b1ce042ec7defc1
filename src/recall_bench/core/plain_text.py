"""Plain text for terminals: labelled facts, headings and wrapped lines."""

import re
import textwrap
from collections.abc import Iterable

WIDTH = 100
LABEL = 13
NO_DATA = "--"

_HARD_SPACE = "\xa0"
_KEPT_TOGETHER = re.compile(r" (?=%)|(?<=\bp) (?=[<=])|(?<=[<=]) ")
"""The spaces within a number and its unit, or a p and its value."""


def clean_text(words: str) -> str:
    """Remove control characters: names and messages must not steer a terminal."""
    return "".join(mark if mark.isprintable() else " " for mark in words)


def escape_surrogates(text: str) -> str:
    """The text with lone surrogates, which JSON can spell and UTF-8 cannot encode, escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def wrap_text(
    words: str, *, width: int = WIDTH, initial: str = "", subsequent: str = ""
) -> list[str]:
    """Wrap text without separating numbers from their units."""
    lines = textwrap.wrap(
        _KEPT_TOGETHER.sub(_HARD_SPACE, clean_text(words)),
        width=width,
        initial_indent=initial,
        subsequent_indent=subsequent,
        break_on_hyphens=False,
    )
    return [line.replace(_HARD_SPACE, " ") for line in lines]


def format_fact(label: str, words: str, *, width: int = WIDTH) -> list[str]:
    """Format a label and its text, wrapped."""
    return wrap_text(words, width=width, initial=f"{label:{LABEL}}", subsequent=" " * LABEL)


def format_heading(title: str, *, rule: str = "─", width: int = WIDTH) -> list[str]:
    """Format a title with a rule below it."""
    shown = clean_text(title)[:width]
    return [shown, rule * len(shown)]


def format_quantity(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun; `many` is its plural, where that is more than an `s`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def join_words(words: Iterable[str], most: int | None = None) -> str:
    """Words as a list with `and` before the last; those beyond `most` are counted."""
    every = list(words)
    if most is not None and len(every) > most:
        every = [*every[:most], f"{len(every) - most} more"]
    return f"{', '.join(every[:-1])} and {every[-1]}" if len(every) > 1 else "".join(every)


def pick_evenly(count: int, room: int) -> list[int]:
    """Pick at most `room` of `count` places, evenly spread, including both ends.

    With room for one, pick the last.
    """
    if count <= room:
        return list(range(count))
    if room == 1:
        return [count - 1]
    return [round(place * (count - 1) / (room - 1)) for place in range(room)]
