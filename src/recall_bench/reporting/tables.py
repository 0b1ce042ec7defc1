"""The tables of a text report: how each checkpoint went, and the heatmap in letters.

Every mean stands with its interval and the number of different questions behind it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recall_bench.metrics.marks import Tally
from recall_bench.reporting.facts import percent
from recall_bench.reporting.lines import NO_DATA, WIDTH, plain, selection
from recall_bench.reporting.summary import CheckpointSummary, Status, Summary, exceeds

if TYPE_CHECKING:
    # Numbers with intervals need numpy, which a progress bar can do without.
    from recall_bench.reporting.estimates import Cell, Heatmap
    from recall_bench.statistics.estimate import Estimate

SMALL = "!"
"""Marks a figure over so few questions that its interval is in doubt."""

_CATEGORY = 27
_ROWS = 15
"""More checkpoints than this are shown as a selection."""
_ROOMY = 98
"""Columns from which on the table has all there is to say."""
_Words = tuple[str, str]
"""A mean with its count, and what is written below it."""


def table_places(count: int) -> list[int]:
    """Which of so many checkpoints a table has."""
    return selection(count, _ROWS)


def heatmap_places(parts: Sequence[CheckpointSummary], *, width: int = WIDTH) -> list[int]:
    """Which of these checkpoints a heatmap in letters surely has room for."""
    most = max((part.overall.counted for part in parts), default=0)
    heads = [len(part.checkpoint.label) + 1 for part in parts]
    cell = 1 + max(len(f"0.0 ({most})!"), len("100.0 %!"), *heads, 0)
    return selection(len(parts), max(1, (width - _CATEGORY) // cell))


def checkpoint_table(
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
    is_roomy = width >= _ROOMY
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
            f"{plain(part.checkpoint.label)[:9]:<10}{fed}{tally.owed:>6}{tally.judged:>8}"
            f"{tally.not_answered:>12}{tally.not_judged:>10}{tally.open:>6}"
            f"{_figures(tally, mean, summary, is_roomy=is_roomy)}"
        )
    if of is not None and len(parts) < of:
        yield f"({len(parts)} of {of} checkpoints shown)"


def text_heatmap(heatmap: "Heatmap", *, of: int | None = None, width: int = WIDTH) -> str:
    """Every category at each checkpoint, then all of them, then hallucination.

    Below a mean stands its interval. `of` is how many checkpoints there are, where the heatmap
    has a selection; where there is no room for what it has, some of that is shown.
    """
    rows = [row.cells for row in heatmap.rows] + [heatmap.overall]
    words = [[_points(cell) for cell in row] for row in rows]
    words.append([_rate(cell) for cell in heatmap.hallucination])
    heads = [plain(checkpoint.label) for checkpoint in heatmap.columns]
    inside = max((len(text) for row in words for pair in row for text in pair), default=0)
    cell = 1 + max(inside, *(len(head) + 1 for head in heads), 0)
    cell += _CATEGORY + len(heads) * (cell + 1) <= width
    shown = selection(len(heads), max(1, (width - _CATEGORY) // cell))
    rule = "─" * (cell * len(shown) - 1)
    lines = [
        _line("mean of 6 (questions)", [f"{heads[place]} " for place in shown], cell),
        f"{'95 % interval':{_CATEGORY}} {rule}",
    ]
    names = [*(row.category for row in heatmap.rows), "OVERALL", "hallucination"]
    for name, row in zip(names, words, strict=True):
        if name == "OVERALL":
            lines.append(f"{'':{_CATEGORY}} {rule}")
        lines.append(_line(name, [row[place][0] for place in shown], cell))
        if any(row[place][1].strip() for place in shown):
            lines.append(_line("", [row[place][1] for place in shown], cell))
    if len(shown) < (of or len(heads)):
        lines.append(f"({len(shown)} of {of or len(heads)} checkpoints shown)")
    return "\n".join(line.rstrip() for line in lines)


def span(estimate: "Estimate | None", *, scale: float = 1, digits: int = 1) -> str:
    """Both ends of the interval with a dash between them; nothing where there is none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low * scale:.{digits}f}–{estimate.high * scale:.{digits}f}"


def _figures(tally: Tally, mean: "Estimate | None", summary: Summary, *, is_roomy: bool) -> str:
    is_over = summary.validity.status is not Status.UNFINISHED
    score = f"{percent(tally.share):>9}" if is_roomy else ""
    if mean is None:
        return f"{0:>11} {NO_DATA:>5}{NO_DATA:>11}{score}"
    count = f"{mean.questions:>11}{SMALL if mean.is_small else ' '}"
    if is_over and exceeds(tally, summary.plan.error_budget):
        return f"{count}{'INVALID':>16}" + (f"{NO_DATA:>9}" if is_roomy else "")
    return f"{count}{mean.value:>5.2f}{span(mean, digits=2):>11}{score}"


def _points(cell: "Cell") -> _Words:
    mean = cell.mean
    if mean is None:
        return f"{NO_DATA} ", ""
    return f"{mean.value:.1f} ({mean.questions}){_mark(mean)}", f"{span(mean)} "


def _rate(cell: "Cell") -> _Words:
    rate = cell.mean
    if rate is None:
        return f"{NO_DATA} ", ""
    digits = 1 if rate.high is not None and rate.high < 0.0995 else 0
    return f"{percent(rate.value)}{_mark(rate)}", f"{span(rate, scale=100, digits=digits)} "


def _mark(estimate: "Estimate") -> str:
    # A place of its own, so that figures stand below each other with and without it.
    return SMALL if estimate.is_small else " "


def _line(name: str, cells: Sequence[str], cell: int) -> str:
    label = f"{plain(name)[: _CATEGORY - 1]:{_CATEGORY}}"
    return label + "".join(f"{words:>{cell}}" for words in cells)
