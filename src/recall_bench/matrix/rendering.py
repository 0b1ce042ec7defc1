"""A matrix's report as letters for a terminal and as a Markdown page."""

from collections.abc import Iterator

from recall_bench.matrix.findings import MatrixReport
from recall_bench.matrix.sections import (
    MatrixSection,
    MatrixTable,
    build_sections,
    format_headline,
    list_notes,
)
from recall_bench.reporting.lines import clean_text, format_heading, wrap_text

_GAP = "  "
_WORDS = frozenset({"why", "where", "kind", "best", "worst", "settings", "cell"})
"""Columns that hold words, not figures."""


def render_text(report: MatrixReport) -> str:
    """Columns of letters."""
    lines = format_heading(f"Recall Bench · matrix {report.name}", rule="═")
    lines += wrap_text(format_headline(report))
    for section in build_sections(report):
        lines += ["", *format_heading(section.title), *_render_section(section)]
    lines.append("")
    for note in list_notes(report):
        lines += wrap_text(note)
    return "\n".join(lines).rstrip()


def render_markdown(report: MatrixReport, *, picture: str | None = None) -> str:
    """A page; `picture` is the file of its overview, beside it."""
    parts = [f"# {_escape_markdown(report.name)}", f"{_escape_markdown(format_headline(report))}."]
    if picture is not None:
        parts.append(f"![The score of every system in every category]({picture})")
    for section in build_sections(report):
        parts.append(f"## {_escape_markdown(section.title)}")
        parts += [_escape_markdown(line) for line in section.said]
        if section.grid is not None:
            parts.append("\n".join(_render_markdown_rows(section.grid)))
        parts += [_escape_markdown(note) for note in section.notes]
    parts += [_escape_markdown(note) for note in list_notes(report)]
    return "\n\n".join(parts) + "\n"


def _render_section(section: MatrixSection) -> Iterator[str]:
    for line in section.said:
        yield from wrap_text(line)
    if section.grid is not None:
        yield from _render_rows(section.grid)
    for note in section.notes:
        yield from wrap_text(note, subsequent="    " if note.startswith("[") else "")


def _render_rows(grid: MatrixTable) -> Iterator[str]:
    table = [grid.heads, *grid.rows]
    widths = [max(len(clean_text(row[n])) for row in table) for n in range(len(grid.heads))]
    for row in table:
        words = [
            f"{clean_text(word):<{width}}"
            if n == 0 or head in _WORDS
            else f"{clean_text(word):>{width}}"
            for n, (word, width, head) in enumerate(zip(row, widths, grid.heads, strict=True))
        ]
        yield _GAP.join(words).rstrip()


def _render_markdown_rows(grid: MatrixTable) -> Iterator[str]:
    yield f"| {' | '.join(_escape_markdown(head) for head in grid.heads)} |"
    rules = ("---" if n == 0 or head in _WORDS else "--:" for n, head in enumerate(grid.heads))
    yield f"|{'|'.join(rules)}|"
    for row in grid.rows:
        yield f"| {' | '.join(_escape_markdown(word).replace('|', chr(92) + '|') for word in row)} |"


def _escape_markdown(words: str) -> str:
    return clean_text(words).replace("*", "\\*").replace("[", "\\[").replace("]", "\\]")
