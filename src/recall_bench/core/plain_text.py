"""Plain text for terminals: facts with their labels, wrapped lines, and room for some of many."""

import re
import textwrap

WIDTH = 100
LABEL = 13
NO_DATA = "--"

_HARD_SPACE = "\xa0"
_KEPT_TOGETHER = re.compile(r" (?=%)|(?<=\bp) (?=[<=])|(?<=[<=]) ")
"""The spaces within a number and its unit, or a p and its value."""


def clean_text(words: str) -> str:
    """Names and messages come from elsewhere: nothing in them may steer a terminal."""
    return "".join(mark if mark.isprintable() else " " for mark in words)


def wrap_text(
    words: str, *, width: int = WIDTH, initial: str = "", subsequent: str = ""
) -> list[str]:
    """In lines that part no number from its unit."""
    lines = textwrap.wrap(
        _KEPT_TOGETHER.sub(_HARD_SPACE, clean_text(words)),
        width=width,
        initial_indent=initial,
        subsequent_indent=subsequent,
        break_on_hyphens=False,
    )
    return [line.replace(_HARD_SPACE, " ") for line in lines]


def format_fact(label: str, words: str, *, width: int = WIDTH) -> list[str]:
    """A label and what there is to say, in as many lines as it takes."""
    return wrap_text(words, width=width, initial=f"{label:{LABEL}}", subsequent=" " * LABEL)


def format_heading(title: str, *, rule: str = "─", width: int = WIDTH) -> list[str]:
    """A title with a rule below it."""
    shown = clean_text(title)[:width]
    return [shown, rule * len(shown)]


def pick_evenly(count: int, room: int) -> list[int]:
    """At most `room` of `count` places, evenly spread, both ends among them.

    The last alone where there is room for one.
    """
    if count <= room:
        return list(range(count))
    if room == 1:
        return [count - 1]
    return [round(place * (count - 1) / (room - 1)) for place in range(room)]
