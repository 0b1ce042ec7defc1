"""Which of a question's wordings is asked: how far it is from the text that answers it."""

import re

from recall_bench.world.chance import RandomStream
from recall_bench.world.questions.draft import LedgerQuestion

_WORD = re.compile(r"[a-z0-9][a-z0-9'-]+")
_COMMON = frozenset(
    "a an and any are as at be been by did do does for from had has have how in into is it its of "
    "on or our say said than that the their there they this to under up was we were what when "
    "which who whom whose why will with would".split()
)
_SPREAD = 0.5
"""How much of the range of wordings chance moves about in, around the distance asked for."""


def measure_overlap(question: str, told: str) -> float:
    """The share of a question's content words that the telling sentences use as well."""
    asked = _extract_words(question)
    return len(asked & _extract_words(told)) / len(asked) if asked else 0.0


def choose_wording(draft: LedgerQuestion, distance: float, chance: RandomStream) -> str:
    """The wording at about the distance wanted."""
    told = " ".join(span.text for span in draft.evidence)
    ways = sorted(
        dict.fromkeys(draft.list_unspoilt()), key=lambda way: (-measure_overlap(way, told), way)
    )
    drift = (chance.draw_below(1000) / 1000 - 0.5) * _SPREAD
    place = min(max(distance + drift, 0.0), 0.999)
    return ways[int(place * len(ways))]


def _extract_words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if word not in _COMMON}
