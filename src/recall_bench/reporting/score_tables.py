"""The scores of a run as tables of text: by checkpoint, by category, and both as a heatmap.

Where there are more checkpoints than room, an even selection is shown, and the text says so. Every
mean comes with its interval and its number of questions.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recall_bench.core.plain_text import (
    NO_DATA,
    WIDTH,
    Column,
    Table,
    clean_text,
    pick_evenly,
    render_text,
    wrap_text,
)
from recall_bench.engine.runs.summary import (
    CheckpointSummary,
    RunStatus,
    Summary,
    is_over_budget,
)
from recall_bench.reporting.formats import (
    OF_100,
    SMALL_MARK,
    format_count,
    format_range,
    format_score,
)
from recall_bench.reporting.headlines import (
    LOW_CEILING_MARK,
    LOW_CEILING_NOTE,
    WAY_NOTE,
    describe_place,
    format_ceiling,
    has_low_ceilings,
)
from recall_bench.reporting.sections import SectionPart, SectionTable

if TYPE_CHECKING:
    # Numbers with intervals need numpy, which a progress bar can do without.
    from recall_bench.engine.runs.heatmap_rows import Row, RowTable
    from recall_bench.metrics.estimate import Estimate

_CATEGORY_WIDTH = 27
_MAX_ROWS = 15
"""More checkpoints than this are shown as a selection."""
_WIDE_WIDTH = 98
"""From this width on the table has all columns."""
_CellLines = tuple[str, str]
"""A mean with its count, and the line below it."""


def select_table_places(count: int) -> list[int]:
    """The checkpoints that a table shows."""
    return pick_evenly(count, _MAX_ROWS)


def select_heatmap_places(parts: Sequence[CheckpointSummary], *, width: int = WIDTH) -> list[int]:
    """The checkpoints that a text heatmap has room for."""
    most = max((part.overall.counted for part in parts), default=0)
    heads = [len(part.checkpoint.label) + 1 for part in parts]
    cell = 1 + max(len(f"100 ({most})!"), len("9.9–99.9 "), *heads, 0)
    return pick_evenly(len(parts), max(1, (width - _CATEGORY_WIDTH) // cell))


def render_checkpoint_table(
    parts: Sequence[CheckpointSummary],
    means: "Sequence[Estimate | None]",
    summary: Summary,
    *,
    of: int | None = None,
    width: int = WIDTH,
) -> Iterator[str]:
    """One line a checkpoint: the states of its trials, and their mean.

    `of` is the number of all checkpoints, where these are a selection.
    """
    wide = {"fed to"} if width < _WIDE_WIDTH else frozenset()
    places = [place for place, column in enumerate(_CHECKPOINT_COLUMNS) if column.head not in wide]
    rows = [_list_checkpoint(part, mean, summary) for part, mean in zip(parts, means, strict=True)]
    table = Table(
        [_CHECKPOINT_COLUMNS[place] for place in places],
        [[row[place] for place in places] for row in rows],
        gap="",
    )
    yield from render_text(table)
    if of is not None and len(parts) < of:
        yield f"({len(parts)} of {of} checkpoints shown)"


_CHECKPOINT_COLUMNS = (
    Column("checkpoint", 10, is_text=True),
    Column("fed to", 9),
    Column("owed", 6),
    Column("judged", 8),
    Column("unanswered", 12),
    Column("unjudged", 10),
    Column("open", 6),
    Column("questions ", 11),
    Column("score", 6),
    Column("95 %", 11),
)


def _list_checkpoint(
    part: CheckpointSummary, mean: "Estimate | None", summary: Summary
) -> tuple[str, ...]:
    tally = part.overall
    counts = tally.owed, tally.judged, tally.not_answered, tally.not_judged, tally.open
    start = clean_text(part.checkpoint.label)[:9], f"day {part.cutoff}", *map(str, counts)
    if mean is None:
        return (*start, "0 ", NO_DATA, NO_DATA)
    start = *start, f"{mean.questions}{_mark_small(mean)}"
    is_over = summary.validity.status is not RunStatus.UNFINISHED
    if is_over and is_over_budget(tally, summary.plan.error_budget):
        return (*start, "", "INVALID")
    return (*start, format_score(mean.value, digits=1), format_range(mean, scale=OF_100))


def _is_all(row: "Row") -> bool:
    return row.kind == "total"


def build_category_scores(table: "RowTable") -> list[SectionPart]:
    """Every category between silence and its ceiling, over all checkpoints, then all of them."""
    has_bounds = table.total.bounds is not None
    columns = [
        Column("points of 100", _CATEGORY_WIDTH - 2, is_text=True),
        *(Column("n "), Column("score"), Column("95 %")),
    ]
    if has_bounds:
        columns += [Column("silence"), Column("ceiling "), Column("of the way")]
    rows = [
        _list_category_cells(row, has_bounds=has_bounds)
        for row in (*table.categories, table.total)
        if row.total or _is_all(row)
    ]
    parts: list[SectionPart] = [SectionTable(columns=columns, rows=rows)]
    if has_low_ceilings(table):
        parts.append(LOW_CEILING_NOTE)
    if has_bounds:
        parts.append(f"{WAY_NOTE}; n: different questions")
    return parts


def _list_category_cells(row: "Row", *, has_bounds: bool) -> tuple[str, ...]:
    score, bounds, name = row.total, row.bounds, _name_row(row)
    cells = [name, _pad_mark(format_count(score)), NO_DATA, NO_DATA]
    if score is not None:
        cells[2] = row.scale.format_short(score.value)
        cells[3] = row.scale.format_range(score) or NO_DATA
    if has_bounds and bounds is None:
        cells += [NO_DATA, f"{NO_DATA} ", NO_DATA]
    elif has_bounds and bounds is not None:
        ceiling = _pad_mark(format_ceiling(bounds))
        cells += [format_score(bounds.floor), ceiling, describe_place(bounds)]
    return tuple(cells)


def _name_row(row: "Row") -> str:
    return row.name.upper() if _is_all(row) else row.name


def _pad_mark(figure: str) -> str:
    # A column of its own for the mark, so that figures are aligned with and without it.
    return figure if figure[-1:] in _MARKS else f"{figure} "


def render_heatmap(table: "RowTable", *, of: int | None = None, width: int = WIDTH) -> str:
    """Every row of the table at each checkpoint.

    The interval stands below each mean, silence and ceiling at the right. `of` is the number of
    all checkpoints, where the table has a selection. Where there is no room for all columns,
    some are shown.
    """
    rows = table.shown
    texts = [[_format_cell(row, cell) for cell in row.cells] for row in rows]
    bounds = table.total.bounds
    room = width - (0 if bounds is None else sum(map(len, _BOUND_HEADS)))
    heads = [clean_text(checkpoint.label) for checkpoint in table.columns]
    inside = max((len(text) for cells in texts for pair in cells for text in pair), default=0)
    cell = 1 + max(inside, *(len(head) + 1 for head in heads), 0)
    cell += _CATEGORY_WIDTH + len(heads) * (cell + 1) <= room
    places = pick_evenly(len(heads), max(1, (room - _CATEGORY_WIDTH) // cell))
    rule = "─" * (cell * len(places) - 1)
    right = "" if bounds is None else "".join(_BOUND_HEADS)
    lines = [
        _format_line("points of 100 (questions)", [f"{heads[at]} " for at in places], cell) + right,
        f"{'95 % interval':{_CATEGORY_WIDTH}} {rule}",
    ]
    for row, cells in zip(rows, texts, strict=True):
        if _is_all(row):
            lines.append(f"{'':{_CATEGORY_WIDTH}} {rule}")
        means, ends = ([cells[at][line] for at in places] for line in (0, 1))
        lines.append(_format_line(_name_row(row), means, cell) + _format_bounds(row))
        if any(text.strip() for text in ends):
            lines.append(_format_line("", ends, cell))
    if len(places) < (of or len(heads)):
        lines.append(f"({len(places)} of {of or len(heads)} checkpoints shown)")
    for note in table.iterate_notes():
        lines += wrap_text(note, width=width)
    return "\n".join(line.rstrip() for line in lines)


_BOUND_HEADS = ("  silence", " ceiling ")
_MARKS = (SMALL_MARK, LOW_CEILING_MARK)


def _format_bounds(row: "Row") -> str:
    if row.bounds is None:
        return ""
    figures = format_score(row.bounds.floor), _pad_mark(format_ceiling(row.bounds))
    return "".join(
        figure.rjust(len(head)) for figure, head in zip(figures, _BOUND_HEADS, strict=True)
    )


def _format_cell(row: "Row", mean: "Estimate | None") -> _CellLines:
    if mean is None:
        return f"{NO_DATA} ", ""
    # The questions stand behind scores: those of the other rows are the answers to them.
    count = f" ({mean.questions})" if row.scale.is_higher_better else ""
    figure = f"{row.scale.format_short(mean.value)}{count}{_mark_small(mean)}"
    return figure, f"{row.scale.format_range(mean)} "


def _mark_small(estimate: "Estimate") -> str:
    # A column of its own, so that figures are aligned with and without it.
    return SMALL_MARK if estimate.is_small else " "


def _format_line(name: str, cells: Sequence[str], cell: int) -> str:
    label = f"{clean_text(name)[: _CATEGORY_WIDTH - 1]:{_CATEGORY_WIDTH}}"
    return label + "".join(f"{words:>{cell}}" for words in cells)
