"""A comparison as text, in a hundred columns: runs, conclusion, and the tables behind it."""

from collections.abc import Iterator, Sequence

from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.plain_text import (
    NO_DATA,
    WIDTH,
    clean_text,
    format_fact,
    format_heading,
    format_quantity,
    join_words,
    pick_evenly,
    wrap_text,
)
from recall_bench.core.scenario import order_categories
from recall_bench.core.tables import Column, Table, render_text
from recall_bench.engine.runs.score_ranges import ScoreRange
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
from recall_bench.reporting.run_contrast import Contrast, ContrastPart, ContrastView, is_significant
from recall_bench.reporting.run_text import STUB_WARNING

_NAME_WIDTH = 26
_VIEW_WIDTH = 65
"""The columns of a table without its tests."""
_MAX_RUNS = 4
"""More runs than this are left out of the table of silence and ceiling."""
_MAX_ROWS = 15
"""More checkpoints or personas than this are shown as a selection."""

_RANKING = (
    Column("", 4, is_text=True),
    Column("run", _NAME_WIDTH + 4, is_text=True),
    Column("of 100", 8),
    Column("95 % interval", 15),
    Column("of the way", 19),
    Column("to A", 8),
    Column("p adj.", 9),
)
_TESTS = (Column("p", 8), Column("p adj.", 9), Column("+/=/−", 12), Column("seen", 6))


def render_comparison(report: ComparisonReport) -> str:
    """The whole comparison."""
    lines = format_heading("Recall Bench · comparison", rule="═")
    if report.is_stub:
        lines.append(STUB_WARNING)
    named = ((f"{run.letter} ({clean_text(run.system)})", run.bounds) for run in report.runs)
    for doubt in describe_doubts(named):
        lines += wrap_text(f"{doubt}.")
    lines.append("")
    if report.score is not None:
        lines += format_fact("Score", describe_scale(report.score))
    for run in report.runs:
        lines += format_fact(run.letter, _describe_run(run))
    if report.ranking:
        lines += ["", *_render_ranking(report)]
    if report.score is None:
        lines += ["", *_render_bounds(report.runs)]
    for contrast, conclusion in zip(report.contrasts, report.conclusions, strict=True):
        lines += ["", *_render_contrast(report, contrast, conclusion)]
    if not all(contrast.is_identical for contrast in report.contrasts):
        lines += ["", *_render_notes(report)]
    return "\n".join(lines)


def _describe_run(run: RunCard) -> str:
    words = [run.system]
    if run.mean is None:
        words.append("no score: nothing was measured")
    else:
        words.append(describe_headline(run.mean, run.bounds, run.invented, run.leaked))
        words.append(format_basis(run.mean))
    words.append(f"judge {run.judge}")
    if run.status is not RunStatus.VALID:
        words.append(f"{run.status.value.upper()} ({run.reason})")
    if run.health is not None and run.health is not SystemHealth.VALID:
        words.append(f"doctor says {run.health.value}")
    return " · ".join([*words, run.folder])


def _render_ranking(report: ComparisonReport) -> Iterator[str]:
    trials = report.ranking[0].mean.trials
    systems = {run.letter: run.system for run in report.runs}
    comparisons = {contrast.letter: contrast.overall.comparison for contrast in report.contrasts}
    yield f"By the mean over the {trials:,} trials that all runs have a mark for"
    rows = []
    for place, rank in enumerate(report.ranking, start=1):
        found = comparisons.get(rank.letter)
        against = (NO_DATA, NO_DATA)
        if found is not None:
            against = format_delta(found.difference.value * OF_100, 1), format_p(found.final_p)
        rows.append(
            (
                str(place),
                clean_text(f"{rank.letter} {systems[rank.letter]}")[: _NAME_WIDTH + 3],
                format_score(rank.mean.value, 1) + mark_doubt(rank.bounds),
                format_range(rank.mean, scale=OF_100) or NO_DATA,
                NO_DATA if rank.bounds is None else describe_place(rank.bounds),
                *against,
            )
        )
    yield from render_text(Table(_RANKING, rows, gap=""))


