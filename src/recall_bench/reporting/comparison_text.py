"""A comparison for people: who, the conclusion, and the tables behind it, in a hundred columns."""

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
from recall_bench.metrics.comparison import PairedComparison
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate, IntervalMethod
from recall_bench.reporting.formats import format_delta, format_interval, format_p
from recall_bench.reporting.run_comparison import (
    ComparisonReport,
    Contrast,
    ContrastPart,
    ContrastView,
    RunCard,
    is_significant,
)
from recall_bench.reporting.run_facts import format_percent
from recall_bench.reporting.run_text import STUB_WARNING
from recall_bench.runs.summary import RunStatus

_NAME_WIDTH = 26
_VIEW_WIDTH = 65
"""The columns of a table without its tests."""
_MAX_ROWS = 15
"""More checkpoints or personas than this are shown as a selection."""


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
    words = f"{run.system} · "
    if run.mean is None:
        words += "no score: nothing was measured"
    else:
        words += f"{run.mean.value:.2f}{_format_interval(run.mean)} of {FULL_MARKS}"
        words += f" · {run.mean.questions:,} questions, {run.mean.trials:,} trials"
        words += f", {run.mean.missing:,} missing" if run.mean.missing else ""
    words += f" · hallucination {format_percent(run.hallucination_rate)} · judge {run.judge}"
    if run.status is not RunStatus.VALID:
        words += f" · {run.status.value.upper()} ({run.reason})"
    if run.health is not None and run.health is not SystemHealth.VALID:
        words += f" · doctor says {run.health.value}"
    return f"{words} · {run.folder}"


def _format_interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" ({estimate.low:.2f} to {estimate.high:.2f})"


def _render_ranking(report: ComparisonReport) -> Iterator[str]:
    trials = report.ranking[0].mean.trials
    systems = {run.letter: run.system for run in report.runs}
    found = {each.letter: each.overall.comparison for each in report.contrasts}
    yield f"By the mean over the {trials:,} trials that all runs have a mark for"
    yield f"{'':<4}{'run':<{_NAME_WIDTH + 4}}{'of 6':>6}{'95 % interval':>17}{'to A':>9}{'p adj.':>10}"
    for place, rank in enumerate(report.ranking, start=1):
        name = clean_text(f"{rank.letter} {systems[rank.letter]}")[: _NAME_WIDTH + 3]
        against = found.get(rank.letter)
        interval = _format_interval(rank.mean).strip(" ()") or NO_DATA
        yield (
            f"{place:<4}{name:<{_NAME_WIDTH + 4}}{rank.mean.value:>6.2f}{interval:>17}"
            + (f"{NO_DATA:>9}{NO_DATA:>10}" if against is None else _format_difference(against))
        )


def _format_difference(found: PairedComparison) -> str:
    p_value = found.p_value if found.p_adjusted is None else found.p_adjusted
    return f"{format_delta(found.difference.value):>9}{format_p(p_value):>10}"


def _render_contrast(contrast: Contrast, conclusion: str) -> Iterator[str]:
    yield from format_heading(f"{contrast.letter} against A")
    yield from wrap_text(f"{conclusion[0].upper()}{conclusion[1:]}.")
    yield ""
    yield from format_fact("Pairs", _describe_pairs(contrast))
    for each in contrast.dropped:
        count = f"{each.first:,} of A and {each.second:,} of {contrast.letter}"
        yield from format_fact("Dropped", f"{count}: trials {each.reason}")
    for unlike in contrast.unlike:
        yield from format_fact("Differs", str(unlike))
    if contrast.is_identical:
        return
    yield from format_fact("Effect", _describe_effect(contrast))
    yield ""
    yield from _render_parts(contrast)
    yield from _render_rates(contrast)
    yield from _render_views("checkpoint", contrast.checkpoints, contrast.letter)
    if len(contrast.personas) > 1:
        yield from _render_views("persona", contrast.personas, contrast.letter)


