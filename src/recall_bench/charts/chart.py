"""One picture of a report, before it has colours."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A Vega-Lite chart, with its figures as words and as a table.

    The specification names no colour and no font: those come from `config_of`. Its `width` is
    `"container"` where it has one view; charts of several panels have panels of fixed widths, and
    are scaled as a whole. Its `title` repeats the title, with the notes of the chart below it.
    """

    name: str
    """The stem of its file: kebab-case, and no other chart of a report has it."""
    section: str
    """`categories`, `hallucination`, `degradation`, `attribution` or `costs`."""
    title: str
    summary: str
    """The text alternative: what it says, in a sentence or two with figures."""
    spec: dict[str, object]
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    """The same figures as a table; None where nothing was measured."""
