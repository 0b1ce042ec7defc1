"""A comparison as text, in a hundred columns: runs, conclusion, and the tables behind it."""

from collections.abc import Iterator, Sequence

from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.plain_text import (
    NO_DATA,
    Column,
    clean_text,
    format_heading,
    format_quantity,
    join_words,
    wrap_text,
)
from recall_bench.core.scenario import order_categories
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate
from recall_bench.reporting.formats import (
    OF_100,
    SMALL_MARK,
    capitalise,
    format_basis,
    format_delta,
    format_interval,
    format_number,
    format_p,
    format_range,
    format_score,
)
from recall_bench.reporting.groups import PERSONA, describe_population
from recall_bench.reporting.headlines import (
    NO_BOUNDS,
    describe_doubts,
    describe_headline,
    describe_place,
    describe_scale,
    format_ceiling,
    format_way,
    list_bound_notes,
    mark_doubt,
)
from recall_bench.reporting.run_comparison import ComparisonReport, RunCard
from recall_bench.reporting.run_contrast import Contrast, ContrastPart, ContrastView
from recall_bench.reporting.run_text import STUB_WARNING
from recall_bench.reporting.sections import Fact, SectionPart, SectionTable, render_parts

_NAME_WIDTH = 26
_MAX_RUNS = 4
"""More runs than this are left out of the table of silence and ceiling."""
_MAX_ROWS = 15
"""More checkpoints or personas than this are shown as a selection."""


def render_comparison(report: ComparisonReport) -> str:
    """The whole comparison."""
    lines = format_heading("Recall Bench · comparison", rule="═")
    lines += render_parts(_describe_runs(report))
    for contrast, conclusion in zip(report.contrasts, report.conclusions, strict=True):
        lines += ["", *format_heading(f"{contrast.letter} against A")]
        lines += wrap_text(f"{capitalise(conclusion)}.")
        if contrast.order_said is not None:
            lines += wrap_text(f"{capitalise(contrast.order_said)}.")
        lines += ["", *render_parts(_describe_contrast(report, contrast))]
    if not all(contrast.is_identical for contrast in report.contrasts):
        lines += ["", *render_parts(_list_notes(report))]
    return "\n".join(lines)


def _describe_runs(report: ComparisonReport) -> Iterator[SectionPart]:
    """Every run by itself, their ranking, and where they lie between silence and ceiling."""
    if report.is_stub:
        yield STUB_WARNING
    named = ((f"{run.letter} ({clean_text(run.system)})", run.bounds) for run in report.runs)
    yield from (f"{doubt}." for doubt in describe_doubts(named))
    yield from [Fact("Score", describe_scale(report.score))] if report.score is not None else []
    for run in report.runs:
        if run.mean is None:
            words = [run.system, "no score: nothing was measured"]
        else:
            headline = describe_headline(run.mean, run.bounds, run.invented, run.leaked)
            words = [run.system, headline, format_basis(run.mean)]
        words.append(f"judge {run.judge}")
        if run.status is not RunStatus.VALID:
            words.append(f"{run.status.value.upper()} ({run.reason})")
        if run.health is not None and run.health is not SystemHealth.VALID:
            words.append(f"doctor says {run.health.value}")
        yield Fact(run.letter, " · ".join([*words, run.folder]))
    if report.ranking:
        yield from _rank_runs(report)
    if report.score is None:
        yield from _list_bounds(report.runs)


def _rank_runs(report: ComparisonReport) -> Iterator[SectionPart]:
    systems = {run.letter: run.system for run in report.runs}
    comparisons = {contrast.letter: contrast.overall.comparison for contrast in report.contrasts}
    rows = []
    for place, rank in enumerate(report.ranking, start=1):
        against = (NO_DATA, NO_DATA)
        if (comparison := comparisons.get(rank.letter)) is not None:
            against = (
                format_delta(comparison.difference.value * OF_100, 1),
                format_p(comparison.final_p),
            )
        rows.append(
            (
                str(place),
                f"{rank.letter} {systems[rank.letter]}",
                format_score(rank.mean.value, 1) + mark_doubt(rank.bounds),
                format_range(rank.mean, scale=OF_100) or NO_DATA,
                NO_DATA if rank.bounds is None else describe_place(rank.bounds),
                *against,
            )
        )
    trials = report.ranking[0].mean.trials
    yield f"By the mean over the {trials:,} trials that all runs have a mark for"
    figures = ("of 100", "95 % interval", "of the way", "to A", "p adj.")
    names = [Column("", is_text=True), Column("run", _NAME_WIDTH + 2, is_text=True)]
    yield SectionTable(columns=[*names, *map(Column, figures)], rows=rows)


