"""What a report says about one thing: facts, sentences and tables.

Terminal and page show the same sections, each in its own form.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from recall_bench.core import plain_text
from recall_bench.core.plain_text import (
    WIDTH,
    Column,
    Table,
    escape_markdown,
    format_fact,
    pick_evenly,
    render_text,
    wrap_text,
)
from recall_bench.core.plan import Trial


class Link(str):
    """Words that open something on the page, as its data attributes say."""

    __slots__ = ("opens",)
    opens: dict[str, str]

    def __new__(cls, words: str, **opens: str) -> Self:
        """Words, and what they open by name."""
        link = super().__new__(cls, words)
        link.opens = opens
        return link

    @classmethod
    def to_trial(cls, trial: Trial, words: str) -> Self:
        """Opens one trial."""
        return cls(
            words,
            persona=trial.scenario,
            question=trial.item,
            checkpoint=trial.checkpoint,
            repeat=str(trial.repeat),
        )


@dataclass(frozen=True, slots=True)
class Fact:
    """A text with its label; one without continues the fact before it."""

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionTable:
    """A table; a cell is words, or several links."""

    columns: Sequence[Column]
    """Text longer than the width of its column is cut in a terminal."""
    rows: Sequence[Sequence[str | tuple[Link, ...]]]
    page_columns: int = 0
    """So many of the last columns are on the page only, which has room for them."""
    most: int | None = None
    """A terminal shows so many rows: an even selection, or the first where they are ranked."""
    is_ranked: bool = False
    is_charted: bool = False
    """Whether a chart of the page has the same figures, so that the page does without it."""
    noun: str = "rows"


SectionPart = str | Fact | SectionTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with what stands below it."""

    name: str
    """Its address on the page."""
    title: str
    parts: Sequence[SectionPart]


def render_parts(parts: Iterable[SectionPart], *, width: int = WIDTH) -> Iterator[str]:
    """Lines for a terminal; an empty line parts a table from what stands around it."""
    was_table: bool | None = None
    for part in parts:
        is_table = isinstance(part, SectionTable)
        if was_table is not None and (is_table or was_table):
            yield ""
        was_table = is_table
        match part:
            case Fact(label, text):
                yield from format_fact(label, text, width=width)
            case SectionTable():
                yield from _render_table(part)
            case str():
                yield from wrap_text(part, width=width)


def _render_table(table: SectionTable) -> Iterator[str]:
    visible = len(table.columns) - table.page_columns
    columns = table.columns[:visible]
    count = len(table.rows)
    most = min(count, table.most or count)
    places = list(range(most)) if table.is_ranked else pick_evenly(count, most)
    rows = [
        [
            _clip_cell(", ".join(cell) if isinstance(cell, tuple) else cell, column)
            for cell, column in zip(table.rows[place][:visible], columns, strict=True)
        ]
        for place in places
    ]
    yield from render_text(Table(columns, rows))
    if most < count:
        yield f"({most} of {count:,} {table.noun} shown; --json has all)"


def _clip_cell(cell: str, column: Column) -> str:
    is_long = column.is_text and 0 < column.width < len(cell)
    return f"{cell[: column.width - 1]}…" if is_long else cell


def render_markdown(parts: Iterable[SectionPart]) -> Iterator[str]:
    """Paragraphs of Markdown; a table has all its columns and rows."""
    for part in parts:
        match part:
            case Fact(label, text):
                yield f"**{escape_markdown(label)}**: {escape_markdown(text)}"
            case SectionTable():
                rows = [
                    [", ".join(cell) if isinstance(cell, tuple) else cell for cell in row]
                    for row in part.rows
                ]
                yield plain_text.render_markdown(Table(part.columns, rows))
            case str():
                yield escape_markdown(part)
