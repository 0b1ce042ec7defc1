"""Runs of one suite against a baseline, figure by figure, paired by story and fact."""

from collections.abc import Iterator, Sequence

from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import (
    format_fact,
    format_heading,
    format_quantity,
    make_table,
    render_text,
    wrap_text,
)
from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.metrics.bootstrap import ResampledUnit
from recall_bench.metrics.comparison import PairedComparison, adjust_p_values, compare
from recall_bench.reporting.formats import format_card, format_interval, format_p
from recall_bench.reporting.run_comparison import name_letter
from recall_bench.reporting.suites.figures import Figure
from recall_bench.reporting.suites.report_text import (
    format_change,
    format_figure,
    is_shown,
)
from recall_bench.reporting.suites.suite_report import build_figures, get_behaviour

_PERCENT = 100.0


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
        found, best = self.comparison, self.first.best
        if found is None or best is None or not found.difference.value:
            return None
        return (found.difference.value > 0) == (best > 0)


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
        _contrast(letter, folders[0], folder, figures[0], found)
        for letter, folder, found in zip(letters[1:], folders[1:], figures[1:], strict=True)
    ]
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
        contrasts=tuple(_adjust(contrasts)),
    )


def _require_alike(folders: Sequence[RunFolder], *, intersect: bool) -> None:
    if plain := next((each for each in folders if each.plan.behaviour is None), None):
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
    if not intersect and (open_ := next((each for each in folders if not each.is_finished), None)):
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
    stories = _find_same_stories(first, second)
    if not stories:
        raise UsageError(f"{first.path} and {second.path} have no story in common; run both alike")
    known = {each.name: each for each in theirs}
    return SuiteContrast(
        letter=letter,
        stories=len(stories),
        notes=tuple(_list_notes(first, second, len(stories))),
        figures=tuple(
            _contrast_figure(each, known[each.name], stories) for each in ours if each.name in known
        ),
    )


def _find_same_stories(first: RunFolder, second: RunFolder) -> frozenset[str]:
    """The stories of which all questions that both runs ask are the same in every word and truth.

    A story may go on for a system that offers more; what both receive before is the same.
    """
    ours, theirs = first.states.scenarios, second.states.scenarios
    found = set()
    for name in ours.keys() & theirs.keys():
        items = {item.id: item for item in ours[name].items}
        pairs = [(items[other.id], other) for other in theirs[name].items if other.id in items]
        if pairs and all(one == other for one, other in pairs):
            found.add(name)
    return frozenset(found)


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
    readers = [
        "none" if plan.reader is None else format_card(plan.reader)
        for plan in (first.plan, second.plan)
    ]
    if readers[0] != readers[1]:
        yield f"reader {readers[0]} against {readers[1]}"


def _contrast_figure(first: Figure, second: Figure, stories: frozenset[str]) -> FigureContrast:
    values = [each.estimate.value for each in (first, second) if each.estimate is not None]
    marks = _mark_cases(first, stories), _mark_cases(second, stories)
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


def _mark_cases(figure: Figure, stories: frozenset[str]) -> dict[Trial, float]:
    return {
        Trial(scenario=case.unit, item=case.subject, checkpoint=case.phase): float(case.happened)
        for case in figure.cases
        if case.story in stories
    }


def _adjust(contrasts: Sequence[SuiteContrast]) -> Iterator[SuiteContrast]:
    """The contrasts with p-values adjusted over all figures of all of them."""
    p_values = {
        (contrast.letter, each.first.name): each.comparison.p_value
        for contrast in contrasts
        for each in contrast.figures
        if each.comparison is not None
    }
    adjusted = adjust_p_values(p_values)
    for contrast in contrasts:
        yield contrast.replace(
            figures=tuple(
                each
                if each.comparison is None
                else each.replace(
                    comparison=each.comparison.replace(
                        p_adjusted=adjusted[contrast.letter, each.first.name]
                    )
                )
                for each in contrast.figures
            )
        )


def render_suite_comparison(report: SuiteComparison) -> str:
    """Render the main figures, and those that differ significantly."""
    lines = format_heading(f"Recall Bench · comparison of {report.suite}", rule="═")
    for run in report.runs:
        words = [
            run.system,
            format_quantity(run.stories, "story", "stories"),
            run.folder,
        ]
        lines += format_fact(run.letter, " · ".join(words))
    for contrast in report.contrasts:
        lines += ["", *format_heading(f"{contrast.letter} against A"), *_render_contrast(contrast)]
    lines.append("")
    lines += wrap_text(_NOTE)
    return "\n".join(lines)


_NOTE = (
    "difference: second less first over the cases that both runs have, paired by story and fact, "
    "in percentage points with its 95 % interval; whole stories are resampled. p adj.: "
    "Holm-adjusted over all figures; *: at most 0.05. Times and rates have no pairs: their "
    "difference is plain."
)


def _render_contrast(contrast: SuiteContrast) -> Iterator[str]:
    shown = [each for each in contrast.figures if is_shown(each.first) or each.is_clear]
    rows = [
        (
            each.first.label,
            format_figure(each.first),
            format_figure(each.second),
            *_format_difference(each),
        )
        for each in shown
    ]
    heads = ("", "A", contrast.letter, "difference", "95 %", "p adj.", "pairs")
    yield from render_text(make_table(heads, rows))
    if hidden := len(contrast.figures) - len(shown):
        yield f"{format_quantity(hidden, 'further figure')} in --json"
    yield ""
    yield from wrap_text(describe_suite_conclusion(contrast))
    for note in contrast.notes:
        yield from wrap_text(f"note: {note}")


def _format_difference(each: FigureContrast) -> tuple[str, str, str, str]:
    found = each.comparison
    if found is None:
        plain = "" if each.difference is None else format_change(each.first, each.difference)
        return (plain, "", "", "")
    return (
        format_change(each.first, found.difference.value),
        format_interval(found.difference, 1, _PERCENT) or "",
        format_p(found.final_p) + ("*" if found.is_significant else ""),
        str(found.difference.trials),
    )


def describe_suite_conclusion(contrast: SuiteContrast) -> str:
    """In which figures a run is better or worse than the baseline."""
    clear = [each for each in contrast.figures if each.is_clear]
    if not any(each.comparison is not None for each in contrast.figures):
        return f"No figure of {contrast.letter} and A has cases that can be paired."
    if not clear:
        return f"No figure of {contrast.letter} differs significantly from A."
    parts = []
    for is_better, words in ((True, "better"), (False, "worse")):
        names = [each.first.name for each in clear if each.is_better is is_better]
        if names:
            parts.append(f"{words} in {', '.join(names)}")
    return f"{contrast.letter} is significantly {'; '.join(parts)}."
