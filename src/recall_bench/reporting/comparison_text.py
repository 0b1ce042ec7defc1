"""A comparison as text, in a hundred columns: runs, conclusion, and the tables behind it."""

from collections.abc import Iterator, Sequence

from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.plain_text import (
    NO_DATA,
    WIDTH,
    clean_text,
    format_fact,
    format_heading,
    pick_evenly,
    wrap_text,
)
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate
from recall_bench.reporting.formats import (
    SMALL_MARK,
    format_basis,
    format_bounds,
    format_delta,
    format_interval,
    format_p,
    format_percent,
    format_quantity,
)
from recall_bench.reporting.groups import describe_population
from recall_bench.reporting.run_comparison import (
    ComparisonReport,
    Contrast,
    ContrastPart,
    ContrastView,
    RunCard,
    is_significant,
)
from recall_bench.reporting.run_text import STUB_WARNING
from recall_bench.reporting.tables import Column, Table, render_text
from recall_bench.runs.summary import RunStatus

_NAME_WIDTH = 26
_VIEW_WIDTH = 65
"""The columns of a table without its tests."""
_MAX_ROWS = 15
"""More checkpoints or personas than this are shown as a selection."""

_RANKING = (
    Column("", 4, is_text=True),
    Column("run", _NAME_WIDTH + 4, is_text=True),
    Column("of 6", 6),
    Column("95 % interval", 17),
    Column("to A", 9),
    Column("p adj.", 10),
)
_TESTS = (Column("p", 8), Column("p adj.", 9), Column("+/=/−", 12), Column("seen", 6))


def render_comparison(report: ComparisonReport) -> str:
    """The whole comparison."""
    lines = format_heading("Recall Bench · comparison", rule="═")
    if report.is_stub:
        lines.append(STUB_WARNING)
    lines.append("")
    for run in report.runs:
        lines += format_fact(run.letter, _describe_run(run))
    if report.ranking:
        lines += ["", *_render_ranking(report)]
    for contrast, conclusion in zip(report.contrasts, report.conclusions, strict=True):
        lines += ["", *_render_contrast(contrast, conclusion)]
    if not all(contrast.is_identical for contrast in report.contrasts):
        lines += ["", *_render_notes(report)]
    return "\n".join(lines)


def _describe_run(run: RunCard) -> str:
    words = [run.system]
    if run.mean is None:
        words.append("no score: nothing was measured")
    else:
        words.append(f"{run.mean.value:.2f}{format_bounds(run.mean)} of {FULL_MARKS}")
        words.append(format_basis(run.mean))
    words.append(f"hallucination {format_percent(run.hallucination_rate)}")
    words.append(f"judge {run.judge}")
    if run.status is not RunStatus.VALID:
        words.append(f"{run.status.value.upper()} ({run.reason})")
    if run.health is not None and run.health is not SystemHealth.VALID:
        words.append(f"doctor says {run.health.value}")
    return " · ".join([*words, run.folder])


def _render_ranking(report: ComparisonReport) -> Iterator[str]:
    trials = report.ranking[0].mean.trials
    systems = {run.letter: run.system for run in report.runs}
    comparisons = {each.letter: each.overall.comparison for each in report.contrasts}
    yield f"By the mean over the {trials:,} trials that all runs have a mark for"
    rows = []
    for place, rank in enumerate(report.ranking, start=1):
        found = comparisons.get(rank.letter)
        against = (NO_DATA, NO_DATA)
        if found is not None:
            p_value = found.p_value if found.p_adjusted is None else found.p_adjusted
            against = format_delta(found.difference.value), format_p(p_value)
        rows.append(
            (
                str(place),
                clean_text(f"{rank.letter} {systems[rank.letter]}")[: _NAME_WIDTH + 3],
                f"{rank.mean.value:.2f}",
                format_bounds(rank.mean).strip(" ()") or NO_DATA,
                *against,
            )
        )
    yield from render_text(Table(_RANKING, rows, gap=""))


