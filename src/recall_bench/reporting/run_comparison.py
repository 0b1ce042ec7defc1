"""Several runs against a baseline: the comparison of each, their ranking, and a conclusion."""

from collections.abc import Mapping, Sequence
from functools import partial

from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import join_words
from recall_bench.core.record import ComputedRecord, Record, group_by
from recall_bench.core.scenario import order_categories
from recall_bench.engine.runs.counted_marks import POINTS, RATE
from recall_bench.engine.runs.heatmap_rows import CELL_RESAMPLES
from recall_bench.engine.runs.judge_sensitivity import open_judge_views
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.score_ranges import ScoreRange, estimate_row_range
from recall_bench.engine.runs.summary import STUB, RunStatus, Summary, summarise
from recall_bench.engine.runs.trials import ScoreScale, TrialTable
from recall_bench.metrics.bootstrap import RESAMPLES, SEED
from recall_bench.metrics.comparison import (
    PairedComparison,
)
from recall_bench.metrics.estimate import Estimate, IntervalMethod
from recall_bench.reporting.formats import (
    OF_100,
    format_card,
    format_delta,
    format_interval,
    format_number,
    format_p,
    format_score,
)
from recall_bench.reporting.groups import PERSONA, describe_judge, estimate_marks, name_histories
from recall_bench.reporting.judge_scores import (
    JudgedDifference,
    classify_order,
    describe_order,
)
from recall_bench.reporting.run_contrast import (
    Contrast,
    ContrastPart,
    PairedMarks,
    adjust_contrasts,
    adjust_parts,
    compare_pair,
)
from recall_bench.reporting.run_pairs import (
    TrialPairs,
    explain_other_measure,
    find_differences,
    pair_trials,
)
from recall_bench.reporting.trial_scores import explain_missing_scores, read_scored_trials


class RunCard(ComputedRecord, frozen=True, kw_only=True):
    """One of the runs by itself."""

    letter: str
    folder: str
    system: str
    judge: str
    status: RunStatus
    reason: str | None
    """Why its scores may not be quoted, if they may not."""
    health: SystemHealth | None
    """The diagnosis of `doctor` before the run; None if there was none."""
    mean: Estimate | None
    """Points of six over all trials that count; None if there are none."""
    bounds: ScoreRange | None
    """The same between silence and ceiling; None where the run has neither."""
    category_bounds: Mapping[str, ScoreRange]
    """The same by category."""
    invented: Estimate | None
    """The share of judged answers that are invented."""
    leaked: Estimate | None
    """The share of guarded answers that leak."""
    hallucination_rate: float | None
    """The share of judged answers that are invented or leak."""
    owed: int


class RunRank(Record, frozen=True, kw_only=True):
    """A run in the ranking, by its mean over the trials that all runs have a mark for."""

    letter: str
    mean: Estimate
    bounds: ScoreRange | None
    """The same between silence and ceiling."""


class ComparisonReport(Record, frozen=True, kw_only=True):
    """A whole comparison."""

    is_intersection: bool
    """Whether runs that differ were allowed."""
    is_stub: bool
    """Whether a judge was the stub, which grades nothing."""
    runs: tuple[RunCard, ...]
    """The baseline first."""
    contrasts: tuple[Contrast, ...]
    """Every other run against it."""
    conclusions: tuple[str, ...]
    """The conclusion of each contrast, in a sentence."""
    ranking: tuple[RunRank, ...]
    """Best first, for three runs or more."""
    seed: int
    score: ScoreScale | None = None
    """What a dataset's protocol scores the runs by; None for marks."""
    unit: str = PERSONA
    """What one history is called."""

    def __repr__(self) -> str:
        return f"<ComparisonReport: {' '.join(self.conclusions)}>"


def describe_conclusion(contrast: Contrast, runs: Sequence[RunCard]) -> str:
    """Which run is better and how sure that is, or which difference would have been detected."""
    both = runs[0], next(run for run in runs if run.letter == contrast.letter)
    first, second = (f"{run.letter} ({run.system})" for run in both)
    if contrast.is_identical:
        return (
            f"{second} and {first} are identical: each of the {contrast.owed:,} trials that both "
            "owe has the same result"
        )
    comparison = contrast.overall.comparison
    estimate = comparison.difference
    conditions = [difference.what for difference in contrast.unlike if difference.is_condition]
    difference = describe_difference(comparison)
    if comparison.is_significant:
        is_up = estimate.value > 0
        # Where the conditions differ, higher marks do not show that the system is better.
        words = ("is better than", "is worse than") if not conditions else _HIGHER_OR_LOWER
        sentence = f"{second} {words[not is_up]} {first}: {difference}"
        if estimate.method is IntervalMethod.PERSONAS and not estimate.excludes_zero:
            sentence += (
                "; this holds for these personas, and the interval, which is for others like "
                "them, leaves it open"
            )
    else:
        sentence = f"no significant difference between {first} and {second}: {difference}"
        if not comparison.wins + comparison.losses:
            sentence += "; every question has the same points"
        elif comparison.detectable is None:
            sentence += "; with so few questions no difference can be shown"
        else:
            smallest = format_score(comparison.detectable, 1)
            sentence += f"; a difference below {smallest} points could not have been seen reliably"
    if estimate.is_small:
        sentence += f"; {estimate.questions} questions are few, and the interval may be off"
    for run in both:
        if run.status is not RunStatus.VALID:
            sentence += (
                f"; {run.letter} is {run.status.value}, and {estimate.trials:,} of "
                f"{contrast.owed:,} trials that both owe could be compared"
            )
    if conditions:
        sentence += f"; but the runs differ in {' and '.join(conditions)}, which may be all of it"
    return sentence


