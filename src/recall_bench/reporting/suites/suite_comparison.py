"""Runs of one suite against a baseline, figure by figure, paired by story and fact."""

from collections.abc import Collection, Iterator, Sequence

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import (
    format_fact,
    format_heading,
    format_quantity,
    make_table,
    wrap_text,
)
from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.bootstrap import ResampledUnit
from recall_bench.metrics.comparison import PairedComparison, adjust_p_values, compare
from recall_bench.reporting.formats import format_card, format_interval, format_p
from recall_bench.reporting.run_comparison import name_letter
from recall_bench.reporting.sections import SectionPart, SectionTable, render_parts
from recall_bench.reporting.suites.figures import Figure
from recall_bench.reporting.suites.report_text import (
    format_change,
    format_figure,
    is_shown,
)
from recall_bench.reporting.suites.suite_report import build_figures, get_behaviour


class ComparedSuiteRun(ComputedRecord, frozen=True, kw_only=True):
    """One of the runs."""

    letter: str
    folder: str
    system: str
    stories: int
    is_finished: bool


class FigureContrast(ComputedRecord, frozen=True, kw_only=True):
    """One figure of two runs."""

    first: Figure
    second: Figure
    difference: float | None
    """Second less first, each over all its cases; None if one of them was not measured."""
    comparison: PairedComparison | None
    """Over the cases that both have; None for times and rates, which have none, and without any."""

    @property
    def is_clear(self) -> bool:
        """Whether the paired difference is significant."""
        return self.comparison is not None and self.comparison.is_significant

    @property
    def is_better(self) -> bool | None:
        """Whether the second run is nearer to the best value; None if neither is, or none is."""
        comparison, best = self.comparison, self.first.best
        if comparison is None or best is None or not comparison.difference.value:
            return None
        return (comparison.difference.value > 0) == (best > 0)


class SuiteContrast(ComputedRecord, frozen=True, kw_only=True):
    """One run against the baseline."""

    letter: str
    stories: int
    """Those that are the same in both."""
    notes: tuple[str, ...]
    figures: tuple[FigureContrast, ...]


class SuiteComparison(ComputedRecord, frozen=True, kw_only=True):
    """A whole comparison of runs of one suite."""

    suite: str
    version: str
    seed: int
    runs: tuple[ComparedSuiteRun, ...]
    """The baseline first."""
    contrasts: tuple[SuiteContrast, ...]


def compare_suites(folders: Sequence[RunFolder], *, intersect: bool = False) -> SuiteComparison:
    """Compare every run of a suite with the first.

    UsageError if they are not runs of one suite with one seed, or one is not finished; with
    `intersect` the stories that they have in common are compared.
    """
    _require_alike(folders, intersect=intersect)
    letters = [name_letter(number) for number in range(len(folders))]
    figures = [build_figures(folder) for folder in folders]
    contrasts = [
        _contrast(letter, folders[0], folder, figures[0], own)
        for letter, folder, own in zip(letters[1:], folders[1:], figures[1:], strict=True)
    ]
    # P-values are adjusted over all figures of all runs.
    adjusted = adjust_p_values(
        {
            (contrast.letter, figure.first.name): figure.comparison.p_value
            for contrast in contrasts
            for figure in contrast.figures
            if figure.comparison is not None
        }
    )
    card = get_behaviour(folders[0])
    return SuiteComparison(
        suite=card.suite,
        version=card.version,
        seed=folders[0].plan.seed,
        runs=tuple(
            ComparedSuiteRun(
                letter=letter,
                folder=str(folder.path),
                system=format_card(folder.plan.system),
                stories=len(folder.plan.scenarios),
                is_finished=folder.is_finished,
            )
            for letter, folder in zip(letters, folders, strict=True)
        ),
        contrasts=tuple(
            contrast.replace(
                figures=tuple(
                    figure
                    if (comparison := figure.comparison) is None
                    else figure.replace(
                        comparison=comparison.replace(
                            p_adjusted=adjusted[contrast.letter, figure.first.name]
                        )
                    )
                    for figure in contrast.figures
                )
            )
            for contrast in contrasts
        ),
    )


def _require_alike(folders: Sequence[RunFolder], *, intersect: bool) -> None:
    if plain := next((folder for folder in folders if folder.plan.behaviour is None), None):
        raise UsageError(
            f"{plain.path} is not a run of a behaviour suite, and others are; `scorecard` shows "
            "both"
        )
    first, *others = folders
    ours = get_behaviour(first)
    for other in others:
        theirs = get_behaviour(other)
        if (ours.suite, ours.version) != (theirs.suite, theirs.version):
            raise UsageError(
                f"{first.path} is a run of {ours.suite} {ours.version} and {other.path} of "
                f"{theirs.suite} {theirs.version}; compare runs of one suite, or see `scorecard`"
            )
        if first.plan.seed != other.plan.seed:
            raise UsageError(
                f"{first.path} has seed {first.plan.seed} and {other.path} {other.plan.seed}: "
                "their stories are not the same; run both with one seed"
            )
    if not intersect and (
        open_ := next((folder for folder in folders if not folder.is_finished), None)
    ):
        raise UsageError(
            f"{open_.path}: the run is not finished; finish it with its own command, or compare "
            "what there is with --intersect"
        )