def _describe_pairs(contrast: Contrast) -> str:
    found = contrast.overall.comparison.difference
    personas = "1 persona" if found.personas == 1 else f"{found.personas} personas"
    words = f"{found.trials:,} trials of {found.questions:,} questions, {personas}"
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


def _render_parts(contrast: Contrast) -> Iterator[str]:
    yield _format_tested_head("points of 6", contrast.letter)
    yield "─" * WIDTH
    yield _format_row(contrast.overall)
    for part in contrast.categories:
        yield _format_row(part)


def _render_rates(contrast: Contrast) -> Iterator[str]:
    rates = [part for part in (contrast.hallucination, contrast.leaks) if part is not None]
    if rates:
        yield ""
        yield _format_tested_head("% of answers", contrast.letter)
        yield "─" * WIDTH
    for part in rates:
        yield _format_row(part, scale=100, digits=1)


def _render_views(kind: str, views: Sequence[ContrastView], letter: str) -> Iterator[str]:
    yield ""
    yield _format_head(f"by {kind}", letter)
    yield "─" * _VIEW_WIDTH
    shown = pick_evenly(len(views), _MAX_ROWS)
    for view in (views[place] for place in shown):
        yield _format_figures(view, view.difference)
    if len(shown) < len(views):
        yield f"({len(shown)} of {len(views)} {kind}s shown; --json has all)"


def _format_head(name: str, letter: str) -> str:
    return (
        f"{name:<{_NAME_WIDTH}}{'n':>5}{'A':>6}{letter:>6}{f'{letter} − A':>7}{'95 % interval':>15}"
    )


def _format_tested_head(name: str, letter: str) -> str:
    return _format_head(name, letter) + f"{'p':>8}{'p adj.':>9}{'+/=/−':>12}{'seen':>6}"


def _format_row(part: ContrastPart, scale: float = 1, digits: int = 2) -> str:
    found = part.comparison
    adjusted = NO_DATA if found.p_adjusted is None else format_p(found.p_adjusted)
    if found.p_adjusted is not None and is_significant(found):
        adjusted += "*"
    seen = NO_DATA if found.detectable is None else f"{scale * found.detectable:.{digits}f}"
    counts = f"{found.wins}/{found.ties}/{found.losses}"
    tested = f"{format_p(found.p_value):>8}{adjusted:>9} {counts:>11}{seen:>6}"
    return _format_figures(part, found.difference, scale, digits) + tested


def _format_figures(
    part: ContrastPart | ContrastView, difference: Estimate, scale: float = 1, digits: int = 2
) -> str:
    count = f"{difference.questions}{'!' if difference.is_small else ''}"
    interval = format_interval(difference, digits, scale) or NO_DATA
    return (
        f"{clean_text(part.name)[: _NAME_WIDTH - 1]:<{_NAME_WIDTH}}{count:>5}"
        f"{scale * part.first:>6.{digits}f}{scale * part.second:>6.{digits}f}"
        f"{format_delta(scale * difference.value, digits):>7}{interval:>15}"
    )


def _render_notes(report: ComparisonReport) -> Iterator[str]:
    parts = [part for each in report.contrasts for part in (each.overall, *each.categories)]
    drawn = {part.comparison.difference.method for part in parts}
    yield from wrap_text(
        "n: different questions; each is one piece of evidence, however often it was put. +/=/−: "
        "questions whose figure went up, stayed and went down. seen: the smallest true difference "
        "that data like these show four times in five."
    )
    several = "categories" if len(report.contrasts) == 1 else "runs, and over all their categories"
    yield from wrap_text(
        f"p adj.: by Holm's steps over {several}; *: at most 0.05. Checkpoints and personas are "
        "there to look at, without a correction: of twenty such intervals one misses by chance."
    )
    if any(part.comparison.difference.is_small for part in parts):
        yield from wrap_text(
            f"!: fewer than {FEW_QUESTIONS} questions; the interval holds less often than it says."
        )
    if IntervalMethod.PERSONAS in drawn:
        yield from wrap_text(
            "Intervals over five personas or more are for other personas like these; p-values are "
            "for other questions to these."
        )
