"""Checkpoints and the days between them."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from recall_bench.generate.questions.writer import QuestionWindow


def list_windows(told: Sequence[int], interval: int, span: range) -> tuple[QuestionWindow, ...]:
    """The days up to each checkpoint, as far as they lie in the span and anything is told.

    Checkpoints are every so many days from the story's beginning, whatever the span, and the last
    day of the span that is told. `told` are the days with a log, ascending.
    """
    days = [day for day in told if day in span]
    found: dict[int, QuestionWindow] = {}
    for day in days:
        number = -(-day // interval)
        first = max((number - 1) * interval + 1, span[0])
        last = min(number * interval, days[-1])
        found.setdefault(number, QuestionWindow(number=number, first=first, last=last))
    return tuple(found.values())


def count_checkpoints(told: Sequence[int], interval: int) -> int:
    """How many checkpoints the story has so far."""
    return -(-told[-1] // interval)


def find_unasked_part(
    window: QuestionWindow, told: Collection[int], asked: Collection[int]
) -> QuestionWindow | None:
    """The window from its first told day on that nobody has asked about; None if there is none.

    A story that has grown, or another interval, leaves windows that were asked about in part.
    """
    for day in range(window.first, window.last + 1):
        if day not in asked and day in told:
            # Days without a log before it belong to it, if they are its own.
            first = window.first if window.first not in asked else day
            return replace(window, first=first)
    return None


def compute_share(window: QuestionWindow, amount: int, interval: int) -> int:
    """How many questions the window gets: fewer than `amount` only if it is shorter than others."""
    days = window.last - window.first + 1
    return -(-amount * days // interval)
