"""How many arcs of each type a story needs, by its length.

The measure is a story of 1,000 days: at least 5 projects, 2 incidents, 3 decisions, 2 learnings,
2 relationships and 4 corrections, and at most 22 arcs in all. A story of N days needs each count
times the cube root of N / 1000, rounded: short stories are denser than a piece of a long one,
else a month would hold nothing to ask about.
"""

from collections.abc import Mapping

_REFERENCE_DAYS = 1000
_MIN_ARCS = {
    "project": 5,
    "incident": 2,
    "decision": 3,
    "learning": 2,
    "relationship": 2,
    "correction": 4,
}
_MAX_ARCS = 22
_SLACK = 4


def count_fewest_arcs(days: int) -> Mapping[str, int]:
    """The fewest arcs of each type; types that a story this short can do without have 0."""
    return {kind: _scale_count(count, days) for kind, count in _MIN_ARCS.items()}


def compute_arc_bounds(days: int) -> tuple[int, int]:
    """The fewest and the most arcs in all."""
    least = max(1, sum(count_fewest_arcs(days).values()))
    return least, max(_scale_count(_MAX_ARCS, days), least + _SLACK)


def count_fewest_with_directives(arcs: int) -> int:
    """How many of so many arcs need directives at least: a third, rounded up."""
    return -(-arcs // 3)


def _scale_count(count: int, days: int) -> int:
    return int(count * (days / _REFERENCE_DAYS) ** (1 / 3) + 0.5)
