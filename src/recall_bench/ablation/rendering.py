"""The comparison as a table: for a terminal, for a file, for a page."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recall_bench.ablation.comparison import AblationReport, AblationRow

if TYPE_CHECKING:
    from rich.table import Table

HEADS = (
    "variant",
    "mean of 6",
    "difference",
    "95 % interval",
    "",
    "right day",
    "tokens",
    "ms",
)
_NOTHING = "–"
_GAP = "  "


def format_cells(row: AblationRow) -> tuple[str, ...]:
    """A row as words, one for each head."""
    difference = row.difference
    interval = None if difference is None else difference.interval
    return (
        row.variant + (" !" if row.caveat else ""),
        _NOTHING if row.mean is None else f"{row.mean:.2f}",
        _NOTHING if difference is None else _format_signed(difference.mean),
        _NOTHING if interval is None else f"{interval[0]:+.2f} to {interval[1]:+.2f}",
        describe_change(row),
        _NOTHING if row.hit_share is None else f"{row.hit_share:.1%}",
        _NOTHING if row.tokens is None else f"{row.tokens:,.0f}",
        _NOTHING if row.query_ms is None else f"{row.query_ms:.1f}",
    )


def _format_signed(number: float) -> str:
    shown = f"{number:+.2f}"
    return shown if shown.strip("+-0.") else "0.00"


def describe_change(row: AblationRow) -> str:
    """What the interval shows, in a word."""
    if row.difference is None or not row.excludes_zero:
        return ""
    return ("better" if row.difference.mean > 0 else "worse") + ("*" if row.survives else "")


def format_title(comparison: AblationReport) -> str:
    """What was compared on what."""
    personas, checkpoints = ", ".join(comparison.personas), " ".join(comparison.checkpoints)
    return (
        f"{comparison.adapter} on {personas} at {checkpoints} · "
        f"{comparison.questions} questions, {comparison.rows[0].trials} trials, "
        f"judge {comparison.judge}"
    )


def list_notes(comparison: AblationReport) -> Iterator[str]:
    """What a reader of the table must know."""
    count = comparison.comparisons
    yield (
        "better, worse: the interval excludes zero; *: even when widened for all comparisons. "
        "Trials are paired, questions drawn again. right day: questions with an evidence day "
        "among the passages delivered."
    )
    one = "comparison" if count == 1 else "comparisons"
    yield (
        f"{count} {one}: where nothing makes a difference, {0.05 * count:.2g} of them would look "
        "like one by chance; believe the stars, or try the others again on other data."
    )
    if len(comparison.codes) > 1:
        yield (
            f"{len(comparison.codes)} versions of the harness made these runs; "
            "for one version, start again in another folder."
        )
    for row in comparison.rows:
        if row.caveat:
            yield f"! {row.variant}: {row.caveat}; its scores may not be quoted"
        if row.difference is not None and row.difference.pairs < comparison.rows[0].trials:
            yield f"{row.variant}: {row.difference.pairs} trials could be paired with the base's"


def render_text(comparison: AblationReport) -> str:
    """Columns of letters."""
    table = [HEADS, *(format_cells(row) for row in comparison.rows)]
    widths = [max(len(line[n]) for line in table) for n in range(len(HEADS))]
    lines = [format_title(comparison), "═" * len(format_title(comparison))]
    lines += [_format_line(line, widths) for line in table]
    return "\n".join([*lines, "", *list_notes(comparison)])


def _format_line(line: Sequence[str], widths: Sequence[int]) -> str:
    parts = [
        f"{word:<{width}}" if n in (0, 4) else f"{word:>{width}}"
        for n, (word, width) in enumerate(zip(line, widths, strict=True))
    ]
    return _GAP.join(parts).rstrip()


def render_markdown(comparison: AblationReport) -> str:
    """A Markdown table."""
    rule = "|".join("---" if n in (0, 4) else "--:" for n in range(len(HEADS)))
    lines = [f"{format_title(comparison)}.", "", f"| {' | '.join(HEADS)} |", f"|{rule}|"]
    for row in comparison.rows:
        words = (word.replace("|", "\\|").replace("*", "\\*") for word in format_cells(row))
        lines.append(f"| {' | '.join(words)} |")
    paragraphs = (f"\n{note}".replace("*", "\\*") for note in list_notes(comparison))
    return "\n".join([*lines, *paragraphs])


def render_table(comparison: AblationReport) -> "Table":
    """A table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=format_title(comparison), title_justify="left", caption_justify="left")
    for n, head in enumerate(HEADS):
        table.add_column(head, justify="left" if n in (0, 4) else "right")
    for row in comparison.rows:
        words = [Text(word) for word in format_cells(row)]
        if describe_change(row):
            words[4].stylize("green" if describe_change(row).startswith("better") else "red")
        table.add_row(*words)
    table.caption = Text("\n".join(list_notes(comparison)))
    return table