_HIGHER_OR_LOWER = ("scored higher than", "scored lower than")


def describe_difference(comparison: PairedComparison) -> str:
    """The difference with its interval and its p-value."""
    words = f"{format_delta(comparison.difference.value * OF_100, 1)} points of 100"
    if (interval := format_interval(comparison.difference, 1, OF_100)) is not None:
        words += f" ({format_number(100 * comparison.difference.level, 0)} % {interval})"
    words += f", {format_p(comparison.p_value, sign=True)}"
    if comparison.p_adjusted is not None:
        words += f", adjusted for several runs {format_p(comparison.p_adjusted)}"
    return words


def compare_runs(
    folders: Sequence[RunFolder],
    *,
    intersect: bool = False,
    resamples: int = RESAMPLES,
    score: str | None = None,
) -> ComparisonReport:
    """Compare every run with the first.

    UsageError if runs differ in more than the system, are unfinished or invalid; with `intersect`
    the trials they have in common are compared. `score` names a figure of a dataset's protocol to
    compare by; see `read_scored_trials`.
    """
    if suite := next((folder for folder in folders if folder.plan.behaviour is not None), None):
        raise UsageError(
            f"{suite.path} is a run of a behaviour suite and has no score; compare it with another "
            "run of that suite, or see `scorecard`"
        )
    summaries = [summarise(folder) for folder in folders]
    _require_one_measure(folders, intersect=intersect)
    if not intersect:
        _require_alike(folders, summaries)
    tables = [read_scored_trials(folder, score) for folder in folders]
    _require_scores(folders, tables)
    letters = [name_letter(number) for number in range(len(folders))]
    runs = tuple(
        _describe_run(letter, folder, summary, table, resamples)
        for letter, folder, summary, table in zip(letters, folders, summaries, tables, strict=True)
    )
    pairs = [pair_trials(tables[0], table) for table in tables[1:]]
    contrasts = {
        letter: compare_pair(letter, tables[0], table, paired, resamples=resamples)
        for letter, table, paired in zip(letters[1:], tables[1:], pairs, strict=True)
    }
    contrasts = adjust_contrasts(contrasts)
    by_judge = _compare_by_judge(folders, pairs, score, resamples)
    for run in runs[1:]:
        parts = by_judge.get(run.letter, {})
        if parts:
            differences = [JudgedDifference(name, p.comparison) for name, p in parts.items()]
            names = [f"{card.letter} ({card.system})" for card in (runs[0], run)]
            contrasts[run.letter] = contrasts[run.letter].replace(
                judges=tuple(parts.values()),
                order=classify_order(differences),
                order_said=describe_order(differences, *names),
            )
    return ComparisonReport(
        is_intersection=intersect,
        is_stub=any(folder.plan.judge.name == STUB for folder in folders),
        runs=runs,
        contrasts=tuple(contrasts.values()),
        conclusions=tuple(describe_conclusion(contrast, runs) for contrast in contrasts.values()),
        ranking=_rank_runs(letters, tables, pairs, resamples) if len(tables) > 2 else (),
        seed=SEED,
        score=tables[0].scale,
        unit=name_histories(folders[0].plan),
    )


def _compare_by_judge(
    folders: Sequence[RunFolder],
    pairs: Sequence[TrialPairs],
    score: str | None,
    resamples: int,
) -> dict[str, dict[str, ContrastPart]]:
    """Compare each run with the first by every judge that both have, if these are several.

    By the letter of the run and the name of the judge; p-values are adjusted over the runs.
    """
    if not all(folder.plan.other_judges for folder in folders):
        return {}
    first, *others = [
        {view.plan.judge: read_scored_trials(view, score) for view in open_judge_views(folder)}
        for folder in folders
    ]
    by_run: dict[str, dict[str, ContrastPart]] = {}
    for name, (card, table) in zip(folders[0].plan.judge_names, first.items(), strict=True):
        parts = {}
        for number, (paired, judged) in enumerate(zip(pairs, others, strict=True), start=1):
            if (other := judged.get(card)) is not None:
                is_protocol = table.scale is not None
                marks = table.points, other.points
                both = PairedMarks(paired, *marks, POINTS, resamples, is_protocol=is_protocol)
                if (part := both.compare_all(name)) is not None:
                    parts[name_letter(number)] = part
        # One comparison alone stays as it is.
        for letter, part in (adjust_parts(parts) if len(parts) > 1 else parts).items():
            by_run.setdefault(letter, {})[name] = part
    return {letter: parts for letter, parts in by_run.items() if len(parts) > 1}


