"""Tables for people: one model, set in columns for a terminal or as Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recall_bench.core.plain_text import clean_text

_MARKDOWN = str.maketrans({"*": "\\*", "[": "\\[", "]": "\\]"})


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
    """What stands between two columns in a terminal."""


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
    lines = []
    for row in (heads, *cells):
        aligned = [
            cell.ljust(width) if column.is_text else cell.rjust(width)
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        ]
        lines.append(table.gap.join(aligned).rstrip())
    return [lines[0], rule, *lines[1:]] if rule else lines


def render_markdown(table: Table) -> str:
    """The table as Markdown; cells hold Markdown already."""
    marks = ["---" if column.is_text else "--:" for column in table.columns]
    rows = [[column.head for column in table.columns], *table.rows]
    lines = [f"| {' | '.join(_escape_bars(cell) for cell in row)} |" for row in rows]
    return "\n".join([lines[0], f"|{'|'.join(marks)}|", *lines[1:]])


def escape_markdown(text: str) -> str:
    """Text as it is read: stars and brackets mean nothing in it."""
    return clean_text(text).translate(_MARKDOWN)


def _escape_bars(cell: str) -> str:
    """A cell that neither a bar nor a line break can end."""
    return " ".join(cell.replace("\\|", "|").replace("|", "\\|").split())
