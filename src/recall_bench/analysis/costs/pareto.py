"""Score against cost: who does at least as well for no more, and so leaves another no place."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from recall_bench.analysis.costs.views import Contender, CostMeasure, Pareto, RunCosts
from recall_bench.statistics.estimate import Estimate

PricedRun = tuple[str, Path | str, Estimate, RunCosts]
"""What it is called, its folder, its score, and what it took."""


def build_paretos(runs: Sequence[PricedRun]) -> tuple[Pareto, ...]:
    """One chart for each measure that at least two runs know."""
    names = _name_runs(runs)
    found = (_build_pareto(measure, runs, names) for measure in CostMeasure)
    return tuple(each for each in found if len(each.contenders) > 1)


def _build_pareto(measure: CostMeasure, runs: Sequence[PricedRun], names: Sequence[str]) -> Pareto:
    known = [
        Contender(
            name=name,
            folder=str(folder),
            score=score,
            cost=costs.measures[measure],
            dominated_by=(),
        )
        for name, (_, folder, score, costs) in zip(names, runs, strict=True)
        if measure in costs.measures
    ]
    known.sort(key=lambda each: (each.cost, -each.score.value, each.name))
    return Pareto(
        measure=measure,
        contenders=tuple(_rank_contender(each, known) for each in known),
        unknown=tuple(
            name
            for name, (*_, costs) in zip(names, runs, strict=True)
            if measure not in costs.measures
        ),
    )


def _rank_contender(each: Contender, all_of_them: Sequence[Contender]) -> Contender:
    better = [other for other in all_of_them if _is_dominating(other, each)]
    return each.replace(
        dominated_by=tuple(other.name for other in better),
        in_doubt=tuple(other.name for other in better if _is_overlapping(other.score, each.score)),
    )


def _is_dominating(one: Contender, other: Contender) -> bool:
    """By the figures as they are: at least as good in both, and better in one."""
    if one.score.value < other.score.value or one.cost > other.cost:
        return False
    return one.score.value > other.score.value or one.cost < other.cost


def _is_overlapping(better: Estimate, worse: Estimate) -> bool:
    if better.low is None or worse.high is None:
        return True
    return better.low <= worse.high


def _name_runs(runs: Sequence[PricedRun]) -> list[str]:
    """Names, with the folder where two are called the same, and a number where that is one too."""
    counts = Counter(name for name, *_ in runs)
    named = [
        name if counts[name] == 1 else f"{name} ({Path(folder).name or folder})"
        for name, folder, *_ in runs
    ]
    if len(set(named)) < len(named):
        named = [name if counts[name] == 1 else f"{name} ({folder})" for name, folder, *_ in runs]
    seen: Counter[str] = Counter()
    return [_make_unique(name, seen) for name in named]


def _make_unique(name: str, seen: Counter[str]) -> str:
    seen[name] += 1
    return name if seen[name] == 1 else f"{name} #{seen[name]}"