def _contrast(
    letter: str,
    first: RunFolder,
    second: RunFolder,
    ours: Sequence[Figure],
    theirs: Sequence[Figure],
) -> SuiteContrast:
    # Stories of which all questions that both runs ask are the same in every word and truth. A
    # story may go on for a system that offers more; what both receive before is the same.
    stories = set()
    for name in first.states.scenarios.keys() & second.states.scenarios.keys():
        items = {item.id: item for item in first.states.scenarios[name].items}
        others = second.states.scenarios[name].items
        pairs = [(items[other.id], other) for other in others if other.id in items]
        if pairs and all(one == other for one, other in pairs):
            stories.add(name)
    if not stories:
        raise UsageError(f"{first.path} and {second.path} have no story in common; run both alike")
    by_name = {figure.name: figure for figure in theirs}
    return SuiteContrast(
        letter=letter,
        stories=len(stories),
        notes=tuple(_list_notes(first, second, len(stories))),
        figures=tuple(
            _contrast_figure(figure, by_name[figure.name], stories)
            for figure in ours
            if figure.name in by_name
        ),
    )


def _contrast_figure(first: Figure, second: Figure, stories: Collection[str]) -> FigureContrast:
    values = [figure.estimate.value for figure in (first, second) if figure.estimate is not None]
    marks = [
        {
            Trial(scenario=case.unit, item=case.subject, checkpoint=case.phase): case.happened
            for case in figure.cases
            if case.story in stories
        }
        for figure in (first, second)
    ]
    return FigureContrast(
        first=first.replace(cases=()),
        second=second.replace(cases=()),
        difference=values[1] - values[0] if len(values) == 2 else None,
        comparison=compare(
            *marks,
            limits=(-1.0 if first.is_difference else 0.0, 1.0),
            agreeing=ResampledUnit.PERSONAS,
        ),
    )


def _list_notes(first: RunFolder, second: RunFolder, stories: int) -> Iterator[str]:
    ours, theirs = get_behaviour(first), get_behaviour(second)
    most = max(len(first.plan.scenarios), len(second.plan.scenarios))
    if stories < most:
        yield f"{stories} of {most} stories are in both runs"
    if ours.steps_digest != theirs.steps_digest:
        yield (
            "the steps of the stories differ: the systems offer different parts, or patience or "
            "load time differ; cases that one run lacks are left out of the difference"
        )
    if first.plan.top_k != second.plan.top_k:
        yield f"top {first.plan.top_k} against top {second.plan.top_k} passages"
    one, other = (
        "none" if plan.reader is None else format_card(plan.reader)
        for plan in (first.plan, second.plan)
    )
    if one != other:
        yield f"reader {one} against {other}"


_NOTE = (
    "difference: second less first over the cases that both runs have, paired by story and fact, "
    "in percentage points with its 95 % interval; whole stories are resampled. p adj.: "
    "Holm-adjusted over all figures; *: at most 0.05. Times and rates have no pairs: their "
    "difference is plain."
)


def render_suite_comparison(report: SuiteComparison) -> str:
    """Render the main figures, and those that differ significantly."""
    lines = format_heading(f"Recall Bench · comparison of {report.suite}", rule="═")
    for run in report.runs:
        stories = format_quantity(run.stories, "story", "stories")
        lines += format_fact(run.letter, f"{run.system} · {stories} · {run.folder}")
    for contrast in report.contrasts:
        lines += ["", *format_heading(f"{contrast.letter} against A")]
        lines += render_parts(_describe_contrast(contrast))
    return "\n".join([*lines, "", *wrap_text(_NOTE)])


def _describe_contrast(contrast: SuiteContrast) -> Iterator[SectionPart]:
    rows = []
    for figure in contrast.figures:
        if not (is_shown(figure.first) or figure.is_clear):
            continue
        comparison, plain = figure.comparison, figure.difference
        cells = ["" if plain is None else format_change(figure.first, plain), "", "", ""]
        if comparison is not None:
            cells = [
                format_change(figure.first, comparison.difference.value),
                format_interval(comparison.difference, 1, 100) or "",
                format_p(comparison.final_p) + "*" * comparison.is_significant,
                str(comparison.difference.trials),
            ]
        values = (format_figure(figure.first), format_figure(figure.second))
        rows.append((figure.first.label, *values, *cells))
    heads = ("", "A", contrast.letter, "difference", "95 %", "p adj.", "pairs")
    yield SectionTable(columns=make_table(heads, rows).columns, rows=rows)
    if hidden := len(contrast.figures) - len(rows):
        yield f"{format_quantity(hidden, 'further figure')} in --json"
    yield describe_suite_conclusion(contrast)
    yield from (f"note: {note}" for note in contrast.notes)


def describe_suite_conclusion(contrast: SuiteContrast) -> str:
    """In which figures a run is better or worse than the baseline."""
    clear = [figure for figure in contrast.figures if figure.is_clear]
    if all(figure.comparison is None for figure in contrast.figures):
        return f"No figure of {contrast.letter} and A has cases that can be paired."
    if not clear:
        return f"No figure of {contrast.letter} differs significantly from A."
    parts = []
    for is_better, words in ((True, "better"), (False, "worse")):
        names = [figure.first.name for figure in clear if figure.is_better is is_better]
        if names:
            parts.append(f"{words} in {', '.join(names)}")
    return f"{contrast.letter} is significantly {'; '.join(parts)}."
