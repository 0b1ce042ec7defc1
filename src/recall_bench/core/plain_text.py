"""Plain text for terminals: labelled facts, wrapped lines, tables, and the word that was meant."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

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
    words = clean_text(title)[:width]
    return [words, rule * len(words)]


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


_MARKDOWN = re.compile(r"[\\*|\[\]]|<(?=\S)|^>|(?<![^\W_])_|_(?![^\W_])")
"""What Markdown interprets. An underscore within a word and `<` before a space are only text."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: figures stand at the right, text at the left."""

    head: str
    width: int = 0
    """The least width."""
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, and one cell a column for each row."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    gap: str = "  "
    """What stands between two columns in a terminal; if empty, a space between those that touch."""


def make_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], text: Iterable[int] = ()
) -> Table:
    """A table whose first column is text, as are those in the places of `text`."""
    words = {0, *text}
    columns = [Column(head, is_text=place in words) for place, head in enumerate(heads)]
    return Table(columns, [tuple(row) for row in rows])


def render_text(table: Table, *, rule: str = "") -> list[str]:
    """The table in columns of equal width; `rule` is the line below the heads, if any."""
    cells = [[clean_text(cell) for cell in row] for row in table.rows]
    heads = [column.head for column in table.columns]
    widths = [
        max(column.width, *(len(row[place]) for row in (heads, *cells)))
        for place, column in enumerate(table.columns)
    ]
    aligned = [
        [
            cell.ljust(width) if column.is_text else cell.rjust(width)
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        ]
        for row in (heads, *cells)
    ]
    gaps = ["", *(table.gap or _find_gap(pair) for pair in _pair_columns(aligned))]
    lines = [
        "".join(gap + cell for gap, cell in zip(gaps, row, strict=True)).rstrip() for row in aligned
    ]
    return [lines[0], rule, *lines[1:]] if rule else lines


def _pair_columns(rows: Sequence[Sequence[str]]) -> Iterator[list[tuple[str, str]]]:
    """The cells of each two columns that stand beside each other."""
    for place in range(1, len(rows[0])):
        yield [(row[place - 1], row[place]) for row in rows]


def _find_gap(pair: Iterable[tuple[str, str]]) -> str:
    """A space if in any row the end of one cell touches the start of the next."""
    touches = any(before[-1:].strip() and right[:1].strip() for before, right in pair)
    return " " if touches else ""


def render_markdown(table: Table, *, has_markup: bool = False) -> str:
    """The table as Markdown; its cells are plain text, or Markdown if it `has_markup`."""
    escape = _escape_bars if has_markup else escape_markdown
    marks = ["---" if column.is_text else "--:" for column in table.columns]
    rows = [[column.head for column in table.columns], *table.rows]
    lines = [f"| {' | '.join(map(escape, row))} |" for row in rows]
    return "\n".join([lines[0], f"|{'|'.join(marks)}|", *lines[1:]])


def escape_markdown(text: str) -> str:
    """Text on one line that Markdown shows as it is; only code between backticks stays code."""
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(clean_text(text).split()))


def _escape_bars(cell: str) -> str:
    """A cell that neither a bar nor a line break can end."""
    return " ".join(cell.replace("\\|", "|").replace("|", "\\|").split())


def find_nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known word most similar to this one, ignoring case, hyphens and blanks."""
    folded = {_fold(candidate): candidate for candidate in known}
    close = get_close_matches(_fold(word), folded, n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


def suggest(word: object, known: Iterable[str], otherwise: str = "") -> str:
    """Return `did you mean 'word'?` for the nearest known word, else `otherwise`."""
    near = find_nearest(str(word), known)
    return otherwise if near is None else f"did you mean {near!r}?"


def suggest_or_list(word: object, known: Iterable[str], listed: str) -> str:
    """Return the nearest known word, if there is one, before the list of what there is."""
    near = suggest(word, known)
    return f"{near} {listed[:1].upper()}{listed[1:]}" if near else listed


def _fold(word: str) -> str:
    return re.sub(r"[-_ ]", "", word).lower()
