"""What Compare shows of two runs or more: the report of `compare_runs`, and which trials pair."""

from collections.abc import Sequence

from recall_bench.core.errors import BenchError
from recall_bench.core.record import ComputedRecord
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import TrialTable
from recall_bench.metrics.comparison import PairedComparison
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.formats import (
    OF_100,
    format_count,
    format_delta,
    format_interval,
    format_number,
    format_p,
    format_sentence,
    format_slug,
)
from recall_bench.reporting.headlines import describe_headline
from recall_bench.reporting.run_comparison import ComparisonReport, RunCard, compare_runs
from recall_bench.reporting.run_contrast import Contrast, ContrastPart, ContrastView
from recall_bench.reporting.run_pairs import pair_trials
from recall_bench.reporting.suites.report_text import format_figure
from recall_bench.reporting.suites.suite_comparison import (
    FigureContrast,
    SuiteComparison,
    compare_suites,
    describe_suite_conclusion,
)

_PERCENT = 100.0


class DifferenceRow(ComputedRecord, frozen=True, kw_only=True):
    """One difference with its interval."""

    name: str
    title: str
    questions: str
    first: str
    second: str
    difference: str
    interval: str
    p: str
    is_clear: bool
    """Whether the difference is significant, or the interval of one without a test excludes 0."""
    value: float
    low: float | None
    high: float | None


class ContrastTables(ComputedRecord, frozen=True, kw_only=True):
    """One run against the baseline."""

    letter: str
    measure: str = "points of 100"
    """What the first table is about."""
    conclusion: str
    notes: tuple[str, ...]
    overall: tuple[DifferenceRow, ...]
    categories: tuple[DifferenceRow, ...]
    checkpoints: tuple[DifferenceRow, ...]
    personas: tuple[DifferenceRow, ...]


class ComparisonView(ComputedRecord, frozen=True, kw_only=True):
    """A comparison, or why there is none."""

    problem: str | None = None
    runs: tuple[tuple[str, str, str], ...] = ()
    """The letter, the system and the headline of each, the baseline first."""
    contrasts: tuple[ContrastTables, ...] = ()


