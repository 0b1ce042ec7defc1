"""What is written into the cells of a heatmap, as far as there is room, and what hovering tells."""

from collections.abc import Iterable
from enum import Enum

from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.heatmap.canvas import width_of
from recall_bench.reporting.heatmap.cells import Cell
from recall_bench.statistics.estimate import FEW_QUESTIONS

MEAN_SIZE, SMALL_SIZE = 12.5, 9.5
SMALL = "!"

_WORDS_FROM = 25.0
"""Cells at least so wide hold their mean and count."""
_AIR = 6.0


class Wording(Enum):
    """How much is written into every cell of a picture."""

    LINE = "the interval and the count side by side below the mean"
    LINES = "the interval and the count below each other"
    COUNT = "the count below the mean"
    NOTHING = "nothing: a cell is its colour"


def wording(points: Iterable[Cell], rates: Iterable[Cell], room: float) -> Wording:
    """The most that fits into every cell, each having this much room."""
    if room < _WORDS_FROM:
        return Wording.NOTHING
    found = [(interval_of(cell), count_of(cell)) for cell in points]
    found += [(interval_of(cell, is_rate=True), count_of(cell)) for cell in rates]
    if not any(interval for interval, _ in found):
        return Wording.COUNT
    beside = max(width_of(_beside(*each), SMALL_SIZE) for each in found)
    below = max(width_of(words, SMALL_SIZE) for each in found for words in each)
    if beside <= room - _AIR:
        return Wording.LINE
    return Wording.LINES if below <= room - _AIR else Wording.COUNT


def details(cell: Cell, how: Wording, room: float, *, is_rate: bool = False) -> list[str]:
    """The lines below the mean."""
    interval, count = interval_of(cell, is_rate=is_rate), count_of(cell)
    if how is Wording.LINE:
        return [_beside(interval, count)]
    if how is Wording.LINES:
        return [interval, count]
    return [count if width_of(count, SMALL_SIZE) <= room - _AIR else count.removeprefix("n ")]


def interval_of(cell: Cell, *, is_rate: bool = False) -> str:
    """Both ends; nothing where there is none."""
    if cell.low is None or cell.high is None:
        return ""
    digits = 0 if is_rate and cell.high >= 9.95 else 1
    return f"{cell.low:.{digits}f}–{cell.high:.{digits}f}"


def count_of(cell: Cell) -> str:
    """How many questions the mean is over, or trials where questions were not counted."""
    if cell.score is None:
        return ""
    asked = cell.count if cell.questions is None else cell.questions
    return f"n {asked}{SMALL if cell.is_small else ''}"


def hover(row: str, column: str, cell: Cell, *, is_rate: bool = False) -> str:
    """One cell in words."""
    if cell.score is None:
        state = "no question eligible yet" if cell.eligible == 0 else "not measured"
        return f"{row}, {column}: {state}"
    value = f"{cell.score:.1f} %" if is_rate else f"{cell.score:.2f} of {FULL_MARKS}"
    words = [f"{row}, {column}: {value}"]
    if cell.low is not None and cell.high is not None:
        ends = f"{cell.low:.1f} to {cell.high:.1f} %" if is_rate else _ends(cell.low, cell.high)
        words.append(f"95 % interval {ends}")
    if cell.questions is not None:
        words.append(_counted(cell.questions, "question"))
    words.append(_counted(cell.count, "trial"))
    if cell.missing is not None:
        words.append(f"{cell.missing} missing")
    if cell.is_small:
        words.append(f"fewer than {FEW_QUESTIONS} questions: the interval is in doubt")
    return " · ".join(words)


def _beside(interval: str, count: str) -> str:
    return " · ".join(words for words in (interval, count) if words)


def _ends(low: float, high: float) -> str:
    return f"{low:.2f} to {high:.2f}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
