"""Which categories a window is asked for, and what a sound question of each is."""

from recall_bench.core.question import BOUNDARY, CATEGORIES

NEGATIVE = "negative-recall"
RECENCY = "recency-bias-resistance"
SYNTHESIS = "synthesis"
GROUP = "group-session-attribution"

RULES = {
    "factual-recall": "one value that these days state in one place: a figure, a name, a date, a "
    "place. Nothing that is repeated on several days.",
    "temporal-reasoning": "the order of two or three events, the time between two, or the date of "
    "one, worked out from dates and times that the text gives.",
    "decision-tracking": "who proposed what, who objected, what was chosen and for what reason. "
    "Never the outcome alone.",
    "contradiction-resolution": "a value that was corrected or replaced: what holds as of a date "
    "you name, after the change or before it. The evidence quotes the old and the new.",
    "cross-reference": "two matters told apart from each other that share a person, a cause or a "
    "thing. The answer names the link, which no single place spells out.",
    RECENCY: "a detail stated once, on the earliest day you are shown that holds one, and never "
    "mentioned since.",
    SYNTHESIS: "a count, a sum, a comparison, a list or a change over at least two days, with a "
    "quotation from each. Never what one day says by itself. requires_synthesis is true.",
    NEGATIVE: "whether something happened. The question itself is about something that did happen: "
    "its answer begins with Yes and adds what happened. Its `twin` asks, as "
    "naturally, about something plausible that did not happen: its answer begins with "
    "No and adds what is known instead. Both name the date or the occasion.",
    GROUP: "who in a conversation of several people said, asked for or opposed something. Say "
    "which conversation by its business, and do not name the person in the question.",
}
"""For the model, one category each. The tenth, secrets, is written in boundary mode."""

_STANDARD = tuple(category for category in CATEGORIES if category != BOUNDARY)


def choose_categories(
    first: int, amount: int, *, per_days: tuple[int, int], has_groups: bool, has_past: bool
) -> tuple[str, ...]:
    """The categories of the questions of a window that begins on day `first`.

    They go round and round over the story, so many questions in so many days, and every category
    is asked for as often as any other whatever becomes of single windows. A negative is two
    questions, so it is left out of every second round.
    """
    usable = [name for name in _STANDARD if name != GROUP or has_groups]
    turns = [*usable, *(name for name in usable if name != NEGATIVE)]
    questions, days = per_days
    start = (first - 1) * questions // days
    found = (turns[(start + place) % len(turns)] for place in range(amount))
    return tuple("factual-recall" if name == RECENCY and not has_past else name for name in found)