class PairedRows(ComputedRecord, frozen=True, kw_only=True):
    """The rows of the trials that two runs share, and those of each that the other lacks."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    only_first: int
    only_second: int


def view_comparison(
    folders: Sequence[RunFolder], names: Sequence[str], *, intersect: bool
) -> ComparisonView:
    """Compare runs with these names, or say why they cannot be compared."""
    try:
        if any(folder.plan.behaviour is not None for folder in folders):
            return _view_suites(compare_suites(folders, intersect=intersect))
        report = compare_runs(folders, intersect=intersect)
    except BenchError as error:
        problem = str(error)
        for folder, name in zip(folders, names, strict=True):
            problem = problem.replace(str(folder.path), name)
        return ComparisonView(problem=problem)
    return ComparisonView(
        runs=tuple((card.letter, card.system, _describe_card(card)) for card in report.runs),
        contrasts=tuple(_list_tables(report)),
    )


def _view_suites(report: SuiteComparison) -> ComparisonView:
    """The figures that both runs have, each as a row."""
    return ComparisonView(
        runs=tuple((run.letter, run.system, f"suite {report.suite}") for run in report.runs),
        contrasts=tuple(
            ContrastTables(
                letter=contrast.letter,
                measure="figure",
                conclusion=describe_suite_conclusion(contrast),
                notes=tuple(format_sentence(note) for note in contrast.notes),
                overall=tuple(
                    _describe_figure(figure)
                    for figure in contrast.figures
                    if figure.comparison is not None
                ),
                categories=(),
                checkpoints=(),
                personas=(),
            )
            for contrast in report.contrasts
        ),
    )


def _describe_figure(each: FigureContrast) -> DifferenceRow:
    comparison = each.comparison
    assert comparison is not None  # noqa: S101 - others are not shown
    difference = comparison.difference
    return DifferenceRow(
        name=each.first.name,
        title=each.first.label,
        questions=f"{difference.trials:,}",
        first=format_figure(each.first),
        second=format_figure(each.second),
        difference=format_delta(difference.value * _PERCENT, 1),
        interval=format_interval(difference, 1, _PERCENT) or "",
        p=_format_tested(comparison),
        is_clear=each.is_clear,
        value=difference.value * _PERCENT,
        low=None if difference.low is None else difference.low * _PERCENT,
        high=None if difference.high is None else difference.high * _PERCENT,
    )


def _describe_card(card: RunCard) -> str:
    return describe_headline(card.mean, card.bounds, card.invented, card.leaked)


def pair_rows(first: TrialTable, second: TrialTable) -> PairedRows:
    """Pair the rows of two runs as `compare` pairs them."""
    shared = pair_trials(first, second).trials
    places = {row.trial: number for number, row in enumerate(second.rows)}
    pairs = [
        (number, places[row.trial]) for number, row in enumerate(first.rows) if row.trial in shared
    ]
    return PairedRows(
        first=tuple(one for one, _ in pairs),
        second=tuple(other for _, other in pairs),
        only_first=len(first.rows) - len(pairs),
        only_second=len(second.rows) - len(pairs),
    )


def _list_tables(report: ComparisonReport) -> list[ContrastTables]:
    return [
        ContrastTables(
            letter=contrast.letter,
            conclusion=format_sentence(words),
            notes=tuple(_list_notes(report, contrast)),
            overall=tuple(_list_overall(contrast)),
            categories=tuple(_describe_part(part) for part in contrast.categories),
            checkpoints=tuple(_describe_view(checkpoint) for checkpoint in contrast.checkpoints),
            personas=tuple(_describe_view(persona) for persona in contrast.personas),
        )
        for contrast, words in zip(report.contrasts, report.conclusions, strict=True)
    ]


def _list_notes(report: ComparisonReport, contrast: Contrast) -> list[str]:
    notes = ["A judge was the stub, which grades nothing."] if report.is_stub else []
    if contrast.order_said is not None:
        notes.append(format_sentence(contrast.order_said))
    notes += [f"The runs differ in {difference}." for difference in contrast.unlike]
    notes += [
        f"Left out: {dropped.first:,} trials of A and {dropped.second:,} of {contrast.letter} "
        f"{dropped.reason}."
        for dropped in contrast.dropped
    ]
    return notes


def _list_overall(contrast: Contrast) -> list[DifferenceRow]:
    rates = (contrast.inventions, contrast.leaks)
    return [
        _describe_part(contrast.overall),
        *(_describe_part(part.replace(name=f"by {part.name}")) for part in contrast.judges[1:]),
        *(_describe_part(part, _PERCENT, " %") for part in rates if part is not None),
    ]


def _describe_part(part: ContrastPart, scale: float = OF_100, unit: str = "") -> DifferenceRow:
    row = _describe_row(part, part.comparison.difference, scale, unit)
    return row.replace(p=_format_tested(part.comparison), is_clear=part.comparison.is_significant)


def _describe_view(view: ContrastView) -> DifferenceRow:
    return _describe_row(view, view.difference, OF_100, "").replace(
        is_clear=view.difference.excludes_zero
    )


def _describe_row(
    part: ContrastPart | ContrastView, found: Estimate, scale: float, unit: str
) -> DifferenceRow:
    return DifferenceRow(
        name=part.name,
        title=format_slug(part.name),
        questions=format_count(found),
        first=f"{format_number(part.first * scale, 1)}{unit}",
        second=f"{format_number(part.second * scale, 1)}{unit}",
        difference=format_delta(found.value * scale, 1),
        interval=format_interval(found, 1, scale) or "",
        p="",
        is_clear=False,
        value=found.value * scale,
        low=None if found.low is None else found.low * scale,
        high=None if found.high is None else found.high * scale,
    )


def _format_tested(found: PairedComparison) -> str:
    return format_p(found.final_p)
