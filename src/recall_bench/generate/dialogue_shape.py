"""The shape of a day's dialogue: how many turns it has, and whose."""

from collections.abc import Iterator, Sequence

from recall_bench.core.scenario import Turn

MIN_TURNS = 4
"""The fewest turns of a dialogue."""


def find_shape_faults(turns: Sequence[Turn], most: int) -> Iterator[str]:
    """Find what is wrong: the number of turns, their order, or one without words."""
    if not MIN_TURNS <= len(turns) <= most:
        yield f"it has {len(turns)} turns; write {MIN_TURNS} to {most}"
    if any(turn.speaker != ("user", "assistant")[place % 2] for place, turn in enumerate(turns)):
        yield "the turns do not alternate, user first"
    if any(not turn.text for turn in turns):
        yield "a turn is empty"