def require_comparable(folders: Sequence[RunFolder], tables: Sequence[TrialTable]) -> None:
    """Raise UsageError unless `compare` would compare all runs with the first."""
    _require_one_measure(folders, intersect=False)
    _require_alike(folders, [summarise(folder) for folder in folders])
    _require_scores(folders, tables)


def _require_one_measure(folders: Sequence[RunFolder], *, intersect: bool) -> None:
    """Raise UsageError if scores of two runs are not of one kind, whatever is intersected."""
    first = folders[0]
    for other in folders[1:]:
        if why := explain_other_measure(first.plan, other.plan, intersect=intersect):
            raise UsageError(
                f"{first.path} and {other.path} cannot be compared: {why}; run both on the same "
                "data by the same protocol"
            )


def _require_scores(folders: Sequence[RunFolder], tables: Sequence[TrialTable]) -> None:
    """Raise UsageError if a run has no score, or another one than the first."""
    for folder, table in zip(folders, tables, strict=True):
        if why := explain_missing_scores(table):
            raise UsageError(f"{folder.path}: {why}; there is nothing to compare")
        if table.scale != tables[0].scale:
            names = ["marks" if t.scale is None else t.scale.name for t in (tables[0], table)]
            raise UsageError(
                f"{folders[0].path} is scored by {names[0]} and {folder.path} by {names[1]}; name "
                "a figure that both have with --score"
            )


def _require_alike(folders: Sequence[RunFolder], summaries: Sequence[Summary]) -> None:
    """Raise UsageError unless all runs are valid and comparable."""
    for folder, summary in zip(folders, summaries, strict=True):
        validity = summary.validity
        if validity.status is not RunStatus.VALID:
            raise UsageError(
                f"{folder.path}: the run is {validity.status.value} ({validity.reason}); finish "
                "or repair it with its own command, or compare what there is with --intersect"
            )
    for other in folders[1:]:
        if differences := find_differences(folders[0].plan, other.plan):
            words = join_words(map(str, differences))
            raise UsageError(
                f"{folders[0].path} and {other.path} differ in {words}; run both alike, or compare "
                "what they have in common with --intersect"
            )


def _describe_run(
    letter: str, folder: RunFolder, summary: Summary, table: TrialTable, resamples: int
) -> RunCard:
    tally, templates = summary.overall, table.templates
    estimate = partial(estimate_marks, templates=templates, resamples=resamples)
    groups = group_by(table.rows, lambda row: row.category)
    ranges = {
        name: estimate_row_range(groups[name], templates, resamples=min(resamples, CELL_RESAMPLES))
        for name in order_categories(groups)
    }
    return RunCard(
        letter=letter,
        folder=str(folder.path),
        system=format_card(folder.plan.system),
        judge=describe_judge(folder.plan),
        status=summary.validity.status,
        reason=summary.validity.reason,
        health=None if folder.diagnosis is None else folder.diagnosis.health,
        mean=estimate(
            table.points,
            limits=POINTS,
            missing=tally.missing if table.scale is None else table.missing,
        ),
        bounds=estimate_row_range(table.rows, templates, resamples=resamples),
        category_bounds={name: bounds for name, bounds in ranges.items() if bounds is not None},
        invented=estimate(table.inventions, limits=RATE),
        leaked=estimate(table.leaks, limits=RATE),
        hallucination_rate=tally.hallucination_rate,
        owed=tally.owed,
    )


def _rank_runs(
    letters: Sequence[str],
    tables: Sequence[TrialTable],
    pairs: Sequence[TrialPairs],
    resamples: int,
) -> tuple[RunRank, ...]:
    """Rank by the trials that all runs have a mark for; empty if there are none."""
    common = frozenset.intersection(
        *(frozenset(table.points) for table in tables), *(pair.trials for pair in pairs)
    )
    ranks: list[RunRank] = []
    for letter, table in zip(letters, tables, strict=True):
        marks = {trial: mark for trial, mark in table.points.items() if trial in common}
        rows = [row for row in table.rows if row.trial in common]
        templates = tables[0].templates
        mean = estimate_marks(marks, limits=POINTS, templates=templates, resamples=resamples)
        if mean is not None:
            bounds = estimate_row_range(rows, templates, resamples=resamples)
            ranks.append(RunRank(letter=letter, mean=mean, bounds=bounds))
    return tuple(sorted(ranks, key=lambda rank: -rank.mean.value))


def name_letter(number: int) -> str:
    """A to Z, then AA, AB and so on."""
    before, last = divmod(number, 26)
    return (name_letter(before - 1) if before else "") + chr(ord("A") + last)
