"""Where misses come from, as numbers."""

from enum import StrEnum

from recall_bench.core.plan import Trial
from recall_bench.core.record import Record


class FailureLeaf(StrEnum):
    """The one place a miss is put down to."""

    NEVER_WRITTEN = "never-written"
    """The day that tells it was not taken in, or is not held any more."""
    NOT_RETRIEVED = "not-retrieved"
    """No passage of its day was delivered, and it is stored, as far as the system says."""
    CUT = "cut-by-budget"
    """A passage of its day was returned, and cut off by the budget."""
    MISREAD = "misread"
    """A passage of its day was delivered, or nothing had to be known to say that there is none,
    and the answer is wrong all the same."""
    STALE = "stale"
    """A value that held once is given as current."""
    WRONG_PLACE = "wrong-session-or-person"
    """What is told belongs to another session, person or persona."""
    FABRICATED = "fabricated"
    """Something nobody told it is given as a fact."""
    REFUSED = "refused-though-known"
    """A passage of its day was delivered, and the answer says that there is nothing; or it says
    that it will not tell what it may."""
    LEAKED = "leaked"
    """What the asker must not be told is told."""
    INFRASTRUCTURE = "infrastructure"
    """There is no answer to judge: the system failed, or was too slow."""
    UNTRACED = "not-traced"
    """Wrong, and nothing tells why: it is not known what the system found, or what there was."""


class LeafCount(Record, frozen=True, kw_only=True):
    """The misses of one leaf."""

    leaf: FailureLeaf
    trials: int
    questions: int
    points_lost: int
    """Of all the points there were for these trials; a protocol's score has none to lose."""
    examples: tuple[Trial, ...]
    """At most three, of different questions."""


class Attribution(Record, frozen=True, kw_only=True):
    """Every miss of a run in its leaf."""

    answered: int
    """Trials that have an outcome, right or wrong."""
    misses: int
    """Questions not answered, and answers of which a mark is below its pass."""
    undecided: int = 0
    """Trials without an outcome: not asked yet, or not judged. They are no misses."""
    leaves: tuple[LeafCount, ...]
    """Every leaf, in the order of `Leaf`, empty ones too."""
    categories: dict[str, dict[FailureLeaf, int]]
    """Every category with an outcome, every leaf in it."""
    checkpoints: dict[str, dict[FailureLeaf, int]]
    """The same by checkpoint."""
    notes: tuple[str, ...]
    """What could not be told apart here, and what would tell it apart."""