def _render_bounds(runs: Sequence[RunCard]) -> Iterator[str]:
    """Silence and ceiling with the score of each run between them, overall and by category."""
    bounded = [run for run in runs if run.bounds is not None]
    if not bounded:
        yield from format_fact("Silence", NO_BOUNDS)
        return
    shown = bounded[:_MAX_RUNS]
    names = order_categories({name for run in shown for name in run.category_bounds})
    found = [("overall", [run.bounds for run in shown])]
    found += [(name, [run.category_bounds.get(name) for run in shown]) for name in names]
    columns = [Column("score (of the way)", _NAME_WIDTH, is_text=True)]
    columns += [Column("silence", 9), Column("ceiling", 9)]
    columns += [Column(run.letter, 12) for run in shown]
    rows = [_list_bounds(name, ranges) for name, ranges in found]
    yield from render_text(Table(columns, rows, gap=""), rule="─" * sum(c.width for c in columns))
    if len(shown) < len(runs):
        yield f"({len(shown)} of {len(runs)} runs shown; --json has all)"
    known = [each for _, ranges in found for each in ranges]
    for note in (*list_bound_notes(known), *_compare_bounds(shown)):
        yield from wrap_text(f"{note}.")


def _list_bounds(name: str, ranges: Sequence[ScoreRange | None]) -> tuple[str, ...]:
    """The row of a category; silence and ceiling are those of the first run that has them."""
    some = next(each for each in ranges if each is not None)
    cells = (NO_DATA if each is None else _format_between(each) for each in ranges)
    return (
        clean_text(name)[: _NAME_WIDTH - 1],
        format_score(some.floor),
        format_ceiling(some),
        *cells,
    )


def _format_between(bounds: ScoreRange) -> str:
    way = format_way(bounds).partition(" (")[0]
    return format_score(bounds.score) + mark_doubt(bounds) + f" ({way})" * (way != NO_DATA)


def _compare_bounds(runs: Sequence[RunCard]) -> Iterator[str]:
    """Name the runs whose silence or ceiling is another than that of the first."""
    first = runs[0]
    others = [run.letter for run in runs[1:] if not _is_same_range(first, run)]
    if others:
        yield (
            f"Silence and ceiling are those of {first.letter}; {join_words(others)} had other "
            "trials or another reader, and the lines above have their own"
        )


def _is_same_range(first: RunCard, second: RunCard) -> bool:
    ours, theirs = first.bounds, second.bounds
    if ours is None or theirs is None:
        return False
    return (ours.floor, ours.ceiling) == (theirs.floor, theirs.ceiling)


def _render_contrast(
    report: ComparisonReport, contrast: Contrast, conclusion: str
) -> Iterator[str]:
    yield from format_heading(f"{contrast.letter} against A")
    yield from wrap_text(f"{conclusion[0].upper()}{conclusion[1:]}.")
    if contrast.order_said is not None:
        yield from wrap_text(f"{capitalise(contrast.order_said)}.")
    yield ""
    yield from format_fact("Pairs", _describe_pairs(contrast, report.unit))
    for each in contrast.dropped:
        count = f"{each.first:,} of A and {each.second:,} of {contrast.letter}"
        yield from format_fact("Dropped", f"{count}: trials {each.reason}")
    for difference in contrast.unlike:
        yield from format_fact("Differs", str(difference))
    if contrast.is_identical:
        return
    yield from format_fact("Effect", _describe_effect(contrast))
    yield ""
    head = "points of 100" if report.score is None else f"{report.score.label}, of 100"
    yield from _render_parts(
        head[: _NAME_WIDTH - 1], contrast, [contrast.overall, *contrast.categories], scale=OF_100
    )
    if contrast.judges:
        yield ""
        yield from _render_parts("by judge", contrast, contrast.judges, scale=OF_100)
    rates = [
        part.replace(name=name)
        for name, part in (("invented", contrast.inventions), ("leaked", contrast.leaks))
        if part is not None
    ]
    if rates:
        yield ""
        yield from _render_parts("% of answers", contrast, rates, scale=100)
    if report.unit == PERSONA:
        yield from _render_views("checkpoint", contrast.checkpoints, contrast.letter)
    if len(contrast.personas) > 1:
        yield from _render_views(report.unit, contrast.personas, contrast.letter)


def _describe_pairs(contrast: Contrast, unit: str) -> str:
    found = contrast.overall.comparison.difference
    words = f"{found.trials:,} trials of {found.questions:,} questions, "
    words += format_quantity(found.personas, unit)
    for count, where in (
        (contrast.only_first, f"in {contrast.letter}"),
        (contrast.only_second, "in A"),
        (contrast.neither, "in both"),
    ):
        words += f" · {count:,} without a mark {where}" if count else ""
    return words


