"""The tables of a text report: how each checkpoint went, and the heatmap in letters.

Every mean stands with its interval and the number of different questions behind it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recall_bench.metrics.marks import TrialTally
from recall_bench.reporting.facts import format_percent
from recall_bench.reporting.lines import NO_DATA, WIDTH, clean_text, pick_evenly
from recall_bench.reporting.summary import CheckpointSummary, RunStatus, Summary, is_over_budget

if TYPE_CHECKING:
    # Numbers with intervals need numpy, which a progress bar can do without.
    from recall_bench.reporting.estimates import Heatmap, HeatmapCell
    from recall_bench.statistics.estimate import Estimate

SMALL_MARK = "!"
"""Marks a figure over so few questions that its interval is in doubt."""

_CATEGORY_WIDTH = 27
_MAX_ROWS = 15
"""More checkpoints than this are shown as a selection."""
_WIDE_WIDTH = 98
"""Columns from which on the table has all there is to say."""
_CellLines = tuple[str, str]
"""A mean with its count, and what is written below it."""


def select_table_places(count: int) -> list[int]:
    """Which of so many checkpoints a table has."""
    return pick_evenly(count, _MAX_ROWS)


def select_heatmap_places(parts: Sequence[CheckpointSummary], *, width: int = WIDTH) -> list[int]:
    """Which of these checkpoints a heatmap in letters surely has room for."""
    most = max((part.overall.counted for part in parts), default=0)
    heads = [len(part.checkpoint.label) + 1 for part in parts]
    cell = 1 + max(len(f"0.0 ({most})!"), len("100.0 %!"), *heads, 0)
    return pick_evenly(len(parts), max(1, (width - _CATEGORY_WIDTH) // cell))


def render_checkpoint_table(
    parts: Sequence[CheckpointSummary],
    means: "Sequence[Estimate | None]",
    summary: Summary,
    *,
    of: int | None = None,
    width: int = WIDTH,
) -> Iterator[str]:
    """One line a checkpoint: what became of its trials, and their mean.

    `of` is how many checkpoints there are, where these are a selection.
    """
    is_roomy = width >= _WIDE_WIDTH
    fed = f"{'fed to':>9}" if is_roomy else ""
    counts = f"{'owed':>6}{'judged':>8}{'unanswered':>12}{'unjudged':>10}{'open':>6}"
    yield (
        f"{'checkpoint':<10}{fed}{counts}{'questions':>11} {'of 6':>5}{'95 %':>11}"
        + (f"{'score':>9}" if is_roomy else "")
    )
    for part, mean in zip(parts, means, strict=True):
        tally = part.overall
        fed = f"{'day ' + str(part.cutoff):>9}" if is_roomy else ""
        yield (
            f"{clean_text(part.checkpoint.label)[:9]:<10}{fed}{tally.owed:>6}{tally.judged:>8}"
            f"{tally.not_answered:>12}{tally.not_judged:>10}{tally.open:>6}"
            f"{_format_figures(tally, mean, summary, is_roomy=is_roomy)}"
        )
    if of is not None and len(parts) < of:
        yield f"({len(parts)} of {of} checkpoints shown)"


def render_heatmap(heatmap: "Heatmap", *, of: int | None = None, width: int = WIDTH) -> str:
    """Every category at each checkpoint, then all of them, then hallucination.

    Below a mean stands its interval. `of` is how many checkpoints there are, where the heatmap
    has a selection; where there is no room for what it has, some of that is shown.
    """
    rows = [row.cells for row in heatmap.rows] + [heatmap.overall]
    words = [[_format_points_cell(cell) for cell in row] for row in rows]
    words.append([_format_rate_cell(cell) for cell in heatmap.hallucination])
    heads = [clean_text(checkpoint.label) for checkpoint in heatmap.columns]
    inside = max((len(text) for row in words for pair in row for text in pair), default=0)
    cell = 1 + max(inside, *(len(head) + 1 for head in heads), 0)
    cell += _CATEGORY_WIDTH + len(heads) * (cell + 1) <= width
    shown = pick_evenly(len(heads), max(1, (width - _CATEGORY_WIDTH) // cell))
    rule = "─" * (cell * len(shown) - 1)
    lines = [
        _format_line("mean of 6 (questions)", [f"{heads[place]} " for place in shown], cell),
        f"{'95 % interval':{_CATEGORY_WIDTH}} {rule}",
    ]
    names = [*(row.category for row in heatmap.rows), "OVERALL", "hallucination"]
    for name, row in zip(names, words, strict=True):
        if name == "OVERALL":
            lines.append(f"{'':{_CATEGORY_WIDTH}} {rule}")
        lines.append(_format_line(name, [row[place][0] for place in shown], cell))
        if any(row[place][1].strip() for place in shown):
            lines.append(_format_line("", [row[place][1] for place in shown], cell))
    if len(shown) < (of or len(heads)):
        lines.append(f"({len(shown)} of {of or len(heads)} checkpoints shown)")
    return "\n".join(line.rstrip() for line in lines)


def format_span(estimate: "Estimate | None", *, scale: float = 1, digits: int = 1) -> str:
    """Both ends of the interval with a dash between them; nothing where there is none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low * scale:.{digits}f}–{estimate.high * scale:.{digits}f}"


def _format_figures(
    tally: TrialTally, mean: "Estimate | None", summary: Summary, *, is_roomy: bool
) -> str:
    is_over = summary.validity.status is not RunStatus.UNFINISHED
    score = f"{format_percent(tally.share):>9}" if is_roomy else ""
    if mean is None:
        return f"{0:>11} {NO_DATA:>5}{NO_DATA:>11}{score}"
    count = f"{mean.questions:>11}{SMALL_MARK if mean.is_small else ' '}"
    if is_over and is_over_budget(tally, summary.plan.error_budget):
        return f"{count}{'INVALID':>16}" + (f"{NO_DATA:>9}" if is_roomy else "")
    return f"{count}{mean.value:>5.2f}{format_span(mean, digits=2):>11}{score}"


def _format_points_cell(cell: "HeatmapCell") -> _CellLines:
    mean = cell.mean
    if mean is None:
        return f"{NO_DATA} ", ""
    return f"{mean.value:.1f} ({mean.questions}){_mark_small(mean)}", f"{format_span(mean)} "


def _format_rate_cell(cell: "HeatmapCell") -> _CellLines:
    rate = cell.mean
    if rate is None:
        return f"{NO_DATA} ", ""
    digits = 1 if rate.high is not None and rate.high < 0.0995 else 0
    return (
        f"{format_percent(rate.value)}{_mark_small(rate)}",
        f"{format_span(rate, scale=100, digits=digits)} ",
    )


def _mark_small(estimate: "Estimate") -> str:
    # A place of its own, so that figures stand below each other with and without it.
    return SMALL_MARK if estimate.is_small else " "


def _format_line(name: str, cells: Sequence[str], cell: int) -> str:
    label = f"{clean_text(name)[: _CATEGORY_WIDTH - 1]:{_CATEGORY_WIDTH}}"
    return label + "".join(f"{words:>{cell}}" for words in cells)
