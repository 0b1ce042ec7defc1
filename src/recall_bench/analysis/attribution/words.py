"""The leaves of the failure tree in words, as pages and charts have them."""

from collections.abc import Mapping
from typing import Final

from recall_bench.analysis.attribution.views import Leaf

TITLES: Final[Mapping[Leaf, str]] = {
    Leaf.NEVER_WRITTEN: "Never written",
    Leaf.NOT_RETRIEVED: "Not retrieved",
    Leaf.CUT: "Cut by the budget",
    Leaf.MISREAD: "Misread",
    Leaf.STALE: "Stale",
    Leaf.WRONG_PLACE: "Wrong session or person",
    Leaf.FABRICATED: "Fabricated",
    Leaf.REFUSED: "Refused though known",
    Leaf.LEAKED: "Leaked",
    Leaf.INFRASTRUCTURE: "Infrastructure",
    Leaf.UNTRACED: "Not traced",
}

MEANINGS: Final[Mapping[Leaf, str]] = {
    Leaf.NEVER_WRITTEN: "The day that tells it was not taken in, or is not held any more.",
    Leaf.NOT_RETRIEVED: (
        "No passage of its day was delivered, and it is stored, as far as the system says."
    ),
    Leaf.CUT: "A passage of its day was returned, and cut off by the budget.",
    Leaf.MISREAD: (
        "A passage of its day was delivered, or nothing had to be known to say that there is none, "
        "and the answer is wrong all the same."
    ),
    Leaf.STALE: "A value that held once is given as current.",
    Leaf.WRONG_PLACE: "What is told belongs to another session, person or persona.",
    Leaf.FABRICATED: "Something nobody told it is given as a fact.",
    Leaf.REFUSED: (
        "A passage of its day was delivered, and the answer says that there is nothing; or it says "
        "that it will not tell what it may."
    ),
    Leaf.LEAKED: "What the asker must not be told is told.",
    Leaf.INFRASTRUCTURE: "There is no answer to judge: the system failed, or was too slow.",
    Leaf.UNTRACED: (
        "Wrong, and nothing tells why: it is not known what the system found, or what there was."
    ),
}
"""As `Leaf` says it of each."""
