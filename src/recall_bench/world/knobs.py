"""What a user may turn: how long, which seed, how dense, how far the wording is apart."""

from recall_bench.core.record import Record


class WorldOptions(Record, frozen=True, kw_only=True):
    """Everything that decides the bytes of a world besides its sources."""

    days: int = 1000
    seed: int = 0
    density: float = 1.0
    """How many words a day holds, relative to the usual."""
    distance: float = 0.5
    """How far a question's wording is from the text's: 0 the nearest there is, 1 the farthest."""
    distractors: float = 0.25
    """The share of threads that look like an earlier one and differ in what is asked."""
    restatements: float = 0.15
    """The chance that a thread's values are told once more, weeks later."""
