"""Runs against a baseline, trial by trial: what is better, where, and how sure that is."""

from collections.abc import Iterable, Sequence

from recall_bench.analysis.conclusion import in_words
from recall_bench.analysis.contrasting import contrast
from recall_bench.analysis.contrasts import Contrast, Part, Rank, Report, RunCard
from recall_bench.analysis.grounds import without_marks
from recall_bench.analysis.likeness import unlike
from recall_bench.analysis.pairing import Pairs, pair
from recall_bench.analysis.trials import Table, read_trials
from recall_bench.errors import UsageError
from recall_bench.reporting.estimates import POINTS, SEED
from recall_bench.reporting.folder import RunFolder
from recall_bench.reporting.summary import STUB, Status, Summary, summarise
from recall_bench.statistics.clusters import RESAMPLES
from recall_bench.statistics.comparison import Marks
from recall_bench.statistics.estimate import Estimate, mean_estimate
from recall_bench.statistics.holm import holm


def compare_runs(
    folders: Sequence[RunFolder], *, intersect: bool = False, resamples: int = RESAMPLES
) -> Report:
    """Every run against the first of them.

    Runs that are not alike, not finished or not valid are refused with UsageError; with
    `intersect` what they have in common is compared.
    """
    summaries = [summarise(folder) for folder in folders]
    if not intersect:
        _refuse(folders, summaries)
    tables = [read_trials(folder) for folder in folders]
    for folder, table in zip(folders, tables, strict=True):
        if why := without_marks(table):
            raise UsageError(f"{folder.path}: {why}; there is nothing to compare")
    letters = [_letter(number) for number in range(len(folders))]
    runs = tuple(
        _run_card(letter, folder, summary, _mean(table.points, resamples, summary))
        for letter, folder, summary, table in zip(letters, folders, summaries, tables, strict=True)
    )
    pairs = [pair(tables[0], table) for table in tables[1:]]
    contrasts = _corrected(
        [
            contrast(letter, tables[0], table, found, resamples=resamples)
            for letter, table, found in zip(letters[1:], tables[1:], pairs, strict=True)
        ]
    )
    return Report(
        is_intersection=intersect,
        is_stub=any(folder.plan.judge.name == STUB for folder in folders),
        runs=runs,
        contrasts=contrasts,
        conclusions=tuple(in_words(each, runs) for each in contrasts),
        ranking=_ranking(letters, tables, pairs, resamples) if len(tables) > 2 else (),
        seed=SEED,
    )


def _refuse(folders: Sequence[RunFolder], summaries: Sequence[Summary]) -> None:
    """UsageError unless all runs are alike and hold."""
    for folder, summary in zip(folders, summaries, strict=True):
        validity = summary.validity
        if validity.status is not Status.VALID:
            raise UsageError(
                f"{folder.path}: the run is {validity.status.value} ({validity.reason}); finish "
                "or repair it with its own command, or compare what there is with --intersect"
            )
    for other in folders[1:]:
        if found := unlike(folders[0].plan, other.plan):
            raise UsageError(
                f"{folders[0].path} and {other.path} differ in {_and(map(str, found))}; run both "
                "alike, or compare what they have in common with --intersect"
            )


def _run_card(letter: str, folder: RunFolder, summary: Summary, mean: Estimate | None) -> RunCard:
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


def _corrected(contrasts: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """With several runs, p-values are adjusted over all of them, as they are over categories."""
    if len(contrasts) == 1:
        return tuple(contrasts)
    overall = holm({each.letter: each.overall.comparison.p_value for each in contrasts})
    categories = holm(
        {
            (each.letter, part.name): part.comparison.p_value
            for each in contrasts
            for part in each.categories
        }
    )
    return tuple(
        each.but(
            overall=_adjusted(each.overall, overall[each.letter]),
            categories=tuple(
                _adjusted(part, categories[each.letter, part.name]) for part in each.categories
            ),
        )
        for each in contrasts
    )


def _adjusted(part: Part, p_value: float) -> Part:
    return part.but(comparison=part.comparison.but(p_adjusted=p_value))


def _ranking(
    letters: Sequence[str], tables: Sequence[Table], pairs: Sequence[Pairs], resamples: int
) -> tuple[Rank, ...]:
    """Over the trials that all runs have a mark for; none where there is no such trial."""
    points = [table.points for table in tables]
    common = frozenset.intersection(
        *(frozenset(each) for each in points), *(found.trials for found in pairs)
    )
    shared = ({t: mark for t, mark in marks.items() if t in common} for marks in points)
    ranks = [
        Rank(letter=letter, mean=mean)
        for letter, marks in zip(letters, shared, strict=True)
        if (mean := _mean(marks, resamples)) is not None
    ]
    return tuple(sorted(ranks, key=lambda rank: -rank.mean.value))


def _mean(marks: Marks, resamples: int, summary: Summary | None = None) -> Estimate | None:
    return mean_estimate(
        list(marks.values()),
        [trial.item for trial in marks],
        [trial.scenario for trial in marks],
        seed=SEED,
        missing=0 if summary is None else summary.overall.missing,
        limits=POINTS,
        resamples=resamples,
    )


def _letter(number: int) -> str:
    """A to Z, then AA, AB and so on."""
    before, last = divmod(number, 26)
    return (_letter(before - 1) if before else "") + chr(ord("A") + last)


def _and(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
