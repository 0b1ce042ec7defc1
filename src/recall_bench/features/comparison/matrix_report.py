"""Builds the report of a matrix from the runs of its cells.

The runs of one system by several seeds are one table, each seed a further round of repeats. A
question that several seeds ask stays one question: the bootstrap resamples questions with all their
trials, and a p-value flips the sign of whole questions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.record import group_by
from recall_bench.core.usage import Usage
from recall_bench.engine.runs.counted_marks import POINTS, RATE
from recall_bench.engine.runs.heatmap_rows import CELL_RESAMPLES
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import estimate_row_range
from recall_bench.engine.runs.summary import RunStatus, summarise
from recall_bench.engine.runs.trials import TrialRow, TrialTable
from recall_bench.features.comparison.matrix_records import (
    BaselineContrast,
    MatrixReport,
    MissingCell,
    PlaceMean,
    RankedSystem,
    SeedScore,
    SettingContrast,
    SettingReport,
    SuiteScores,
    SystemFigures,
    WidestGap,
)
from recall_bench.features.comparison.matrix_runs import CellRun, SystemRuns
from recall_bench.metrics.bootstrap import RESAMPLES
from recall_bench.metrics.comparison import MarkPair, compare_each, split_marks
from recall_bench.metrics.marks import sum_tallies
from recall_bench.reporting.analyses.costs import list_seconds
from recall_bench.reporting.groups import describe_judge, estimate_marks, find_quantile
from recall_bench.reporting.judge_scores import (
    JudgedDifference,
    compare_by_judge,
    describe_orders,
    list_judge_means,
)
from recall_bench.reporting.run_contrast import (
    Contrast,
    adjust_contrasts,
    compare_pair,
)
from recall_bench.reporting.run_pairs import (
    explain_other_measure,
    find_differences,
    pair_points,
    pair_trials,
)
from recall_bench.reporting.suites.scorecard import build_scorecard
from recall_bench.reporting.trial_scores import explain_missing_scores

_WIDEST = 3
"""How many categories, and checkpoints, with the widest gap between systems are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCell:
    """One cell of a matrix: where its run is, and why it stopped early if it did."""

    setting: str
    seed: int
    system: str
    folder: Path
    reason: str | None = None
    suite: str | None = None
    """The behaviour suite that it runs; None for a run over personas."""

    @property
    def row(self) -> str:
        """The system, with the suite if it is one."""
        return self.system if self.suite is None else f"{self.system}+{self.suite}"


def build_matrix_report(
    name: str,
    baseline: str,
    systems: Sequence[str],
    cells: Sequence[ReportCell],
    *,
    resamples: int = RESAMPLES,
) -> MatrixReport:
    """Report what the folders of all cells hold now; `systems` gives the order of the rows.

    A cell that is missing, unfinished or invalid is listed as such and is in no figure.
    """
    runs: dict[tuple[str, str], dict[int, CellRun]] = {}
    missing: list[MissingCell] = []
    finished: dict[tuple[str, int], dict[ReportCell, RunFolder]] = {}
    for cell in cells:
        opened = _open_valid(cell)
        if isinstance(opened, RunFolder):
            finished.setdefault((cell.setting, cell.seed), {})[cell] = opened
            continue
        if isinstance(opened, CellRun):
            runs.setdefault((cell.setting, cell.system), {})[cell.seed] = opened
        else:
            missing.append(opened)
    seeds = tuple(dict.fromkeys(cell.seed for cell in cells))
    rows = {
        (setting, system): SystemRuns.merge(system, opened, seeds)
        for (setting, system), opened in runs.items()
    }
    compared = _MatrixComparison(baseline, systems, rows, resamples)
    settings = list(dict.fromkeys(cell.setting for cell in cells))
    some = next((run for by_seed in runs.values() for run in by_seed.values()), None)
    return MatrixReport(
        name=name,
        baseline=baseline,
        seeds=seeds,
        personas=()
        if some is None or some.plan.dataset is not None
        else tuple(card.id for card in some.plan.scenarios),
        judge=None if some is None else describe_judge(some.plan),
        missing=tuple(missing),
        settings=tuple(compared.report_setting(setting) for setting in settings),
        between=compared.compare_settings(settings),
        comparisons=compared.count,
        suites=tuple(
            _build_suite_scores(setting, seed, folders, runs)
            for (setting, seed), folders in finished.items()
        ),
    )


