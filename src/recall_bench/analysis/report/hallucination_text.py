"""The views of hallucination for people."""

from collections.abc import Iterator

from recall_bench.analysis.figures import format_number
from recall_bench.analysis.hallucination.views import HallucinationViews, RateCourse
from recall_bench.analysis.report.figures import (
    format_count,
    format_prediction,
    format_rise,
    format_share,
    format_slope,
)
from recall_bench.core.question import BOUNDARY
from recall_bench.reporting.lines import clean_text, format_fact, pick_evenly

_CATEGORY_WIDTH = 28
_MAX_MOMENTS = 10
_MAX_PERSONAS = 20


def render_hallucination(views: HallucinationViews) -> Iterator[str]:
    """Rates by category, the course over corpus size, and both by persona."""
    yield from _render_course(views.overall)
    yield ""
    yield f"{'by category':<{_CATEGORY_WIDTH}}{'n':>7}  made up"
    for each in views.categories:
        name = clean_text(each.name)[: _CATEGORY_WIDTH - 1]
        yield f"{name:<{_CATEGORY_WIDTH}}{format_count(each.rate):>7}  {format_share(each.rate)}"
    if (note := describe_leaks(views)) is not None:
        yield from format_fact("Note", note)
    yield ""
    yield from _render_moments(views.overall)
    if views.personas:
        yield ""
        yield f"{'by persona':<{_CATEGORY_WIDTH}}{'n':>7}  {'made up':<26}in 100 days, points of 100"
    for course in views.personas[:_MAX_PERSONAS]:
        yield _format_persona(course)
    if len(views.personas) > _MAX_PERSONAS:
        yield f"({_MAX_PERSONAS} of {len(views.personas)} personas shown; --json has all)"


def describe_leaks(views: HallucinationViews) -> str | None:
    """What counts as made up in the category about secrets; None where it has no rate."""
    found = [each for each in views.categories if each.name == BOUNDARY and each.rate is not None]
    rate = views.overall.rate
    if not found or rate is None:
        return None
    return (
        "an answer that leaks counts as made up, true as it may be: of the "
        f"{round(rate.value * rate.trials):,} counted here, {found[0].leaked:,} are leaks in "
        f"{BOUNDARY}"
    )


def _render_course(course: RateCourse) -> Iterator[str]:
    yield from format_fact("Rate", format_share(course.rate))
    if course.hallucination is not None:
        line = course.hallucination
        start = f"{format_number(line.intercept.value * 100, 1)} % at no days"
        yield from format_fact("Trend", f"{start} · {_format_course_slope(course)}")
        ahead = " · ".join(
            format_prediction(each, scale=100, digits=1, unit=" %")
            for each in line.predictions
            if each.is_beyond
        )
        yield from format_fact(
            "Predicts", f"{ahead}; nothing was measured beyond {line.last_day:,.0f}"
        )
    yield from format_fact("Pattern", f"{course.pattern.value}: {course.reason}")


def _format_course_slope(course: RateCourse) -> str:
    line = course.hallucination
    return (
        "" if line is None else format_slope(line.slope, scale=100, digits=2, unit=" points of 100")
    )


def _format_persona(course: RateCourse) -> str:
    name = clean_text(course.name or "")[: _CATEGORY_WIDTH - 1]
    line = course.hallucination
    rises = "" if line is None else format_rise(line.slope, scale=100, digits=2)
    return (
        f"{name:<{_CATEGORY_WIDTH}}{format_count(course.rate):>7}  {format_share(course.rate):<26}{rises:<24}"
        f"{course.pattern.value}"
    ).rstrip()


def _render_moments(course: RateCourse) -> Iterator[str]:
    yield f"{'by checkpoint':<{_CATEGORY_WIDTH}}{'n':>7}  {'recall':<26}made up"
    shown = pick_evenly(len(course.moments), _MAX_MOMENTS)
    for moment in (course.moments[place] for place in shown):
        name = clean_text(moment.checkpoint)[: _CATEGORY_WIDTH - 1]
        n = format_count(moment.hallucination)
        yield f"{name:<{_CATEGORY_WIDTH}}{n:>7}  {format_share(moment.recall):<26}{format_share(moment.hallucination)}"
    if len(shown) < len(course.moments):
        yield f"({len(shown)} of {len(course.moments)} checkpoints shown; --json has all)"
