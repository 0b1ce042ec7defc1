"""What is written into the cells of a heatmap, as far as there is room, and what hovering tells."""

from collections.abc import Iterable
from enum import Enum

from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.heatmap.canvas import measure_text
from recall_bench.reporting.heatmap.cells import PictureCell
from recall_bench.statistics.estimate import FEW_QUESTIONS

MEAN_SIZE, SMALL_SIZE = 12.5, 9.5
SMALL_MARK = "!"

_MIN_TEXT_WIDTH = 25.0
"""Cells at least so wide hold their mean and count."""
_TEXT_MARGIN = 6.0


class CellText(Enum):
    """How much is written into every cell of a picture."""

    LINE = "the interval and the count side by side below the mean"
    LINES = "the interval and the count below each other"
    COUNT = "the count below the mean"
    NOTHING = "nothing: a cell is its colour"


def choose_cell_text(
    points: Iterable[PictureCell], rates: Iterable[PictureCell], room: float
) -> CellText:
    """The most that fits into every cell, each having this much room."""
    if room < _MIN_TEXT_WIDTH:
        return CellText.NOTHING
    found = [(format_cell_interval(cell), format_cell_count(cell)) for cell in points]
    found += [(format_cell_interval(cell, is_rate=True), format_cell_count(cell)) for cell in rates]
    if not any(interval for interval, _ in found):
        return CellText.COUNT
    beside = max(measure_text(_join_details(*each), SMALL_SIZE) for each in found)
    below = max(measure_text(words, SMALL_SIZE) for each in found for words in each)
    if beside <= room - _TEXT_MARGIN:
        return CellText.LINE
    return CellText.LINES if below <= room - _TEXT_MARGIN else CellText.COUNT


def list_details(
    cell: PictureCell, how: CellText, room: float, *, is_rate: bool = False
) -> list[str]:
    """The lines below the mean."""
    interval, count = format_cell_interval(cell, is_rate=is_rate), format_cell_count(cell)
    if how is CellText.LINE:
        return [_join_details(interval, count)]
    if how is CellText.LINES:
        return [interval, count]
    return [
        count
        if measure_text(count, SMALL_SIZE) <= room - _TEXT_MARGIN
        else count.removeprefix("n ")
    ]


def format_cell_interval(cell: PictureCell, *, is_rate: bool = False) -> str:
    """Both ends; nothing where there is none."""
    if cell.low is None or cell.high is None:
        return ""
    digits = 0 if is_rate and cell.high >= 9.95 else 1
    return f"{cell.low:.{digits}f}–{cell.high:.{digits}f}"


def format_cell_count(cell: PictureCell) -> str:
    """How many questions the mean is over, or trials where questions were not counted."""
    if cell.score is None:
        return ""
    asked = cell.count if cell.questions is None else cell.questions
    return f"n {asked}{SMALL_MARK if cell.is_small else ''}"


def describe_hover(row: str, column: str, cell: PictureCell, *, is_rate: bool = False) -> str:
    """One cell in words."""
    if cell.score is None:
        state = "no question eligible yet" if cell.eligible == 0 else "not measured"
        return f"{row}, {column}: {state}"
    value = f"{cell.score:.1f} %" if is_rate else f"{cell.score:.2f} of {FULL_MARKS}"
    words = [f"{row}, {column}: {value}"]
    if cell.low is not None and cell.high is not None:
        ends = (
            f"{cell.low:.1f} to {cell.high:.1f} %" if is_rate else _format_ends(cell.low, cell.high)
        )
        words.append(f"95 % interval {ends}")
    if cell.questions is not None:
        words.append(_count_noun(cell.questions, "question"))
    words.append(_count_noun(cell.count, "trial"))
    if cell.missing is not None:
        words.append(f"{cell.missing} missing")
    if cell.is_small:
        words.append(f"fewer than {FEW_QUESTIONS} questions: the interval is in doubt")
    return " · ".join(words)


def _join_details(interval: str, count: str) -> str:
    return " · ".join(words for words in (interval, count) if words)


def _format_ends(low: float, high: float) -> str:
    return f"{low:.2f} to {high:.2f}"


def _count_noun(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
