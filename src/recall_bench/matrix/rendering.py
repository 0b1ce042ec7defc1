"""A matrix's report as letters for a terminal and as a Markdown page."""

from collections.abc import Iterator

from recall_bench.matrix.findings import MatrixReport
from recall_bench.matrix.sections import Grid, Section, headline, notes, sections
from recall_bench.reporting.lines import heading, plain, wrapped

_GAP = "  "
_WORDS = frozenset({"why", "where", "kind", "best", "worst", "settings", "cell"})
"""Columns that hold words, not figures."""


def text(report: MatrixReport) -> str:
    """Columns of letters."""
    lines = heading(f"Recall Bench · matrix {report.name}", rule="═")
    lines += wrapped(headline(report))
    for section in sections(report):
        lines += ["", *heading(section.title), *_text_section(section)]
    lines.append("")
    for note in notes(report):
        lines += wrapped(note)
    return "\n".join(lines).rstrip()


def markdown(report: MatrixReport, *, picture: str | None = None) -> str:
    """A page; `picture` is the file of its overview, beside it."""
    parts = [f"# {_md(report.name)}", f"{_md(headline(report))}."]
    if picture is not None:
        parts.append(f"![The score of every system in every category]({picture})")
    for section in sections(report):
        parts.append(f"## {_md(section.title)}")
        parts += [_md(line) for line in section.said]
        if section.grid is not None:
            parts.append("\n".join(_md_rows(section.grid)))
        parts += [_md(note) for note in section.notes]
    parts += [_md(note) for note in notes(report)]
    return "\n\n".join(parts) + "\n"


def _text_section(section: Section) -> Iterator[str]:
    for line in section.said:
        yield from wrapped(line)
    if section.grid is not None:
        yield from _text_rows(section.grid)
    for note in section.notes:
        yield from wrapped(note, subsequent="    " if note.startswith("[") else "")


def _text_rows(grid: Grid) -> Iterator[str]:
    table = [grid.heads, *grid.rows]
    widths = [max(len(plain(row[n])) for row in table) for n in range(len(grid.heads))]
    for row in table:
        words = [
            f"{plain(word):<{width}}" if n == 0 or head in _WORDS else f"{plain(word):>{width}}"
            for n, (word, width, head) in enumerate(zip(row, widths, grid.heads, strict=True))
        ]
        yield _GAP.join(words).rstrip()


def _md_rows(grid: Grid) -> Iterator[str]:
    yield f"| {' | '.join(_md(head) for head in grid.heads)} |"
    rules = ("---" if n == 0 or head in _WORDS else "--:" for n, head in enumerate(grid.heads))
    yield f"|{'|'.join(rules)}|"
    for row in grid.rows:
        yield f"| {' | '.join(_md(word).replace('|', chr(92) + '|') for word in row)} |"


def _md(words: str) -> str:
    return plain(words).replace("*", "\\*").replace("[", "\\[").replace("]", "\\]")