def _build_suite_scores(
    setting: str,
    seed: int,
    found: Mapping[ReportCell, RunFolder],
    runs: Mapping[tuple[str, str], Mapping[int, CellRun]],
) -> SuiteScores:
    """The scorecard of all systems, named as the matrix names them."""
    pairs = [(cell.system, folder) for cell, folder in found.items()]
    systems = dict.fromkeys(system for system, _ in pairs)
    recall = [
        (system, run.folder)
        for system in systems
        if (run := runs.get((setting, system), {}).get(seed)) is not None
    ]
    names, folders = zip(*recall, *pairs, strict=True)
    return SuiteScores(setting=setting, seed=seed, card=build_scorecard(folders, names))


def _open_valid(cell: ReportCell) -> CellRun | RunFolder | MissingCell:
    """The run of a cell, the folder of a suite, or why there is none."""
    reason = cell.reason
    try:
        folder = RunFolder.open(cell.folder)
        if cell.suite is not None and folder.is_finished:
            return folder
        summary = summarise(folder)
        validity = summary.validity
        if validity.status is RunStatus.VALID:
            run = CellRun.read(cell.seed, folder, summary)
            if (why := explain_missing_scores(run.table)) is None:
                return run
            problem = why
        else:
            problem = f"{validity.status.value}: {validity.reason}"
            if reason is not None and reason not in problem:
                problem += f" ({reason})"
    except BenchError as error:
        problem = reason or ("not begun" if isinstance(error, UsageError) else str(error))
    return MissingCell(
        setting=cell.setting,
        seed=cell.seed,
        system=cell.row,
        reason=problem,
        folder=str(cell.folder),
    )