def _list_bounds(runs: Sequence[RunCard]) -> Iterator[SectionPart]:
    """Silence and ceiling with the score of each run between them, overall and by category."""
    bounded = [run for run in runs if run.bounds is not None][:_MAX_RUNS]
    if not bounded:
        yield Fact("Silence", NO_BOUNDS)
        return
    names = order_categories({name for run in bounded for name in run.category_bounds})
    ranges = {"overall": [run.bounds for run in bounded]}
    ranges |= {name: [run.category_bounds.get(name) for run in bounded] for name in names}
    rows = []
    for name, bounds in ranges.items():
        # Silence and ceiling are those of the first run that has them.
        first = next(ends for ends in bounds if ends is not None)
        cells = [name, format_score(first.floor), format_ceiling(first)]
        for ends in bounds:
            way = NO_DATA if ends is None else format_way(ends).partition(" (")[0]
            cells.append(
                NO_DATA
                if ends is None
                else format_score(ends.score) + mark_doubt(ends) + f" ({way})" * (way != NO_DATA)
            )
        rows.append(cells)
    yield SectionTable(
        columns=[
            Column("score (of the way)", _NAME_WIDTH, is_text=True),
            *map(Column, ("silence", "ceiling", *(run.letter for run in bounded))),
        ],
        rows=rows,
    )
    if len(bounded) < len(runs):
        yield f"({len(bounded)} of {len(runs)} runs shown; --json has all)"
    notes = [*list_bound_notes([ends for bounds in ranges.values() for ends in bounds])]
    pairs = {run.letter: (run.bounds.floor, run.bounds.ceiling) for run in bounded if run.bounds}
    others = [letter for letter, pair in pairs.items() if pair != pairs[bounded[0].letter]]
    if others:
        notes.append(
            f"Silence and ceiling are those of {bounded[0].letter}; {join_words(others)} had other "
            "trials or another reader, and the lines above have their own"
        )
    yield from (f"{note}." for note in notes)


def _describe_contrast(report: ComparisonReport, contrast: Contrast) -> Iterator[SectionPart]:
    """The pairs of a run and the baseline, and the difference overall and in each group."""
    letter, comparison = contrast.letter, contrast.overall.comparison
    difference = comparison.difference
    pairs = f"{difference.trials:,} trials of {difference.questions:,} questions, "
    pairs += format_quantity(difference.personas, report.unit)
    for count, where in (
        (contrast.only_first, f"in {letter}"),
        (contrast.only_second, "in A"),
        (contrast.neither, "in both"),
    ):
        pairs += f" · {count:,} without a mark {where}" if count else ""
    yield Fact("Pairs", pairs)
    for dropped in contrast.dropped:
        both = f"{dropped.first:,} of A and {dropped.second:,} of {letter}"
        yield Fact("Dropped", f"{both}: trials {dropped.reason}")
    yield from (Fact("Differs", str(condition)) for condition in contrast.unlike)
    if contrast.is_identical:
        return
    effect = (
        f"{format_delta(difference.value * OF_100, 1)} points of 100 · {comparison.wins} questions "
        f"went better, {comparison.losses} worse, {comparison.ties} alike"
    )
    if comparison.detectable is not None:
        score = format_score(comparison.detectable, 1)
        effect += f" · a difference of {score} points is seen four times in five"
    yield Fact("Effect", effect)
    head = "points of 100" if report.score is None else f"{report.score.label}, of 100"
    parts = [contrast.overall, *contrast.categories]
    yield _make_table(head[: _NAME_WIDTH - 1], letter, parts)
    if contrast.judges:
        yield _make_table("by judge", letter, contrast.judges)
    rates = {"invented": contrast.inventions, "leaked": contrast.leaks}
    shares = [rate.replace(name=name) for name, rate in rates.items() if rate is not None]
    if shares:
        yield _make_table("% of answers", letter, shares, scale=100)
    if report.unit == PERSONA:
        yield _make_table("by checkpoint", letter, contrast.checkpoints, noun="checkpoints")
    if len(contrast.personas) > 1:
        noun = f"{report.unit}s"
        yield _make_table(f"by {report.unit}", letter, contrast.personas, noun=noun)