def _render_contrast(contrast: Contrast, conclusion: str) -> Iterator[str]:
    yield from format_heading(f"{contrast.letter} against A")
    yield from wrap_text(f"{conclusion[0].upper()}{conclusion[1:]}.")
    yield ""
    yield from format_fact("Pairs", _describe_pairs(contrast))
    for each in contrast.dropped:
        count = f"{each.first:,} of A and {each.second:,} of {contrast.letter}"
        yield from format_fact("Dropped", f"{count}: trials {each.reason}")
    for difference in contrast.unlike:
        yield from format_fact("Differs", str(difference))
    if contrast.is_identical:
        return
    yield from format_fact("Effect", _describe_effect(contrast))
    yield ""
    yield from _render_parts("points of 6", contrast, [contrast.overall, *contrast.categories])
    rates = [part for part in (contrast.hallucination, contrast.leaks) if part is not None]
    if rates:
        yield ""
        yield from _render_parts("% of answers", contrast, rates, scale=100, digits=1)
    yield from _render_views("checkpoint", contrast.checkpoints, contrast.letter)
    if len(contrast.personas) > 1:
        yield from _render_views("persona", contrast.personas, contrast.letter)


def _describe_pairs(contrast: Contrast) -> str:
    found = contrast.overall.comparison.difference
    words = f"{found.trials:,} trials of {found.questions:,} questions, "
    words += format_quantity(found.personas, "persona")
    for count, where in (
        (contrast.only_first, f"in {contrast.letter}"),
        (contrast.only_second, "in A"),
        (contrast.neither, "in both"),
    ):
        words += f" · {count:,} without a mark {where}" if count else ""
    return words


def _describe_effect(contrast: Contrast) -> str:
    found = contrast.overall.comparison
    share = format_delta(100 * contrast.difference_share, 1)
    words = (
        f"{format_delta(found.difference.value)} points of {FULL_MARKS}, {share} % of full marks"
    )
    words += f" · {found.wins} questions went better, {found.losses} worse, {found.ties} alike"
    if found.detectable is not None:
        words += f" · a difference of {found.detectable:.2f} is seen four times in five"
    return words


def _render_parts(
    head: str,
    contrast: Contrast,
    parts: Sequence[ContrastPart],
    scale: float = 1,
    digits: int = 2,
) -> list[str]:
    """The parts with their tests."""
    rows = [
        (
            *_list_figures(part, part.comparison.difference, scale, digits),
            *_list_tests(part, scale, digits),
        )
        for part in parts
    ]
    table = Table((*_list_columns(head, contrast.letter), *_TESTS), rows, gap="")
    return render_text(table, rule="─" * WIDTH)


def _render_views(kind: str, views: Sequence[ContrastView], letter: str) -> Iterator[str]:
    """The views, or an even selection of many."""
    yield ""
    places = pick_evenly(len(views), _MAX_ROWS)
    rows = [_list_figures(views[place], views[place].difference) for place in places]
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
    part: ContrastPart | ContrastView, difference: Estimate, scale: float = 1, digits: int = 2
) -> tuple[str, ...]:
    return (
        clean_text(part.name)[: _NAME_WIDTH - 1],
        f"{difference.questions}{SMALL_MARK if difference.is_small else ''}",
        f"{scale * part.first:.{digits}f}",
        f"{scale * part.second:.{digits}f}",
        format_delta(scale * difference.value, digits),
        format_interval(difference, digits, scale) or NO_DATA,
    )


def _list_tests(part: ContrastPart, scale: float, digits: int) -> tuple[str, ...]:
    found = part.comparison
    adjusted = NO_DATA if found.p_adjusted is None else format_p(found.p_adjusted)
    if found.p_adjusted is not None and is_significant(found):
        adjusted += "*"
    seen = NO_DATA if found.detectable is None else f"{scale * found.detectable:.{digits}f}"
    return format_p(found.p_value), adjusted, f"{found.wins}/{found.ties}/{found.losses}", seen


def _render_notes(report: ComparisonReport) -> Iterator[str]:
    parts = [part for each in report.contrasts for part in (each.overall, *each.categories)]
    yield from wrap_text(
        "n: different questions; each is one piece of evidence, however often it was asked. +/=/−: "
        "questions whose figure went up, stayed and went down. seen: the smallest true difference "
        "that data like these show four times in five."
    )
    several = "categories" if len(report.contrasts) == 1 else "runs, and over all their categories"
    yield from wrap_text(
        f"p adj.: Holm-adjusted over {several}; *: at most 0.05. The intervals of checkpoints and "
        "personas are not adjusted: one in twenty misses the true value by chance."
    )
    if any(part.comparison.difference.is_small for part in parts):
        yield from wrap_text(
            f"!: fewer than {FEW_QUESTIONS} questions; the interval is unreliable."
        )
    personas = min(each.overall.comparison.difference.personas for each in report.contrasts)
    yield from wrap_text(describe_population(personas))
