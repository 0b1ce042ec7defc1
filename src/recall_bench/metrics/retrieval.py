"""How well a ranking of passages finds the gold, by named and versioned measures.

Every passage takes one place, whether it repeats a unit, came along by expansion, or cannot be
traced to any unit. A repeat is not relevant a second time and uses its rank all the same. No
measure looks deeper than what was asked for: a recall at 10 of five passages is a recall at 5.

The unit, a turn or a session, is the caller's, who states it. Ids are scoped globally: session 5
of one conversation is not session 5 of another.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, takewhile
from math import log2

import msgspec

CUTOFFS = (1, 3, 5, 10, 20)
"""The ranks that are quoted, as far as the ranking goes."""
BUDGETS = (250, 500, 1000, 2000, 4000)
"""The tokens that are quoted."""

Formula = Callable[[Sequence[int], int, int], float]
"""From the ranks of the finds, the number of gold units and the places there are, to the value."""


class RankedPassage(msgspec.Struct, frozen=True, gc=False):
    """One passage of a ranking, as far as measures look at it."""

    unit: str | None
    """The global id of its turn or session; None if unknown."""
    tokens: int

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ValueError(f"a passage has no {self.tokens} tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalMeasure:
    """A figure of one ranking, from 0 to 1, defined by name and version."""

    name: str
    """Family and cutoff: `recall@10`, `recall@1000tok`."""
    version: str
    family: str
    cutoff: int | None
    """The cutoff in ranks, if there is one."""
    budget: int | None
    """The budget in tokens, if there is one."""
    depth: int
    """The maximum of passages: the cutoff, or the requested number within a budget."""
    definition: str
    formula: Formula

    def score(self, ranking: Sequence[RankedPassage], gold: frozenset[str]) -> float:
        """Score a ranking; ValueError without gold, because there is nothing to find."""
        tokens = () if self.budget is None else sum_tokens(ranking)
        return self.formula(find_ranks(ranking, gold), len(gold), self.count_places(tokens))

    def count_places(self, tokens: Sequence[int]) -> int:
        """Count the places within the budget, given the tokens up to each rank."""
        if self.budget is None:
            return self.depth
        return min(self.depth, bisect_right(tokens, self.budget))


def find_ranks(ranking: Sequence[RankedPassage], gold: frozenset[str]) -> tuple[int, ...]:
    """Find the rank, from 1, of the first passage of every gold unit in the ranking."""
    if not gold:
        raise ValueError("a question without gold cannot be measured; leave it out beforehand")
    ranks: dict[str, int] = {}
    for rank, passage in enumerate(ranking, start=1):
        if passage.unit in gold:
            ranks.setdefault(passage.unit, rank)
    return tuple(ranks.values())


def sum_tokens(ranking: Iterable[RankedPassage]) -> tuple[int, ...]:
    """Sum the tokens of the passages up to each rank."""
    return tuple(accumulate(passage.tokens for passage in ranking))


def drop_repeats(ranking: Iterable[RankedPassage]) -> list[RankedPassage]:
    """Drop repeated units, for protocols that widen k to k distinct units.

    LongMemEval reads past k passages until they are of k sessions. Hit and recall of the distinct
    ranking are its official figures; its nDCG counts repeats as relevant again, and differs.
    Passages of unknown units stay.
    """
    units: set[str] = set()
    distinct = []
    for passage in ranking:
        if passage.unit not in units:
            distinct.append(passage)
        if passage.unit is not None:
            units.add(passage.unit)
    return distinct


def score_all(
    measures: Iterable[RetrievalMeasure], ranking: Sequence[RankedPassage], gold: frozenset[str]
) -> dict[str, float]:
    """Score a ranking by every measure, by name, in one pass."""
    ranks, count, tokens = find_ranks(ranking, gold), len(gold), sum_tokens(ranking)
    return {
        measure.name: measure.formula(ranks, count, measure.count_places(tokens))
        for measure in measures
    }


def standard_discount(rank: int) -> float:
    """The standard discount: 1 at the first rank, 0.63 at the second."""
    return 1 / log2(rank + 1)


def longmemeval_discount(rank: int) -> float:
    """LongMemEval's discount: 1 at the first rank and at the second."""
    return 1.0 if rank == 1 else 1 / log2(rank)


@cache
def sum_ideal(discount: Callable[[int], float], count: int) -> float:
    """Sum the discounts of `count` finds at the top: the maximum."""
    return sum(discount(rank) for rank in range(1, count + 1))


def _score_hit(found: Sequence[int], _: int, places: int) -> float:
    return float(bool(found) and found[0] <= places)


def _score_recall(found: Sequence[int], gold: int, places: int) -> float:
    return bisect_right(found, places) / gold


def _score_recall_all(found: Sequence[int], gold: int, places: int) -> float:
    return float(bisect_right(found, places) == gold)