def _make_table(
    head: str,
    letter: str,
    parts: Sequence[ContrastPart | ContrastView],
    *,
    scale: float = OF_100,
    noun: str = "parts",
) -> SectionTable:
    """Both means of each part, their difference, and its test if it has one."""
    heads = ["n", "A", letter, f"{letter} − A", "95 % interval"]
    has_tests = any(isinstance(part, ContrastPart) for part in parts)
    if has_tests:
        heads += ["p", "p adj.", "+/=/−", "seen"]
    rows = [
        _list_view_cells(part, part.difference, scale)
        if isinstance(part, ContrastView)
        else (*_list_view_cells(part, part.comparison.difference, scale), *_list_tests(part, scale))
        for part in parts
    ]
    return SectionTable(
        columns=[Column(head, _NAME_WIDTH, is_text=True), *map(Column, heads)],
        rows=rows,
        most=None if has_tests else _MAX_ROWS,
        noun=noun,
    )


def _list_view_cells(
    part: ContrastPart | ContrastView, difference: Estimate, scale: float
) -> tuple[str, ...]:
    return (
        part.name,
        f"{difference.questions}{SMALL_MARK if difference.is_small else ''}",
        format_number(scale * part.first, 1),
        format_number(scale * part.second, 1),
        format_delta(scale * difference.value, 1),
        format_interval(difference, 1, scale) or NO_DATA,
    )


def _list_tests(part: ContrastPart, scale: float) -> tuple[str, ...]:
    comparison = part.comparison
    adjusted = NO_DATA if comparison.p_adjusted is None else format_p(comparison.p_adjusted)
    if comparison.p_adjusted is not None and comparison.is_significant:
        adjusted += "*"
    smallest = (
        NO_DATA
        if comparison.detectable is None
        else format_number(scale * comparison.detectable, 1)
    )
    return (
        format_p(comparison.p_value),
        adjusted,
        f"{comparison.wins}/{comparison.ties}/{comparison.losses}",
        smallest,
    )


def _list_notes(report: ComparisonReport) -> Iterator[str]:
    comparisons = [
        part.comparison
        for contrast in report.contrasts
        for part in (contrast.overall, *contrast.categories)
    ]
    yield (
        "n: different questions; each is one piece of evidence, however often it was asked. +/=/−: "
        "questions whose figure went up, stayed and went down. seen: the smallest true difference "
        "that data like these show four times in five."
    )
    several = "categories" if len(report.contrasts) == 1 else "runs, and over all their categories"
    groups = "checkpoints and personas" if report.unit == PERSONA else f"{report.unit}s"
    are_mcnemar = [comparison.is_mcnemar for comparison in comparisons]
    others = "" if all(are_mcnemar) else ", elsewhere sign flips"
    test = f"p: McNemar's exact test{others}. " if any(are_mcnemar) else ""
    yield (
        f"{test}p adj.: Holm-adjusted over {several}; *: at most 0.05. The intervals of {groups} "
        "are not adjusted: one in twenty misses the true value by chance."
    )
    if any(comparison.difference.is_small for comparison in comparisons):
        yield f"!: fewer than {FEW_QUESTIONS} questions; the interval is unreliable."
    personas = min(contrast.overall.comparison.difference.personas for contrast in report.contrasts)
    yield describe_population(personas, report.unit)
