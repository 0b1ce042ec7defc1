"""How many arcs of each type a story needs, by its length.

The measure is a story of 1,000 days: at least 5 projects, 2 incidents, 3 decisions, 2 learnings,
2 relationships and 4 corrections, and at most 22 arcs in all. A story of N days needs each count
times the cube root of N / 1000, rounded: short stories are denser than a piece of a long one,
else a month would hold nothing to ask about.
"""

from collections.abc import Mapping

_MEASURE = 1000
_FEWEST = {
    "project": 5,
    "incident": 2,
    "decision": 3,
    "learning": 2,
    "relationship": 2,
    "correction": 4,
}
_MOST = 22
_SLACK = 4


def fewest(days: int) -> Mapping[str, int]:
    """The fewest arcs of each type; types that a story this short can do without have 0."""
    return {kind: _scaled(count, days) for kind, count in _FEWEST.items()}


def bounds(days: int) -> tuple[int, int]:
    """The fewest and the most arcs in all."""
    least = max(1, sum(fewest(days).values()))
    return least, max(_scaled(_MOST, days), least + _SLACK)


def directed(arcs: int) -> int:
    """How many of so many arcs need directives at least: a third, rounded up."""
    return -(-arcs // 3)


def _scaled(count: int, days: int) -> int:
    return int(count * (days / _MEASURE) ** (1 / 3) + 0.5)
