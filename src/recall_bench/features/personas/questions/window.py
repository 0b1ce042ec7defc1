"""The windows of days that questions are written for, and the categories of each."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from recall_bench.core.scenario import (
    ATTRIBUTION,
    BOUNDARY,
    CATEGORIES,
    CONTRADICTION,
    CROSS_REFERENCE,
    DECISION,
    FACTUAL,
    NEGATIVE,
    RECENCY,
    SYNTHESIS,
    TEMPORAL,
)
from recall_bench.text.languages import Language

QuestionEntry = Mapping[str, object]
"""A question as in `questions.yaml`, without its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWindow:
    """The days from one checkpoint to the next."""

    number: int
    """Counted from 1."""
    first: int
    last: int
    """The checkpoint; later days must not be used."""

    @property
    def name(self) -> str:
        """The window in messages."""
        return f"days {self.first}–{self.last}"


class QuestionWriter(Protocol):
    """Writes candidates; the checks decide which are kept."""

    @property
    def name(self) -> str:
        """The model's name, or `offline`."""
        ...

    async def write(self, window: QuestionWindow, amount: int) -> Sequence[QuestionEntry]:
        """About `amount` candidates on days up to the window's last.

        Raises NoUsableReply if there are none this time; ModelGone and BudgetSpent end the pass.
        """
        ...


def list_windows(
    days_with_log: Sequence[int], interval: int, span: range
) -> tuple[QuestionWindow, ...]:
    """The windows of a span of days that hold a day with a log.

    Checkpoints are every `interval` days from the story's start, and the last day of the span with
    a log. `days_with_log` are the days with a log, ascending.
    """
    days = [day for day in days_with_log if day in span]
    windows: dict[int, QuestionWindow] = {}
    for day in days:
        number = -(-day // interval)
        first = max((number - 1) * interval + 1, span[0])
        last = min(number * interval, days[-1])
        windows.setdefault(number, QuestionWindow(number=number, first=first, last=last))
    return tuple(windows.values())


def count_checkpoints(days_with_log: Sequence[int], interval: int) -> int:
    """The number of checkpoints of the story so far."""
    return -(-days_with_log[-1] // interval)


def find_unasked_part(
    window: QuestionWindow, days_with_log: Collection[int], asked: Collection[int]
) -> QuestionWindow | None:
    """The window from its first unasked day with a log on; None if there is none.

    A longer story or another interval leaves windows that were asked about in part.
    """
    for day in range(window.first, window.last + 1):
        if day not in asked and day in days_with_log:
            # Earlier days without a log belong to the window too.
            first = window.first if window.first not in asked else day
            return replace(window, first=first)
    return None


def compute_share(window: QuestionWindow, amount: int, interval: int) -> int:
    """The number of questions of a window: `amount`, or fewer for a shorter window."""
    days = window.last - window.first + 1
    return -(-amount * days // interval)


RULES = {
    FACTUAL: "one value that these days state in one place: a figure, a name, a date, a "
    "place. Nothing that is repeated on several days.",
    TEMPORAL: "the order of two or three events, the time between two, or the date of "
    "one, worked out from dates and times that the text gives. The dates of the days count; where "
    "they and the text do not tell an order or a distance, there is none to ask.",
    DECISION: "who proposed what, who objected, what was chosen and for what reason. "
    "Never the outcome alone.",
    CONTRADICTION: "a value that was corrected or replaced: what holds as of a date "
    "you name, after the change or before it. The evidence quotes the old and the new; where the "
    "text does not hold both, there is none to ask.",
    CROSS_REFERENCE: "two matters told apart from each other that share a person, a cause or a "
    "thing. The answer names the link, which no single place spells out.",
    RECENCY: "a detail stated once, on the earliest day you are shown that holds one, and never "
    "mentioned since.",
    SYNTHESIS: "a count, a sum, a comparison, a list or a change over at least two days, with a "
    "quotation from each. Never what one day says by itself. requires_synthesis is true.",
    NEGATIVE: "whether something happened. The question itself is about something that did happen: "
    "its answer begins with {yes} and adds what happened. Its `twin` asks, as "
    "naturally, about something plausible that did not happen: its answer begins with "
    "{no} and adds what is known instead. Both name the date or the occasion.",
    ATTRIBUTION: "who in a conversation of several people said, asked for or opposed something. "
    "Say which conversation by its business, and do not name the person in the question.",
}
"""The instructions for each category. The tenth, boundary, has a mode of its own. The words for yes
and no are those of the story's language."""


def describe_category(name: str, language: Language) -> str:
    """The instruction for a category, with the words for yes and no of the story's language."""
    return RULES[name].format(yes=language.yes[0], no=language.denials[0].capitalize())


_STANDARD = tuple(category for category in CATEGORIES if category != BOUNDARY)


def choose_categories(
    first: int, amount: int, *, per_days: tuple[int, int], has_groups: bool, has_past: bool
) -> tuple[str, ...]:
    """The categories of the questions of a window that starts on day `first`.

    Categories rotate over the whole story, so that each is asked for equally often. A negative is
    two questions, so every second rotation leaves it out.
    """
    usable = [name for name in _STANDARD if name != ATTRIBUTION or has_groups]
    turns = [*usable, *(name for name in usable if name != NEGATIVE)]
    questions, days = per_days
    start = (first - 1) * questions // days
    categories = (turns[(start + place) % len(turns)] for place in range(amount))
    return tuple(FACTUAL if name == RECENCY and not has_past else name for name in categories)
