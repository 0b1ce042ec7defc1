"""Plain text for terminals: facts with their labels, wrapped lines, and room for some of many."""

import re
import textwrap

WIDTH = 100
LABEL = 13
NO_DATA = "--"

_HARD_SPACE = "\xa0"
_UNPARTED = re.compile(r" (?=%)|(?<=\bp) (?=[<=])|(?<=[<=]) ")
"""The spaces within a number and its unit, or a p and its value."""


def plain(words: str) -> str:
    """Names and messages come from elsewhere: nothing in them may steer a terminal."""
    return "".join(mark if mark.isprintable() else " " for mark in words)


def wrapped(
    words: str, *, width: int = WIDTH, initial: str = "", subsequent: str = ""
) -> list[str]:
    """In lines that part no number from its unit."""
    lines = textwrap.wrap(
        _UNPARTED.sub(_HARD_SPACE, plain(words)),
        width=width,
        initial_indent=initial,
        subsequent_indent=subsequent,
        break_on_hyphens=False,
    )
    return [line.replace(_HARD_SPACE, " ") for line in lines]


def fact(label: str, words: str, *, width: int = WIDTH) -> list[str]:
    """A label and what there is to say, in as many lines as it takes."""
    return wrapped(words, width=width, initial=f"{label:{LABEL}}", subsequent=" " * LABEL)


def heading(title: str, *, rule: str = "─", width: int = WIDTH) -> list[str]:
    """A title with a rule below it."""
    shown = plain(title)[:width]
    return [shown, rule * len(shown)]


def selection(count: int, room: int) -> list[int]:
    """At most `room` of `count` places, evenly spread, both ends among them.

    The last alone where there is room for one.
    """
    if count <= room:
        return list(range(count))
    if room == 1:
        return [count - 1]
    return [round(place * (count - 1) / (room - 1)) for place in range(room)]