def _describe_effect(contrast: Contrast) -> str:
    found = contrast.overall.comparison
    words = f"{format_delta(found.difference.value * OF_100, 1)} points of 100"
    words += f" · {found.wins} questions went better, {found.losses} worse, {found.ties} alike"
    if found.detectable is not None:
        score = format_score(found.detectable, 1)
        words += f" · a difference of {score} points is seen four times in five"
    return words


def _render_parts(
    head: str,
    contrast: Contrast,
    parts: Sequence[ContrastPart],
    scale: float,
) -> list[str]:
    """The parts with their tests."""
    rows = [
        (*_list_figures(part, part.comparison.difference, scale), *_list_tests(part, scale))
        for part in parts
    ]
    table = Table((*_list_columns(head, contrast.letter), *_TESTS), rows, gap="")
    return render_text(table, rule="─" * WIDTH)


def _render_views(kind: str, views: Sequence[ContrastView], letter: str) -> Iterator[str]:
    """The views, or an even selection of many."""
    yield ""
    places = pick_evenly(len(views), _MAX_ROWS)
    rows = [_list_figures(views[place], views[place].difference, OF_100) for place in places]
    table = Table(_list_columns(f"by {kind}", letter), rows, gap="")
    yield from render_text(table, rule="─" * _VIEW_WIDTH)
    if len(places) < len(views):
        yield f"({len(places)} of {len(views)} {kind}s shown; --json has all)"


def _list_columns(head: str, letter: str) -> tuple[Column, ...]:
    return (
        Column(head, _NAME_WIDTH, is_text=True),
        Column("n", 5),
        Column("A", 6),
        Column(letter, 6),
        Column(f"{letter} − A", 7),
        Column("95 % interval", 15),
    )


def _list_figures(
    part: ContrastPart | ContrastView, difference: Estimate, scale: float
) -> tuple[str, ...]:
    return (
        clean_text(part.name)[: _NAME_WIDTH - 1],
        f"{difference.questions}{SMALL_MARK if difference.is_small else ''}",
        format_number(scale * part.first, 1),
        format_number(scale * part.second, 1),
        format_delta(scale * difference.value, 1),
        format_interval(difference, 1, scale) or NO_DATA,
    )


def _list_tests(part: ContrastPart, scale: float) -> tuple[str, ...]:
    found = part.comparison
    adjusted = NO_DATA if found.p_adjusted is None else format_p(found.p_adjusted)
    if found.p_adjusted is not None and is_significant(found):
        adjusted += "*"
    seen = NO_DATA if found.detectable is None else format_number(scale * found.detectable, 1)
    return format_p(found.p_value), adjusted, f"{found.wins}/{found.ties}/{found.losses}", seen


def _describe_test(are_mcnemar: Sequence[bool]) -> str:
    """Name the test of the p-values, where one of them is McNemar's."""
    if not any(are_mcnemar):
        return ""
    others = "" if all(are_mcnemar) else ", elsewhere sign flips"
    return f"p: McNemar's exact test{others}. "


def _render_notes(report: ComparisonReport) -> Iterator[str]:
    parts = [
        part for contrast in report.contrasts for part in (contrast.overall, *contrast.categories)
    ]
    yield from wrap_text(
        "n: different questions; each is one piece of evidence, however often it was asked. +/=/−: "
        "questions whose figure went up, stayed and went down. seen: the smallest true difference "
        "that data like these show four times in five."
    )
    several = "categories" if len(report.contrasts) == 1 else "runs, and over all their categories"
    groups = "checkpoints and personas" if report.unit == PERSONA else f"{report.unit}s"
    test = _describe_test([part.comparison.is_mcnemar for part in parts])
    yield from wrap_text(
        f"{test}p adj.: Holm-adjusted over {several}; *: at most 0.05. The intervals of {groups} "
        "are not adjusted: one in twenty misses the true value by chance."
    )
    if any(part.comparison.difference.is_small for part in parts):
        yield from wrap_text(
            f"!: fewer than {FEW_QUESTIONS} questions; the interval is unreliable."
        )
    personas = min(contrast.overall.comparison.difference.personas for contrast in report.contrasts)
    yield from wrap_text(describe_population(personas, report.unit))