class _MatrixComparison:
    """Every comparison of the matrix, their p-values adjusted together."""

    def __init__(
        self,
        baseline: str,
        systems: Sequence[str],
        rows: Mapping[tuple[str, str], SystemRuns],
        resamples: int,
    ) -> None:
        self._baseline = baseline
        self._systems = systems
        self._rows = rows
        self._resamples = resamples
        against = {
            key: self._compare_baseline(key[0], row)
            for key, row in rows.items()
            if row.system != baseline
        }
        self._contrasts = adjust_contrasts(
            {key: contrast for key, contrast in against.items() if isinstance(contrast, Contrast)}
        )
        self._refusals = {
            key: refusal for key, refusal in against.items() if isinstance(refusal, str)
        }
        self._different = self._compare_others()
        self._judged = self._compare_by_judge()

    @property
    def count(self) -> int:
        """How many systems were compared with the baseline, over all settings."""
        return len(self._contrasts)

    def report_setting(self, name: str) -> SettingReport:
        rows = [
            row for system in self._systems if (row := self._rows.get((name, system))) is not None
        ]
        figures = tuple(_summarise_system(row, self._resamples) for row in rows)
        return SettingReport(
            name=name,
            systems=figures,
            against=tuple(
                BaselineContrast(
                    system=row.system,
                    contrast=self._contrasts.get((name, row.system)),
                    refusal=self._refusals.get((name, row.system)),
                )
                for row in rows
                if row.system != self._baseline
            ),
            ranking=self._rank(name, figures),
            widest=_find_widest(figures),
            dataset=None if not rows or (card := rows[0].table.plan.dataset) is None else card.name,
            score=rows[0].table.scale if rows else None,
            orders=describe_orders(
                {
                    key[1]: differences
                    for key, differences in self._judged.items()
                    if key[0] == name
                },
                self._baseline,
            ),
        )

    def compare_settings(self, names: Sequence[str]) -> tuple[SettingContrast, ...]:
        """Each system under the first setting it has against each other one."""
        pairs: dict[tuple[str, str, str], MarkPair] = {}
        unlike: dict[tuple[str, str, str], tuple[str, ...]] = {}
        for system in self._systems:
            first, *others = [name for name in names if (name, system) in self._rows] or [""]
            for other in others:
                one, two = (self._rows[name, system].table for name in (first, other))
                if not explain_other_measure(one.plan, two.plan):
                    pairs[system, first, other] = pair_points(one, two)
                    differences = find_differences(one.plan, two.plan)
                    unlike[system, first, other] = tuple(map(str, differences))
        compared = compare_each(pairs, limits=POINTS, resamples=self._resamples)
        refusal = "the two have no trial in common that both have a mark for"
        return tuple(
            SettingContrast(
                system=key[0],
                first=key[1],
                second=key[2],
                comparison=compared.get(key),
                unlike=unlike[key],
                refusal=None if key in compared else refusal,
            )
            for key in pairs
        )

    def _compare_baseline(self, setting: str, row: SystemRuns) -> Contrast | str:
        base = self._rows.get((setting, self._baseline))
        if base is None:
            return f"the baseline {self._baseline} has no valid run under {setting}"
        if (refusal := _explain_refusal(base, row)) is not None:
            return refusal
        pairs = pair_trials(base.table, row.table)
        try:
            return compare_pair(row.system, base.table, row.table, pairs, resamples=self._resamples)
        except UsageError as error:
            return str(error)

    def _compare_by_judge(self) -> dict[tuple[str, str], list[JudgedDifference]]:
        """Each system against the baseline by every judge that both have, if these are several."""
        pairs: dict[str, dict[tuple[str, str], MarkPair]] = {}
        for (setting, system), row in self._rows.items():
            base = self._rows.get((setting, self._baseline))
            if base is None or (setting, system) not in self._contrasts:
                continue
            for judge, table in row.judged.items():
                if judge in base.judged and len(row.judged) > 1:
                    pair = pair_points(base.judged[judge], table)
                    pairs.setdefault(judge, {})[setting, system] = pair
        return compare_by_judge(pairs, resamples=self._resamples)

    def _compare_others(self) -> set[tuple[str, frozenset[str]]]:
        """Every two systems but the baseline that differ significantly, in all settings."""
        keys = [key for key in self._rows if key[1] != self._baseline]
        pairs = {}
        for (setting, one), (other, two) in combinations(keys, 2):
            first, second = self._rows[setting, one], self._rows[other, two]
            if setting == other and _explain_refusal(first, second) is None:
                pairs[setting, frozenset((one, two))] = pair_points(first.table, second.table)
        compared = compare_each(pairs, limits=POINTS, resamples=self._resamples)
        return {key for key, comparison in compared.items() if comparison.is_significant}

    def _is_different(self, setting: str, one: str, two: str) -> bool:
        """Whether two systems differ significantly; with the baseline as in its table."""
        if self._baseline in (one, two):
            other = two if one == self._baseline else one
            contrast = self._contrasts.get((setting, other))
            return contrast is not None and contrast.overall.comparison.is_significant
        return (setting, frozenset((one, two))) in self._different

    def _rank(self, setting: str, figures: Sequence[SystemFigures]) -> tuple[RankedSystem, ...]:
        """By score, with the systems that each does not differ from significantly."""
        names = [figure.system for figure in figures]
        ranked = (
            RankedSystem(
                system=figure.system,
                score=figure.score,
                bounds=figure.bounds,
                alike=tuple(
                    name
                    for name in names
                    if name != figure.system
                    and not self._is_different(setting, figure.system, name)
                ),
            )
            for figure in figures
        )
        return tuple(sorted(ranked, key=lambda each: -each.score.value))


