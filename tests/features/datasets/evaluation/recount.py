"""Every figure of a ranking counted again from a report alone, by formulas of our own."""

from collections.abc import Callable, Sequence
from math import comb, log2
from statistics import fmean
from typing import Any

Place = frozenset[str]
"""What stands at one rank: a unit, or none."""


class Recount:
    """Every figure of a ranking, from nothing but a report: its hits, gold and histories."""

    def __init__(self, report: dict[str, Any], *, is_distinct: bool, empty: float | None) -> None:
        self._report = report
        self._is_distinct = is_distinct
        self._empty = empty

    def group(self, name: str, figure: str) -> float | None:
        """The mean of a figure over a group, by the questions of the report."""
        if name == "average of categories":
            means = [self.group(each, figure) for each in self._categories()]
            known = [mean for mean in means if mean is not None]
            return fmean(known) if known else None
        members = [each for each in self._report["questions"] if _is_in(each, name)]
        values = [self._value(each, figure) for each in members]
        known = [value for value in values if value is not None]
        return fmean(known) if known else None

    def chance_of_hit(self, question: dict[str, Any], level: str, k: int) -> float:
        """What a blind draw of turns gets, by the sizes of the histories."""
        sizes = dict(self._report["histories"][question["scenario"]])
        total = sum(sizes.values())
        gold = question["gold"][level]
        wanted = (
            len(gold)
            if level == "turn"
            else sum(sizes[int(each.rpartition("/")[2])] for each in gold)
        )
        return 1 - comb(total - wanted, min(k, total)) / comb(total, min(k, total))

    def _categories(self) -> list[str]:
        return list(dict.fromkeys(each["category"] for each in self._report["questions"]))

    def _value(self, question: dict[str, Any], figure: str) -> float | None:
        level, _, measure = figure.partition(" ")
        family, _, at = measure.partition("@")
        gold = frozenset(question.get("gold", {}).get(level, ()))
        if not gold:
            return self._empty
        ranked = self._ranked(question.get("hits", ()), level)
        places = [place for place, _ in ranked]
        if at.endswith("tok"):
            fitting = _fitting([tokens for _, tokens in ranked], int(at[:-3]))
            k = min(fitting, int(self._report["asked"]["top_k"]))
        else:
            k = int(at)
        return FORMULAS[family](places, gold, k)

    def _ranked(self, hits: Sequence[dict[str, Any]], level: str) -> list[tuple[Place, int]]:
        ranked = [place for hit in sorted(hits, key=_rank) for place in _places(hit, level)]
        if not self._is_distinct:
            return ranked
        return [
            (place, tokens)
            for n, (place, tokens) in enumerate(ranked)
            if not place or place not in [earlier for earlier, _ in ranked[:n]]
        ]


def _rank(hit: dict[str, Any]) -> int:
    return int(hit["rank"])


def _places(hit: dict[str, Any], level: str) -> list[tuple[Place, int]]:
    """The places a passage takes: by turns, one for each that it holds."""
    held = hit.get("turns", ()) if level == "turn" else ()
    units = held or ([hit[level]] if level in hit else [])
    tokens = [int(hit["tokens"]), *[0] * max(0, len(units) - 1)]
    return list(zip([frozenset({each}) for each in units] or [frozenset()], tokens, strict=True))


def _is_in(question: dict[str, Any], group: str) -> bool:
    is_answerable = bool(question.get("is_answerable", True))
    apart = {"all": True, "answerable": is_answerable, "unanswerable": not is_answerable}
    return apart.get(group, bool(question["category"] == group))


def _fitting(tokens: Sequence[int], budget: int) -> int:
    return next((n for n in range(len(tokens)) if sum(tokens[: n + 1]) > budget), len(tokens))


def _found(places: Sequence[Place], gold: Place, k: int) -> Place:
    """The gold that stands up to rank k."""
    return gold & frozenset().union(*places[:k])


def _ranks(places: Sequence[Place], gold: Place, k: int) -> list[int]:
    """The ranks, up to k, at which gold comes up that was not there before."""
    return [n + 1 for n, place in enumerate(places[:k]) if (place & gold) - _found(places, gold, n)]


def _ndcg(discount: Callable[[int], float], places: Sequence[Place], gold: Place, k: int) -> float:
    best = sum(discount(rank) for rank in range(1, min(len(gold), k) + 1))
    return sum(discount(rank) for rank in _ranks(places, gold, k)) / best


def _map(places: Sequence[Place], gold: Place, k: int) -> float:
    return sum(n / rank for n, rank in enumerate(_ranks(places, gold, k), start=1)) / len(gold)


FORMULAS: dict[str, Callable[[Sequence[Place], Place, int], float]] = {
    "hit": lambda places, gold, k: float(bool(_found(places, gold, k))),
    "recall": lambda places, gold, k: len(_found(places, gold, k)) / len(gold),
    "recall_all": lambda places, gold, k: float(_found(places, gold, k) == gold),
    "precision": lambda places, gold, k: len(_ranks(places, gold, k)) / k,
    "mrr": lambda places, gold, k: max((1 / rank for rank in _ranks(places, gold, k)), default=0.0),
    "map": _map,
    "ndcg": lambda places, gold, k: _ndcg(lambda rank: 1 / log2(rank + 1), places, gold, k),
    "ndcg_lme": lambda places, gold, k: _ndcg(lambda rank: 1 / log2(max(rank, 2)), places, gold, k),
}
