"""Runs against a baseline, trial by trial: what is better, where, and how sure that is."""

from collections.abc import Iterable, Sequence

from recall_bench.analysis.conclusion import describe_conclusion
from recall_bench.analysis.contrasting import compare_pair
from recall_bench.analysis.contrasts import (
    ComparisonReport,
    Contrast,
    ContrastPart,
    RunCard,
    RunRank,
)
from recall_bench.analysis.grounds import explain_missing_marks
from recall_bench.analysis.likeness import find_differences
from recall_bench.analysis.pairing import TrialPairs, pair_trials
from recall_bench.analysis.trials import TrialTable, read_trials
from recall_bench.errors import UsageError
from recall_bench.reporting.estimates import POINTS, SEED
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import STUB, RunStatus, Summary, summarise
from recall_bench.statistics.clusters import RESAMPLES
from recall_bench.statistics.comparison import TrialMarks
from recall_bench.statistics.estimate import Estimate, estimate_mean
from recall_bench.statistics.holm import adjust_p_values


def compare_runs(
    folders: Sequence[RunFolder], *, intersect: bool = False, resamples: int = RESAMPLES
) -> ComparisonReport:
    """Every run against the first of them.

    Runs that are not alike, not finished or not valid are refused with UsageError; with
    `intersect` what they have in common is compared.
    """
    summaries = [summarise(folder) for folder in folders]
    if not intersect:
        _require_alike(folders, summaries)
    tables = [read_trials(folder) for folder in folders]
    for folder, table in zip(folders, tables, strict=True):
        if why := explain_missing_marks(table):
            raise UsageError(f"{folder.path}: {why}; there is nothing to compare")
    letters = [_name_letter(number) for number in range(len(folders))]
    runs = tuple(
        _describe_run(letter, folder, summary, _estimate_mean(table.points, resamples, summary))
        for letter, folder, summary, table in zip(letters, folders, summaries, tables, strict=True)
    )
    pairs = [pair_trials(tables[0], table) for table in tables[1:]]
    contrasts = _adjust_contrasts(
        [
            compare_pair(letter, tables[0], table, found, resamples=resamples)
            for letter, table, found in zip(letters[1:], tables[1:], pairs, strict=True)
        ]
    )
    return ComparisonReport(
        is_intersection=intersect,
        is_stub=any(folder.plan.judge.name == STUB for folder in folders),
        runs=runs,
        contrasts=contrasts,
        conclusions=tuple(describe_conclusion(each, runs) for each in contrasts),
        ranking=_rank_runs(letters, tables, pairs, resamples) if len(tables) > 2 else (),
        seed=SEED,
    )


def _require_alike(folders: Sequence[RunFolder], summaries: Sequence[Summary]) -> None:
    """UsageError unless all runs are alike and hold."""
    for folder, summary in zip(folders, summaries, strict=True):
        validity = summary.validity
        if validity.status is not RunStatus.VALID:
            raise UsageError(
                f"{folder.path}: the run is {validity.status.value} ({validity.reason}); finish "
                "or repair it with its own command, or compare what there is with --intersect"
            )
    for other in folders[1:]:
        if found := find_differences(folders[0].plan, other.plan):
            raise UsageError(
                f"{folders[0].path} and {other.path} differ in {_join_words(map(str, found))}; run both "
                "alike, or compare what they have in common with --intersect"
            )


def _describe_run(
    letter: str, folder: RunFolder, summary: Summary, mean: Estimate | None
) -> RunCard:
    card, judge = folder.plan.system, folder.plan.judge
    tally = summary.overall
    return RunCard(
        letter=letter,
        folder=str(folder.path),
        system=f"{card.name} {card.version}",
        judge=f"{judge.name} {judge.version}",
        status=summary.validity.status,
        reason=summary.validity.reason,
        health=None if folder.diagnosis is None else folder.diagnosis.health,
        mean=mean,
        hallucination_rate=tally.hallucination_rate,
        owed=tally.owed,
    )


def _adjust_contrasts(contrasts: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """With several runs, p-values are adjusted over all of them, as they are over categories."""
    if len(contrasts) == 1:
        return tuple(contrasts)
    overall = adjust_p_values({each.letter: each.overall.comparison.p_value for each in contrasts})
    categories = adjust_p_values(
        {
            (each.letter, part.name): part.comparison.p_value
            for each in contrasts
            for part in each.categories
        }
    )
    return tuple(
        each.replace(
            overall=_adjust_part(each.overall, overall[each.letter]),
            categories=tuple(
                _adjust_part(part, categories[each.letter, part.name]) for part in each.categories
            ),
        )
        for each in contrasts
    )


def _adjust_part(part: ContrastPart, p_value: float) -> ContrastPart:
    return part.replace(comparison=part.comparison.replace(p_adjusted=p_value))


def _rank_runs(
    letters: Sequence[str],
    tables: Sequence[TrialTable],
    pairs: Sequence[TrialPairs],
    resamples: int,
) -> tuple[RunRank, ...]:
    """Over the trials that all runs have a mark for; none where there is no such trial."""
    points = [table.points for table in tables]
    common = frozenset.intersection(
        *(frozenset(each) for each in points), *(found.trials for found in pairs)
    )
    shared = ({t: mark for t, mark in marks.items() if t in common} for marks in points)
    ranks = [
        RunRank(letter=letter, mean=mean)
        for letter, marks in zip(letters, shared, strict=True)
        if (mean := _estimate_mean(marks, resamples)) is not None
    ]
    return tuple(sorted(ranks, key=lambda rank: -rank.mean.value))


def _estimate_mean(
    marks: TrialMarks, resamples: int, summary: Summary | None = None
) -> Estimate | None:
    return estimate_mean(
        list(marks.values()),
        [trial.item for trial in marks],
        [trial.scenario for trial in marks],
        seed=SEED,
        missing=0 if summary is None else summary.overall.missing,
        limits=POINTS,
        resamples=resamples,
    )


def _name_letter(number: int) -> str:
    """A to Z, then AA, AB and so on."""
    before, last = divmod(number, 26)
    return (_name_letter(before - 1) if before else "") + chr(ord("A") + last)


def _join_words(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