def _explain_refusal(first: SystemRuns, second: SystemRuns) -> str | None:
    """Why two systems may not be compared: `compare` refuses the same with the same words."""
    shared = [seed for seed in first.runs if seed in second.runs]
    if not shared:
        return f"{first.system} and {second.system} have no seed in common"
    for seed in shared:
        one, two = first.runs[seed], second.runs[seed]
        if one.table.scale != two.table.scale:
            return f"{first.system} and {second.system} are not scored by the same figure"
        if differences := find_differences(one.plan, two.plan):
            words = " and ".join(map(str, differences))
            return (
                f"{one.folder.path} and {two.folder.path} differ in {words}; run both alike, or "
                "compare what they have in common with `compare --intersect`"
            )
    return None


def _summarise_system(row: SystemRuns, resamples: int) -> SystemFigures:
    table, runs = row.table, row.runs
    tally = sum_tallies(run.summary.overall for run in runs.values())
    estimate = partial(estimate_marks, templates=table.templates, resamples=resamples)
    missing = tally.missing if table.scale is None else table.missing
    score = estimate(table.points, limits=POINTS, missing=missing)
    assert score is not None  # noqa: S101 - a run without a mark is not valid
    checkpoints = [checkpoint.label for checkpoint in table.plan.checkpoints]
    seconds = list_seconds(table.rows)
    some = next(iter(runs.values())).summary
    return SystemFigures(
        system=row.system,
        seeds=tuple(
            SeedScore(seed=seed, folder=str(run.folder.path), score=mean)
            for seed, run in runs.items()
            if (mean := estimate(run.table.points, limits=POINTS)) is not None
        ),
        score=score,
        bounds=estimate_row_range(table.rows, table.templates, resamples=resamples),
        hallucination=estimate(table.hallucinations, limits=RATE),
        invented=estimate(table.inventions, limits=RATE),
        leaked=estimate(table.leaks, limits=RATE),
        p50_s=find_quantile(seconds, 0.5),
        p95_s=find_quantile(seconds, 0.95),
        ingest_s=sum(run.ingest_s for run in runs.values()),
        usage=sum((run.folder.usage for run in runs.values()), start=Usage()),
        owed=tally.owed,
        not_answered=tally.not_answered,
        not_judged=tally.not_judged,
        categories=_average_places(table, some.asked_categories, lambda each: each.category),
        checkpoints=_average_places(table, checkpoints, lambda each: each.trial.checkpoint),
        judges=list_judge_means({name: judged.points for name, judged in row.judged.items()}),
    )


def _average_places(
    table: TrialTable, names: Sequence[str], named: Callable[[TrialRow], str]
) -> tuple[PlaceMean, ...]:
    rows = group_by(table.rows, named)
    places = {row.trial: name for name, group in rows.items() for row in group}
    marks = split_marks(table.points, places.__getitem__)
    return tuple(
        PlaceMean(
            name=name,
            mean=estimate_marks(
                marks.get(name, {}),
                limits=POINTS,
                templates=table.templates,
                resamples=CELL_RESAMPLES,
            ),
            bounds=estimate_row_range(
                rows.get(name, ()), table.templates, resamples=CELL_RESAMPLES
            ),
        )
        for name in names
    )


def _find_widest(figures: Sequence[SystemFigures]) -> tuple[WidestGap, ...]:
    """The categories, then the checkpoints, where the best and the worst lie furthest apart."""
    gaps: list[WidestGap] = []
    for kind in ("category", "checkpoint"):
        means: dict[str, dict[str, float]] = {}
        for figure in figures:
            for place in figure.categories if kind == "category" else figure.checkpoints:
                if place.mean is not None:
                    means.setdefault(place.name, {})[figure.system] = place.mean.value
        apart = [_make_gap(kind, name, by) for name, by in means.items() if len(by) > 1]
        wide = sorted(apart, key=lambda each: each.worst_mean - each.best_mean)
        gaps += [gap for gap in wide[:_WIDEST] if gap.best_mean > gap.worst_mean]
    return tuple(gaps)


def _make_gap(kind: str, name: str, by: Mapping[str, float]) -> WidestGap:
    best, worst = max(by, key=lambda system: by[system]), min(by, key=lambda system: by[system])
    return WidestGap(
        kind=kind, name=name, best=best, best_mean=by[best], worst=worst, worst_mean=by[worst]
    )
