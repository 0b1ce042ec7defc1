"""Every figure of a ranking counted again from a report alone, by formulas of our own."""

from collections.abc import Callable, Sequence
from math import comb, log2
from statistics import fmean
from typing import Any


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
        gold = set(question.get("gold", {}).get(level, ()))
        if not gold:
            return self._empty
        ranked = self._ranked(question.get("hits", ()), level)
        units = [unit for unit, _ in ranked]
        if at.endswith("tok"):
            k = _fitting([tokens for _, tokens in ranked], int(at[:-3]))
        else:
            k = int(at)
        return FORMULAS[family](units, gold, k)

    def _ranked(self, hits: Sequence[dict[str, Any]], level: str) -> list[tuple[str | None, int]]:
        ranked = [(hit.get(level), hit["tokens"]) for hit in sorted(hits, key=_rank)]
        if not self._is_distinct:
            return ranked
        return [
            pair
            for place, pair in enumerate(ranked)
            if pair[0] is None or pair[0] not in [unit for unit, _ in ranked[:place]]
        ]


def _rank(hit: dict[str, Any]) -> int:
    return int(hit["rank"])


def _is_in(question: dict[str, Any], group: str) -> bool:
    is_answerable = bool(question.get("is_answerable", True))
    apart = {"all": True, "answerable": is_answerable, "unanswerable": not is_answerable}
    return apart.get(group, bool(question["category"] == group))


def _fitting(tokens: Sequence[int], budget: int) -> int:
    return next((n for n in range(len(tokens)) if sum(tokens[: n + 1]) > budget), len(tokens))


def _new(units: Sequence[str | None], gold: set[str], k: int) -> list[int]:
    """The ranks, up to k, at which gold comes up for the first time."""
    return [n + 1 for n, unit in enumerate(units[:k]) if unit in gold and unit not in units[:n]]


def _ndcg(
    discount: Callable[[int], float], units: Sequence[str | None], gold: set[str], k: int
) -> float:
    best = sum(discount(rank) for rank in range(1, min(len(gold), k) + 1))
    return sum(discount(rank) for rank in _new(units, gold, k)) / best


def _map(units: Sequence[str | None], gold: set[str], k: int) -> float:
    return sum(n / rank for n, rank in enumerate(_new(units, gold, k), start=1)) / len(gold)


FORMULAS: dict[str, Callable[[Sequence[str | None], set[str], int], float]] = {
    "hit": lambda units, gold, k: float(bool(_new(units, gold, k))),
    "recall": lambda units, gold, k: len(_new(units, gold, k)) / len(gold),
    "recall_all": lambda units, gold, k: float(len(_new(units, gold, k)) == len(gold)),
    "precision": lambda units, gold, k: len(_new(units, gold, k)) / k,
    "mrr": lambda units, gold, k: max((1 / rank for rank in _new(units, gold, k)), default=0.0),
    "map": _map,
    "ndcg": lambda units, gold, k: _ndcg(lambda rank: 1 / log2(rank + 1), units, gold, k),
    "ndcg_lme": lambda units, gold, k: _ndcg(lambda rank: 1 / log2(max(rank, 2)), units, gold, k),
}
