"""The leaves of the failure tree in words, as pages and charts have them."""

from collections.abc import Mapping
from typing import Final

from recall_bench.analysis.attribution.views import FailureLeaf

LEAF_TITLES: Final[Mapping[FailureLeaf, str]] = {
    FailureLeaf.NEVER_WRITTEN: "Never written",
    FailureLeaf.NOT_RETRIEVED: "Not retrieved",
    FailureLeaf.CUT: "Cut by the budget",
    FailureLeaf.MISREAD: "Misread",
    FailureLeaf.STALE: "Stale",
    FailureLeaf.WRONG_PLACE: "Wrong session or person",
    FailureLeaf.FABRICATED: "Fabricated",
    FailureLeaf.REFUSED: "Refused though known",
    FailureLeaf.LEAKED: "Leaked",
    FailureLeaf.INFRASTRUCTURE: "Infrastructure",
    FailureLeaf.UNTRACED: "Not traced",
}

LEAF_MEANINGS: Final[Mapping[FailureLeaf, str]] = {
    FailureLeaf.NEVER_WRITTEN: "The day that tells it was not taken in, or is not held any more.",
    FailureLeaf.NOT_RETRIEVED: (
        "No passage of its day was delivered, and it is stored, as far as the system says."
    ),
    FailureLeaf.CUT: "A passage of its day was returned, and cut off by the budget.",
    FailureLeaf.MISREAD: (
        "A passage of its day was delivered, or nothing had to be known to say that there is none, "
        "and the answer is wrong all the same."
    ),
    FailureLeaf.STALE: "A value that held once is given as current.",
    FailureLeaf.WRONG_PLACE: "What is told belongs to another session, person or persona.",
    FailureLeaf.FABRICATED: "Something nobody told it is given as a fact.",
    FailureLeaf.REFUSED: (
        "A passage of its day was delivered, and the answer says that there is nothing; or it says "
        "that it will not tell what it may."
    ),
    FailureLeaf.LEAKED: "What the asker must not be told is told.",
    FailureLeaf.INFRASTRUCTURE: "There is no answer to judge: the system failed, or was too slow.",
    FailureLeaf.UNTRACED: (
        "Wrong, and nothing tells why: it is not known what the system found, or what there was."
    ),
}
"""As `Leaf` says it of each."""