def _score_average_precision(found: Sequence[int], gold: int, places: int) -> float:
    inside = takewhile(lambda rank: rank <= places, found)
    return sum(count / rank for count, rank in enumerate(inside, start=1)) / gold


def _score_ndcg(
    discount: Callable[[int], float], found: Sequence[int], gold: int, places: int
) -> float:
    gained = sum(discount(rank) for rank in found if rank <= places)
    # From the gold, not from what was found: else a single find at the top would be perfect.
    return gained / sum_ideal(discount, min(gold, places))


_AT_CUTOFFS: dict[str, tuple[Formula, str]] = {
    "hit": (_score_hit, "1 if any gold unit is found up to rank {k}, else 0"),
    "recall": (_score_recall, "share of the gold units that are found up to rank {k}"),
    "recall_all": (_score_recall_all, "1 if every gold unit is found up to rank {k}, else 0"),
    "precision": (
        lambda found, _, places: bisect_right(found, places) / places,
        "gold units found up to rank {k}, divided by {k} even where fewer passages came",
    ),
    "ndcg": (
        partial(_score_ndcg, standard_discount),
        "sum of 1/log2(rank+1) over gold units found up to rank {k}, divided by the most possible",
    ),
    "ndcg_lme": (
        partial(_score_ndcg, longmemeval_discount),
        "ndcg@{k} by LongMemEval's discount: ranks 1 and 2 count in full, later ones 1/log2(rank)",
    ),
}

_AT_DEPTH: dict[str, tuple[Formula, str]] = {
    "mrr": (
        lambda found, _, places: 1 / found[0] if found and found[0] <= places else 0.0,
        "1/rank of the first gold unit found up to rank {k}, 0 without one",
    ),
    "map": (
        _score_average_precision,
        "sum of the precision at each rank up to {k} that finds gold, divided by all gold units",
    ),
}

_IN_BUDGETS: dict[str, tuple[Formula, str]] = {
    "hit": (_score_hit, "1 if any gold unit is found in the passages that fit, else 0"),
    "recall": (_score_recall, "share of the gold units that are found in the passages that fit"),
    "recall_all": (
        _score_recall_all,
        "1 if every gold unit is found in the passages that fit, else 0",
    ),
}

_FIT = (
    "; whole passages from the best down, at most {depth}, until one does not fit {budget} tokens"
)


@cache
def list_measures(depth: int) -> tuple[RetrievalMeasure, ...]:
    """List the measures of rankings with `depth` requested passages."""
    if depth < 1:
        raise ValueError(f"a ranking {depth} deep has nothing to measure; ask for at least 1")
    at_cutoffs = [
        _make_measure(family, k, depth=k) for family in _AT_CUTOFFS for k in CUTOFFS if k <= depth
    ]
    at_depth = [_make_measure(family, depth, depth=depth) for family in _AT_DEPTH]
    in_budgets = [
        _make_measure(family, None, depth=depth, budget=size)
        for family in _IN_BUDGETS
        for size in BUDGETS
    ]
    return (*at_cutoffs, *at_depth, *in_budgets)


def find_measure(name: str, depth: int) -> RetrievalMeasure:
    """Find a measure by name; ValueError with the reason if there is none."""
    quotable = {measure.name: measure for measure in list_measures(depth)}
    if name not in quotable:
        raise ValueError(f"{name!r} cannot be quoted: {_explain_refusal(name, depth)}")
    return quotable[name]


def _make_measure(
    family: str, cutoff: int | None, *, depth: int, budget: int | None = None
) -> RetrievalMeasure:
    offered = _AT_CUTOFFS | _AT_DEPTH if budget is None else _IN_BUDGETS
    formula, definition = offered[family]
    if budget is not None:
        definition += _FIT
    return RetrievalMeasure(
        name=f"{family}@{cutoff}" if budget is None else f"{family}@{budget}tok",
        version="1",
        family=family,
        cutoff=cutoff,
        budget=budget,
        depth=depth,
        definition=definition.format(k=cutoff, budget=budget, depth=depth),
        formula=formula,
    )


def _explain_refusal(name: str, depth: int) -> str:
    family, _, at = name.partition("@")
    if family not in _AT_CUTOFFS | _AT_DEPTH:
        return f"there is no such measure; there are {', '.join(_AT_CUTOFFS | _AT_DEPTH)}"
    if at.endswith("tok"):
        offered = ", ".join(_IN_BUDGETS)
        return f"of token budgets there are {', '.join(map(str, BUDGETS))}, for {offered}"
    if not (at.isascii() and at.isdecimal()):
        return f"it needs a cutoff, as in {family}@{depth}"
    if int(at) > depth:
        return f"only {depth} passages were asked for; ask for {int(at)} or quote less"
    if family in _AT_DEPTH:
        return f"it is of the whole ranking, {family}@{depth}"
    return f"of cutoffs there are {', '.join(str(k) for k in CUTOFFS if k <= depth)}"
