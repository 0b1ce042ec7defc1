"""The leaves of the failure tree in words a reader of the page meets."""

from collections.abc import Mapping
from typing import Final

from recall_bench.analysis.attribution.views import Leaf

LEAF_WORDS: Final[Mapping[Leaf, tuple[str, str]]] = {
    Leaf.NEVER_WRITTEN: (
        "Never written",
        "The day that tells it was not taken in, or is not held any more.",
    ),
    Leaf.NOT_RETRIEVED: (
        "Not retrieved",
        "It is stored, and no passage of its day was delivered.",
    ),
    Leaf.CUT: (
        "Cut by the budget",
        "A passage of its day was returned, and cut off by the budget.",
    ),
    Leaf.MISREAD: (
        "Misread",
        "A passage of its day was delivered, and the answer is wrong all the same.",
    ),
    Leaf.STALE: ("Stale", "A value that held once is given as current."),
    Leaf.WRONG_PLACE: (
        "Wrong session or person",
        "What is told belongs to another session, person or persona.",
    ),
    Leaf.FABRICATED: ("Fabricated", "Something nobody told it is given as a fact."),
    Leaf.REFUSED: (
        "Refused though known",
        "A passage of its day was delivered, and the answer refuses or says there is nothing.",
    ),
    Leaf.LEAKED: ("Leaked", "What the asker must not be told is told."),
    Leaf.INFRASTRUCTURE: (
        "Infrastructure",
        "There is no answer to judge: the system failed, or was too slow.",
    ),
    Leaf.UNTRACED: (
        "Not traced",
        "Wrong, and nothing tells why: the system shows neither what it holds nor what it found.",
    ),
}
"""A title, and what it means."""
