"""A matrix's cells held against each other, by the same statistics as `compare`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from recall_bench.analysis.conclusion import is_told
from recall_bench.analysis.contrasting import contrast
from recall_bench.analysis.contrasts import Contrast
from recall_bench.analysis.grounds import without_marks
from recall_bench.analysis.likeness import unlike
from recall_bench.analysis.pairing import pair
from recall_bench.analysis.trials import Table, TrialRow
from recall_bench.core.plan import Trial
from recall_bench.core.usage import Usage
from recall_bench.errors import BenchError, UsageError
from recall_bench.matrix.cells import Cell
from recall_bench.matrix.file import Matrix
from recall_bench.matrix.findings import (
    Against,
    Between,
    Figures,
    MatrixReport,
    Missing,
    Place,
    Ranked,
    SeedScore,
    SettingReport,
    Widest,
)
from recall_bench.matrix.outcome import Outcome
from recall_bench.matrix.pooling import Run, latency_s, pooled
from recall_bench.metrics.marks import total
from recall_bench.reporting.estimates import CELL_RESAMPLES, POINTS, RATE, SEED
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import Status, summarise
from recall_bench.statistics.clusters import RESAMPLES
from recall_bench.statistics.comparison import Comparison, Marks, compare
from recall_bench.statistics.estimate import Estimate, Limits, mean_estimate
from recall_bench.statistics.holm import holm
from recall_bench.statistics.power import ALPHA

_WIDEST = 3
"""So many categories, and as many checkpoints, are named where systems lie furthest apart."""


@dataclass(slots=True, kw_only=True)
class _Row:
    """One system under one setting."""

    system: str
    runs: dict[int, Run] = field(default_factory=dict)
    table: Table


def report_on(
    matrix: Matrix,
    cells: Sequence[Cell],
    outcomes: Sequence[Outcome] = (),
    *,
    resamples: int = RESAMPLES,
) -> MatrixReport:
    """Everything the cells' folders say, as far as they have come.

    A cell that is missing, unfinished or invalid is said to be, and is in no figure.
    """
    why = {each.cell.label: each.reason for each in outcomes if each.reason}
    runs: dict[tuple[str, str], dict[int, Run]] = {}
    missing: list[Missing] = []
    for cell in cells:
        found = _valid(cell, why.get(cell.label))
        if isinstance(found, Run):
            runs.setdefault((cell.setting, cell.system), {})[cell.seed] = found
        else:
            missing.append(found)
    seeds = tuple(dict.fromkeys(cell.seed for cell in cells))
    rows = {
        (setting, system): _Row(system=system, runs=found, table=pooled(found, seeds))
        for (setting, system), found in runs.items()
    }
    compared = _Compared(matrix, rows, resamples)
    names = list(dict.fromkeys(cell.setting for cell in cells))
    some = next((run for found in runs.values() for run in found.values()), None)
    return MatrixReport(
        name=matrix.name,
        baseline=matrix.baseline,
        seeds=seeds,
        personas=() if some is None else tuple(card.id for card in some.plan.scenarios),
        judge=None if some is None else f"{some.plan.judge.name} {some.plan.judge.version}",
        missing=tuple(missing),
        settings=tuple(compared.setting(name) for name in names),
        between=compared.between(names),
        comparisons=compared.count,
    )


def _valid(cell: Cell, reason: str | None) -> Run | Missing:
    try:
        folder = RunFolder.open(cell.folder)
        summary = summarise(folder)
        validity = summary.validity
        if validity.status is Status.VALID:
            run = Run.of(cell.seed, folder, summary)
            if (why := without_marks(run.table)) is None:
                return run
            problem = why
        else:
            problem = f"{validity.status.value}: {validity.reason}"
            if reason is not None and reason not in problem:
                problem += f" ({reason})"
    except BenchError as error:
        problem = reason or ("not begun" if isinstance(error, UsageError) else str(error))
    return Missing(
        setting=cell.setting,
        seed=cell.seed,
        system=cell.system,
        reason=problem,
        folder=str(cell.folder),
    )


class _Compared:
    """Every comparison of the matrix, their p-values adjusted together."""

    def __init__(
        self, matrix: Matrix, rows: Mapping[tuple[str, str], _Row], resamples: int
    ) -> None:
        self._matrix = matrix
        self._rows = rows
        self._resamples = resamples
        found = {
            key: self._against(key[0], row)
            for key, row in rows.items()
            if row.system != matrix.baseline
        }
        self._contrasts = _corrected(
            {key: each for key, each in found.items() if isinstance(each, Contrast)}
        )
        self._refusals = {key: each for key, each in found.items() if isinstance(each, str)}
        self._told = self._others()

    @property
    def count(self) -> int:
        """How many systems were compared with the baseline, over all settings."""
        return len(self._contrasts)

    def setting(self, name: str) -> SettingReport:
        rows = [
            row
            for system in self._matrix.systems
            if (row := self._rows.get((name, system.name))) is not None
        ]
        figures = tuple(_figures(row, self._resamples) for row in rows)
        return SettingReport(
            name=name,
            systems=figures,
            against=tuple(
                Against(
                    system=row.system,
                    contrast=self._contrasts.get((name, row.system)),
                    refusal=self._refusals.get((name, row.system)),
                )
                for row in rows
                if row.system != self._matrix.baseline
            ),
            ranking=self._ranking(name, figures),
            widest=_widest(figures),
        )

    def between(self, names: Sequence[str]) -> tuple[Between, ...]:
        """Each system under the first setting it has against each other one."""
        found: dict[tuple[str, str, str], Comparison | str] = {}
        differing: dict[tuple[str, str, str], tuple[str, ...]] = {}
        for system in self._matrix.systems:
            held = [name for name in names if (name, system.name) in self._rows]
            for other in held[1:]:
                key = (system.name, held[0], other)
                one, two = (self._rows[name, system.name] for name in (held[0], other))
                differing[key] = tuple(str(u) for u in unlike(one.table.plan, two.table.plan))
                pairs = pair(one.table, two.table)
                each = self._compare(pairs.of(one.table.points), pairs.of(two.table.points))
                found[key] = each or "the two have no trial in common that both have a mark for"
        adjusted = holm({k: each.p_value for k, each in found.items() if not isinstance(each, str)})
        return tuple(
            Between(
                system=key[0],
                first=key[1],
                second=key[2],
                comparison=None if isinstance(each, str) else each.but(p_adjusted=adjusted[key]),
                unlike=differing[key],
                refusal=each if isinstance(each, str) else None,
            )
            for key, each in found.items()
        )

    def _against(self, setting: str, row: _Row) -> Contrast | str:
        base = self._rows.get((setting, self._matrix.baseline))
        if base is None:
            return f"the baseline {self._matrix.baseline} has no valid run under {setting}"
        if (refusal := _refusal(base, row)) is not None:
            return refusal
        pairs = pair(base.table, row.table)
        try:
            return contrast(row.system, base.table, row.table, pairs, resamples=self._resamples)
        except UsageError as error:
            return str(error)

    def _compare(self, first: Marks, second: Marks) -> Comparison | None:
        return compare(first, second, seed=SEED, limits=POINTS, resamples=self._resamples)

    def _others(self) -> dict[tuple[str, str, str], float]:
        """The adjusted p-value of every two systems but the baseline, in all settings."""
        tested: dict[tuple[str, str, str], float] = {}
        keys = [key for key in self._rows if key[1] != self._matrix.baseline]
        for (setting, one), (other, two) in combinations(keys, 2):
            if setting != other:
                continue
            first, second = self._rows[setting, one], self._rows[setting, two]
            if _refusal(first, second) is None:
                pairs = pair(first.table, second.table)
                found = self._compare(pairs.of(first.table.points), pairs.of(second.table.points))
                if found is not None:
                    tested[setting, one, two] = found.p_value
        return holm(tested)

    def _is_told(self, setting: str, one: str, two: str) -> bool:
        """Whether two systems can be told apart: against the baseline as the table there says."""
        if self._matrix.baseline in (one, two):
            other = two if one == self._matrix.baseline else one
            found = self._contrasts.get((setting, other))
            return found is not None and is_told(found.overall.comparison)
        known = (self._told.get(key) for key in ((setting, one, two), (setting, two, one)))
        return any(p_value is not None and p_value <= ALPHA for p_value in known)

    def _ranking(self, setting: str, figures: Sequence[Figures]) -> tuple[Ranked, ...]:
        """By score, with the systems that each cannot be told apart from."""
        names = [each.system for each in figures]
        ranked = (
            Ranked(
                system=each.system,
                score=each.score,
                alike=tuple(
                    name
                    for name in names
                    if name != each.system and not self._is_told(setting, each.system, name)
                ),
            )
            for each in figures
        )
        return tuple(sorted(ranked, key=lambda each: -each.score.value))


def _refusal(first: _Row, second: _Row) -> str | None:
    """Why two systems may not be compared: `compare` refuses the same with the same words."""
    shared = [seed for seed in first.runs if seed in second.runs]
    if not shared:
        return f"{first.system} and {second.system} have no seed in common"
    for seed in shared:
        one, two = first.runs[seed], second.runs[seed]
        if found := unlike(one.plan, two.plan):
            words = " and ".join(map(str, found))
            return (
                f"{one.folder.path} and {two.folder.path} differ in {words}; run both alike, or "
                "compare what they have in common with `compare --intersect`"
            )
    return None


_Key = tuple[str, str]


def _corrected(contrasts: Mapping[_Key, Contrast]) -> dict[_Key, Contrast]:
    """P-values adjusted over all systems and settings, those of categories over all of them.

    One comparison alone stays as it is, as `compare` leaves it.
    """
    if len(contrasts) < 2:
        return dict(contrasts)
    overall = holm({key: each.overall.comparison.p_value for key, each in contrasts.items()})
    categories = holm(
        {
            (*key, part.name): part.comparison.p_value
            for key, each in contrasts.items()
            for part in each.categories
        }
    )
    return {
        key: each.but(
            overall=each.overall.but(
                comparison=each.overall.comparison.but(p_adjusted=overall[key])
            ),
            categories=tuple(
                part.but(comparison=part.comparison.but(p_adjusted=categories[(*key, part.name)]))
                for part in each.categories
            ),
        )
        for key, each in contrasts.items()
    }


def _figures(row: _Row, resamples: int) -> Figures:
    table, runs = row.table, row.runs
    tally = total(run.summary.overall for run in runs.values())
    score = _mean(table.points, POINTS, resamples, missing=tally.missing)
    assert score is not None  # noqa: S101 - a run without a mark is not valid
    checkpoints = [each.label for each in table.plan.checkpoints]
    some = next(iter(runs.values())).summary
    return Figures(
        system=row.system,
        seeds=tuple(
            SeedScore(seed=seed, folder=str(run.folder.path), score=mean)
            for seed, run in runs.items()
            if (mean := _mean(run.table.points, POINTS, resamples)) is not None
        ),
        score=score,
        hallucination=_mean(table.hallucinations, RATE, resamples),
        p50_s=latency_s(table, 0.5),
        p95_s=latency_s(table, 0.95),
        ingest_s=sum(run.ingest_s for run in runs.values()),
        usage=_sum_usage(runs),
        owed=tally.owed,
        not_answered=tally.not_answered,
        not_judged=tally.not_judged,
        categories=_places(table, some.askable, lambda each: each.category),
        checkpoints=_places(table, checkpoints, lambda each: each.trial.checkpoint),
    )


def _sum_usage(runs: Mapping[int, Run]) -> Usage:
    return sum((run.usage for run in runs.values()), start=Usage())


def _places(
    table: Table, names: Sequence[str], named: Callable[[TrialRow], str]
) -> tuple[Place, ...]:
    marks: dict[str, dict[Trial, float]] = {name: {} for name in names}
    for row in table.rows:
        if row.points is not None and named(row) in marks:
            marks[named(row)][row.trial] = float(row.points)
    return tuple(
        Place(name=name, mean=_mean(found, POINTS, CELL_RESAMPLES)) for name, found in marks.items()
    )


def _mean(marks: Marks, limits: Limits, resamples: int, *, missing: int = 0) -> Estimate | None:
    return mean_estimate(
        list(marks.values()),
        [trial.item for trial in marks],
        [trial.scenario for trial in marks],
        seed=SEED,
        missing=missing,
        limits=limits,
        resamples=resamples,
    )


def _widest(figures: Sequence[Figures]) -> tuple[Widest, ...]:
    """The categories, then the checkpoints, where the best and the worst lie furthest apart."""
    found: list[Widest] = []
    for kind in ("category", "checkpoint"):
        means: dict[str, dict[str, float]] = {}
        for each in figures:
            for place in each.categories if kind == "category" else each.checkpoints:
                if place.mean is not None:
                    means.setdefault(place.name, {})[each.system] = place.mean.value
        apart = [_apart(kind, name, by) for name, by in means.items() if len(by) > 1]
        wide = sorted(apart, key=lambda each: each.worst_mean - each.best_mean)
        found += [each for each in wide[:_WIDEST] if each.best_mean > each.worst_mean]
    return tuple(found)


def _apart(kind: str, name: str, by: Mapping[str, float]) -> Widest:
    best, worst = max(by, key=lambda system: by[system]), min(by, key=lambda system: by[system])
    return Widest(
        kind=kind, name=name, best=best, best_mean=by[best], worst=worst, worst_mean=by[worst]
    )
