"""What random passages would score: the floor of every retrieval measure.

Items are drawn without replacement, with equal probability, and ranked in the order of drawing. A
unit has one or more items: a session has its turns, a turn has itself. A unit that is drawn twice
counts once. All values are exact expectations, none is simulated.

Token budgets are the exception: how many random passages fit depends on which they are. Given the
mean length of an item, the value is that of the number of such items that fit, an approximation;
without it there is none.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import combinations
from math import comb

from recall_bench.metrics.retrieval import (
    RetrievalMeasure,
    longmemeval_discount,
    standard_discount,
    sum_ideal,
)

Sizes = tuple[int, ...]
"""The number of items of each gold unit, ascending."""
Expected = Callable[[int, Sizes, int], float]
"""Computes the expectation from the number of items, the sizes of the gold and the places."""

_cache_results = lru_cache(maxsize=4096)
"""Questions of one history share a pool, and most have few gold units."""


@dataclass(frozen=True)
class ChancePool:
    """The items to draw from."""

    items: Mapping[str, int]
    """By unit, its number of items; 0 for one that cannot be found at all."""
    mean_tokens: float | None = None
    """The mean length of an item, for token budgets."""

    def __post_init__(self) -> None:
        if any(count < 0 for count in self.items.values()):
            raise ValueError("a unit of a pool cannot have fewer than 0 items")
        if self.mean_tokens is not None and not self.mean_tokens > 0:
            raise ValueError(f"the mean length of an item cannot be {self.mean_tokens} tokens")

    @cached_property
    def total(self) -> int:
        """The number of all items."""
        return sum(self.items.values())

    def expect(self, measure: RetrievalMeasure, gold: frozenset[str]) -> float | None:
        """Compute the expectation of the measure; None for a token budget without a mean length.

        ValueError without gold, or for gold that is not in the pool.
        """
        if not gold:
            raise ValueError("a question without gold cannot be measured; leave it out beforehand")
        unknown = sorted(gold - self.items.keys())
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not in the pool; give it 0 items if it has none")
        places = measure.depth
        if measure.budget is not None:
            if self.mean_tokens is None:
                return None
            places = min(places, int(measure.budget / self.mean_tokens))
        sizes = tuple(sorted(self.items[unit] for unit in gold))
        return _EXPECTED[measure.family](self.total, sizes, places)


def expect_coverage(total: int, holding: Sequence[int], drawn: int) -> float:
    """Compute the expected share of facts in `drawn` random items.

    `holding[i]` of `total` items contain fact i, by themselves or, for the layer of documents, in
    their source. It is 1 where all items are drawn.
    """
    if not holding:
        raise ValueError("a question without facts cannot be measured; leave it out beforehand")
    return 1 - sum(_compute_absence(total, having, drawn) for having in holding) / len(holding)


def _compute_absence(total: int, size: int, drawn: int) -> float:
    """Compute the probability that none of `size` items is among the first `drawn`."""
    return _compute_absences(total, size, drawn)[drawn]


@_cache_results
def _compute_absences(total: int, size: int, drawn: int) -> tuple[float, ...]:
    """Compute the probabilities that none of `size` items was drawn, after 0, 1, … `drawn`."""
    chances = [1.0]
    for before in range(drawn):
        others = total - before
        # Once all are drawn, nothing changes any more.
        chances.append(chances[-1] * max(others - size, 0) / others if others > 0 else chances[-1])
    return tuple(chances)


def _compute_first_ranks(total: int, size: int, places: int) -> list[float]:
    """Compute the probabilities that the first of `size` items has rank 1, 2, … `places`."""
    absent = _compute_absences(total, size, places)
    return [
        absent[rank - 1] * size / (total - rank + 1) if rank <= total else 0.0
        for rank in range(1, places + 1)
    ]


def _expect_finds(total: int, sizes: Sizes, places: int) -> float:
    """Compute the expected number of gold units found."""
    return sum(1 - _compute_absence(total, size, places) for size in sizes)


@_cache_results
def _expect_recall_all(total: int, sizes: Sizes, places: int) -> float:
    """Compute it by inclusion and exclusion over the units left out.

    Only the number of items of a subset matters, so subsets of equal number are summed first: the
    effort grows with the items of the gold, not with its subsets. Integers throughout, because the
    terms cancel.
    """
    signed = Counter({0: 1})
    for size in sizes:
        for left_out, count in tuple(signed.items()):
            signed[left_out + size] -= count
    draws = min(places, total)
    ways = sum(count * comb(total - left_out, draws) for left_out, count in signed.items() if count)
    return ways / comb(total, draws)


@_cache_results
def _expect_reciprocal(total: int, size: int, places: int) -> float:
    """Compute the expected reciprocal rank of the first of `size` items."""
    firsts = _compute_first_ranks(total, size, min(places, total))
    return sum(chance / rank for rank, chance in enumerate(firsts, start=1))


@_cache_results
def _expect_average_precision(total: int, sizes: Sizes, places: int) -> float:
    """Compute it from single finds and pairs of finds.

    The precision at a find counts the find itself and each pair with an earlier find. A pair is
    complete at the rank where its second unit is first found.
    """
    alone = sum(_expect_reciprocal(total, size, places) for size in sizes)
    either = sum(
        _expect_reciprocal(total, one + other, places) for one, other in combinations(sizes, 2)
    )
    return alone - either / len(sizes)


@_cache_results
def _expect_ndcg(discount: Callable[[int], float], total: int, sizes: Sizes, places: int) -> float:
    gained = sum(
        chance * discount(rank)
        for size in sizes
        for rank, chance in enumerate(
            _compute_first_ranks(total, size, min(places, total)), start=1
        )
    )
    return gained / sum_ideal(discount, min(len(sizes), places))


_EXPECTED: dict[str, Expected] = {
    "hit": lambda total, sizes, places: 1 - _compute_absence(total, sum(sizes), places),
    "recall": lambda total, sizes, places: _expect_finds(total, sizes, places) / len(sizes),
    "recall_all": _expect_recall_all,
    "precision": lambda total, sizes, places: _expect_finds(total, sizes, places) / places,
    "mrr": lambda total, sizes, places: _expect_reciprocal(total, sum(sizes), places),
    "map": _expect_average_precision,
    "ndcg": partial(_expect_ndcg, standard_discount),
    "ndcg_lme": partial(_expect_ndcg, longmemeval_discount),
}
