"""What questions that all agree leave open."""

from recall_bench.statistics.intervals import LEVEL


def bound_unseen_share(count: int) -> float:
    """The largest share of all questions that could be different, though as many as this agreed.

    Were it larger, so many would have agreed in fewer than one case in forty.
    """
    return 1 - ((1 - LEVEL) / 2) ** (1 / count) if count else 1.0
