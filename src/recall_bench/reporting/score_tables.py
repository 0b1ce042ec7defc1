"""The scores of a run as tables of text: by checkpoint, by category, and both as a heatmap.

Where there are more checkpoints than room, an even selection is shown, and the text says so. Every
mean comes with its interval and its number of questions.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from recall_bench.core.plain_text import (
    NO_DATA,
    WIDTH,
    clean_text,
    pick_evenly,
    wrap_text,
)
from recall_bench.core.tables import Column, Table, render_text
from recall_bench.reporting.formats import (
    OF_100,
    SMALL_MARK,
    format_count,
    format_range,
    format_score,
)
from recall_bench.reporting.headlines import (
    INVENTED,
    LEAKED,
    LOW_CEILING_MARK,
    LOW_CEILING_NOTE,
    SAME_NOTE,
    SAME_QUESTIONS,
    WAY_NOTE,
    describe_place,
    format_ceiling,
    format_rate,
    has_low_ceiling,
)
from recall_bench.runs.summary import (
    CheckpointSummary,
    RunStatus,
    Summary,
    is_over_budget,
)

if TYPE_CHECKING:
    # Numbers with intervals need numpy, which a progress bar can do without.
    from recall_bench.metrics.estimate import Estimate
    from recall_bench.runs.estimates import Heatmap, HeatmapCell, HeatmapTotal
    from recall_bench.runs.score_ranges import ScoreRange

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
    kept = [place for place, column in enumerate(_CHECKPOINT_COLUMNS) if column.head not in wide]
    rows = [_list_checkpoint(part, mean, summary) for part, mean in zip(parts, means, strict=True)]
    table = Table(
        [_CHECKPOINT_COLUMNS[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
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


def render_categories(heatmap: "Heatmap", *, width: int = WIDTH) -> list[str]:
    """Every category between silence and its ceiling, over all checkpoints, then all of them."""
    rows = [
        _list_category(row.category, row.total)
        for row in heatmap.rows
        if row.total.mean is not None
    ]
    rows.append(_list_category(_OVERALL, heatmap.total))
    has_bounds = heatmap.total.bounds is not None
    shown = len(_CATEGORY_COLUMNS) if has_bounds else _UNBOUNDED
    columns = _CATEGORY_COLUMNS[:shown]
    lines = render_text(Table(columns, [row[:shown] for row in rows], gap=""))
    if has_low_ceilings(heatmap):
        lines.append(LOW_CEILING_NOTE)
    return lines + (
        wrap_text(f"{WAY_NOTE}; n: different questions", width=width) if has_bounds else []
    )


def has_low_ceilings(heatmap: "Heatmap") -> bool:
    """Whether the reader is the limit in any category, or over all of them."""
    found = [row.total.bounds for row in heatmap.rows] + [heatmap.total.bounds]
    return any(bounds is not None and has_low_ceiling(bounds) for bounds in found)


_CATEGORY_COLUMNS = (
    Column("points of 100", _CATEGORY_WIDTH - 1, is_text=True),
    Column("n ", 7),
    Column("score", 6),
    Column("95 %", 8),
    Column("silence", 8),
    Column("ceiling ", 9),
    Column("of the way", 16),
)


_UNBOUNDED = 4
"""The columns of a run without bounds."""


def _list_category(name: str, total: "HeatmapTotal") -> tuple[str, ...]:
    score, bounds = total.mean, total.bounds
    if score is None:
        return (name[: _CATEGORY_WIDTH - 1], "0 ", *[NO_DATA] * 5)
    floor = NO_DATA if bounds is None else format_score(bounds.floor)
    ceiling = f"{NO_DATA} " if bounds is None else _pad_mark(format_ceiling(bounds))
    return (
        name[: _CATEGORY_WIDTH - 1],
        _pad_mark(format_count(score)),
        format_score(score.value),
        format_range(score, scale=OF_100, digits=0) or NO_DATA,
        floor,
        ceiling,
        # A wide share never touches the ceiling.
        NO_DATA if bounds is None else f" {describe_place(bounds)}",
    )


def _pad_mark(figure: str) -> str:
    # A column of its own for the mark, so that figures are aligned with and without it.
    return figure if figure[-1:] in _MARKS else f"{figure} "


def render_heatmap(heatmap: "Heatmap", *, of: int | None = None, width: int = WIDTH) -> str:
    """Every category at each checkpoint, then all of them, then what is invented and leaked.

    The interval stands below each mean, silence and ceiling at the right. `of` is the number of
    all checkpoints, where the heatmap has a selection. Where there is no room for all columns,
    some are shown. Rows in which nothing was measured are left out.
    """
    rows = list(_list_heatmap_rows(heatmap))
    bounds = heatmap.total.bounds
    room = width - (0 if bounds is None else sum(map(len, _BOUND_HEADS)))
    heads = [clean_text(checkpoint.label) for checkpoint in heatmap.columns]
    inside = max((len(text) for row in rows for pair in row.cells for text in pair), default=0)
    cell = 1 + max(inside, *(len(head) + 1 for head in heads), 0)
    cell += _CATEGORY_WIDTH + len(heads) * (cell + 1) <= room
    shown = pick_evenly(len(heads), max(1, (room - _CATEGORY_WIDTH) // cell))
    rule = "─" * (cell * len(shown) - 1)
    right = "" if bounds is None else "".join(_BOUND_HEADS)
    lines = [
        _format_line("points of 100 (questions)", [f"{heads[at]} " for at in shown], cell) + right,
        f"{'95 % interval':{_CATEGORY_WIDTH}} {rule}",
    ]
    for row in rows:
        if row.name == _OVERALL:
            lines.append(f"{'':{_CATEGORY_WIDTH}} {rule}")
        lines.append(_format_line(row.name, [row.cells[at][0] for at in shown], cell) + row.right)
        if any(row.cells[at][1].strip() for at in shown):
            lines.append(_format_line("", [row.cells[at][1] for at in shown], cell))
    if len(shown) < (of or len(heads)):
        lines.append(f"({len(shown)} of {of or len(heads)} checkpoints shown)")
    if any(row.name == SAME_QUESTIONS for row in rows):
        lines += wrap_text(SAME_NOTE, width=width)
    return "\n".join(line.rstrip() for line in lines)


_OVERALL = "OVERALL"
_BOUND_HEADS = ("  silence", " ceiling ")
_MARKS = (SMALL_MARK, LOW_CEILING_MARK)


class _HeatmapLine(NamedTuple):
    name: str
    cells: Sequence[_CellLines]
    right: str = ""
    """Silence and ceiling."""


def _list_heatmap_rows(heatmap: "Heatmap") -> Iterator[_HeatmapLine]:
    for row in heatmap.rows:
        if _is_measured(row.cells):
            cells = [_format_points_cell(cell) for cell in row.cells]
            yield _HeatmapLine(row.category, cells, _format_heatmap_bounds(row.total.bounds))
    cells = [_format_points_cell(cell) for cell in heatmap.overall]
    yield _HeatmapLine(_OVERALL, cells, _format_heatmap_bounds(heatmap.total.bounds))
    if heatmap.same:
        yield _HeatmapLine(SAME_QUESTIONS, [_format_points_cell(cell) for cell in heatmap.same])
    for name, rates in ((INVENTED, heatmap.invented), (LEAKED, heatmap.leaked)):
        if _is_measured(rates):
            yield _HeatmapLine(name, [_format_rate_cell(cell) for cell in rates])


def _is_measured(cells: "Sequence[HeatmapCell]") -> bool:
    return any(cell.mean is not None for cell in cells)


def _format_heatmap_bounds(bounds: "ScoreRange | None") -> str:
    if bounds is None:
        return ""
    figures = format_score(bounds.floor), _pad_mark(format_ceiling(bounds))
    return "".join(
        figure.rjust(len(head)) for figure, head in zip(figures, _BOUND_HEADS, strict=True)
    )


def _format_points_cell(cell: "HeatmapCell") -> _CellLines:
    mean = cell.mean
    if mean is None:
        return f"{NO_DATA} ", ""
    return (
        f"{format_score(mean.value)} ({mean.questions}){_mark_small(mean)}",
        f"{format_range(mean, scale=OF_100, digits=0)} ",
    )


def _format_rate_cell(cell: "HeatmapCell") -> _CellLines:
    rate = cell.mean
    if rate is None:
        return f"{NO_DATA} ", ""
    digits = 1 if rate.high is not None and rate.high < 0.0995 else 0
    return (
        f"{format_rate(rate)}{_mark_small(rate)}",
        f"{format_range(rate, scale=100, digits=digits)} ",
    )


def _mark_small(estimate: "Estimate") -> str:
    # A column of its own, so that figures are aligned with and without it.
    return SMALL_MARK if estimate.is_small else " "


def _format_line(name: str, cells: Sequence[str], cell: int) -> str:
    label = f"{clean_text(name)[: _CATEGORY_WIDTH - 1]:{_CATEGORY_WIDTH}}"
    return label + "".join(f"{words:>{cell}}" for words in cells)
