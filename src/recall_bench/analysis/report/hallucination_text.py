"""The views of hallucination for people."""

from collections.abc import Iterator

from recall_bench.analysis.figures import rounded
from recall_bench.analysis.hallucination.views import Course, HallucinationViews
from recall_bench.analysis.report.figures import counted, prediction, rise, share, slope
from recall_bench.core.question import BOUNDARY
from recall_bench.reporting.lines import fact, plain, selection

_NAME = 28
_MOMENTS = 10
_PERSONAS = 20


def hallucination_lines(views: HallucinationViews) -> Iterator[str]:
    """Rates by category, the course over corpus size, and both by persona."""
    yield from _course(views.overall)
    yield ""
    yield f"{'by category':<{_NAME}}{'n':>7}  made up"
    for each in views.categories:
        name = plain(each.name)[: _NAME - 1]
        yield f"{name:<{_NAME}}{counted(each.rate):>7}  {share(each.rate)}"
    if (note := leak_note(views)) is not None:
        yield from fact("Note", note)
    yield ""
    yield from _moments(views.overall)
    if views.personas:
        yield ""
        yield f"{'by persona':<{_NAME}}{'n':>7}  {'made up':<26}in 100 days, points of 100"
    for course in views.personas[:_PERSONAS]:
        yield _persona(course)
    if len(views.personas) > _PERSONAS:
        yield f"({_PERSONAS} of {len(views.personas)} personas shown; --json has all)"


def leak_note(views: HallucinationViews) -> str | None:
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


def _course(course: Course) -> Iterator[str]:
    yield from fact("Rate", share(course.rate))
    if course.hallucination is not None:
        line = course.hallucination
        start = f"{rounded(line.intercept.value * 100, 1)} % at no days"
        yield from fact("Trend", f"{start} · {_slope(course)}")
        ahead = " · ".join(
            prediction(each, scale=100, digits=1, unit=" %")
            for each in line.predictions
            if each.is_beyond
        )
        yield from fact("Predicts", f"{ahead}; nothing was measured beyond {line.last_day:,.0f}")
    yield from fact("Pattern", f"{course.pattern.value}: {course.reason}")


def _slope(course: Course) -> str:
    line = course.hallucination
    return "" if line is None else slope(line.slope, scale=100, digits=2, unit=" points of 100")


def _persona(course: Course) -> str:
    name = plain(course.name or "")[: _NAME - 1]
    line = course.hallucination
    rises = "" if line is None else rise(line.slope, scale=100, digits=2)
    return (
        f"{name:<{_NAME}}{counted(course.rate):>7}  {share(course.rate):<26}{rises:<24}"
        f"{course.pattern.value}"
    ).rstrip()


def _moments(course: Course) -> Iterator[str]:
    yield f"{'by checkpoint':<{_NAME}}{'n':>7}  {'recall':<26}made up"
    shown = selection(len(course.moments), _MOMENTS)
    for moment in (course.moments[place] for place in shown):
        name = plain(moment.checkpoint)[: _NAME - 1]
        n = counted(moment.hallucination)
        yield f"{name:<{_NAME}}{n:>7}  {share(moment.recall):<26}{share(moment.hallucination)}"
    if len(shown) < len(course.moments):
        yield f"({len(shown)} of {len(course.moments)} checkpoints shown; --json has all)"
