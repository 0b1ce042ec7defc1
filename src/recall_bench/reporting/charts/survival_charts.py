"""How long facts stay known: survival curves with bands and half-lives."""

from collections.abc import Sequence

from recall_bench.core.record import group_by
from recall_bench.metrics.survival import Survival
from recall_bench.reporting.analyses.degradation import Degradation
from recall_bench.reporting.analyses.fact_survival import GroupSurvival, SurvivalGroup
from recall_bench.reporting.charts.chart_text import format_share_interval, format_slug
from recall_bench.reporting.charts.plane import (
    PERCENT_FORMAT,
    Chart,
    ChartLayer,
    ChartPanel,
    ChartPlane,
    build_grid,
    build_quantity_axis,
    build_view,
)
from recall_bench.reporting.formats import format_half_life, format_number

_PANEL_COLUMNS = 3
_PANEL_WIDTH, _PANEL_HEIGHT, _VIEW_HEIGHT = 214.0, 120.0, 280.0


def plot_survivals(views: Degradation) -> list[Chart]:
    """One chart for each grouping of facts."""
    by_kind = group_by(views.survivals, lambda group: group.by)
    whole = next(iter(by_kind.get(SurvivalGroup.ALL, [])), None)
    behind = None if whole is None else whole.survival
    return [_build_chart(views, by, by_kind[by], behind) for by in SurvivalGroup if by in by_kind]


def _build_chart(
    views: Degradation, by: SurvivalGroup, groups: Sequence[GroupSurvival], whole: Survival | None
) -> Chart:
    is_whole = by is SurvivalGroup.ALL
    levels = sorted({group.survival.level for group in views.survivals})
    level = " and ".join(f"{format_number(100 * share, 0)} %" for share in levels)
    notes = [
        (
            f"Share of facts still known by days since they were first known, with {level} "
            f"intervals. A fact is lost at the first of {views.failures} wrong answers in a row; "
            "● is the half-life, with its interval."
        )
    ]
    if whole is not None:
        name = "All facts" if is_whole else "Grey: all facts"
        notes.append(f"{name}, {_describe_half_life(whole)}.")
    last = max(group.survival.half_life.followed for group in groups)
    if is_whole:
        plane = _build_plane(last, "Facts still known (%)")
        body = build_view(_draw_curve(plane, groups[0].survival, last), _VIEW_HEIGHT)
    else:
        body = build_grid(_build_panels(groups, whole, last), _PANEL_COLUMNS)
    words = [
        f"{_name_group(group).lower()}, {format_half_life(group.survival.half_life, unit=' days')}"
        f", {group.survival.lost:,} of {group.survival.facts:,} facts lost"
        for group in groups
    ]
    return Chart(
        name="survival" if is_whole else f"survival-by-{by}",
        section="degradation",
        title="How long facts stay known" + ("" if is_whole else f", by {by}"),
        summary=f"Half-lives: {'; '.join(words)}.",
        notes=tuple(notes),
        body=body,
        columns=("group", "age", "share", "low", "high", "at risk"),
        rows=tuple(
            (_name_group(group), point.age, point.share, point.low, point.high, point.at_risk)
            for group in groups
            for point in group.survival.curve
        ),
    )


def _build_plane(
    last: float, title: str | None = None, *, is_left: bool = True, is_low: bool = True
) -> ChartPlane:
    days = "Days since first known"
    shares = (0, 0.25, 0.5, 0.75, 1)
    return ChartPlane(
        build_quantity_axis(days, 0, last, ticks=4, has_grid=False, is_bare=not is_low),
        build_quantity_axis(title, 0, 1, form=PERCENT_FORMAT, ticks=shares, is_bare=not is_left),
    )


def _build_panels(
    groups: Sequence[GroupSurvival], whole: Survival | None, last: float
) -> list[ChartPanel]:
    grey = [] if whole is None else [row for row in _list_rows(whole) if row["x"] <= last]
    panels = []
    for number, group in enumerate(groups):
        is_low = number + _PANEL_COLUMNS >= len(groups)
        plane = _build_plane(last, is_left=number % _PANEL_COLUMNS == 0, is_low=is_low)
        layers = [
            *plane.draw_marks("line", "context", grey),
            *_draw_curve(plane, group.survival, last),
        ]
        panels.append(
            ChartPanel(
                title=_name_group(group),
                note=_describe_half_life(group.survival),
                layers=layers,
                width=_PANEL_WIDTH,
                height=_PANEL_HEIGHT,
            )
        )
    return panels


def _list_rows(survival: Survival) -> list[dict[str, float]]:
    """The curve from age 0."""
    curve = [{"x": point.age, "y": point.share} for point in survival.curve]
    return [{"x": 0.0, "y": 1.0}, *curve]


def _draw_curve(plane: ChartPlane, survival: Survival, last: float) -> list[ChartLayer]:
    curve, half = survival.curve, survival.half_life
    band: list[dict[str, object]] = [{"x": 0.0, "y": 1.0, "y2": 1.0}]
    band += [{"x": p.age, "y": p.low, "y2": p.high} for p in curve if p.low is not None]
    points = [
        {
            "x": point.age,
            "y": point.share,
            "age": f"{point.age:,.0f} days",
            "known": format_share_interval(point.share, point.low, point.high),
            "at risk": f"{point.at_risk:,.1f}",
        }
        for point in curve
    ]
    tells, unseen = ("age", "known", "at risk"), {"size": 40, "opacity": 0}
    dot = [{"x": half.value, "y": 0.5, "half-life": _describe_half_life(survival)}]
    # To the end of the axis if its upper end is unknown.
    span = [{"x": half.low, "x2": last if half.high is None else half.high, "y": 0.5}]
    return [
        *plane.draw_marks("rule", "reference", [{"y": 0.5}]),
        *plane.draw_marks("area", "score-band", band),
        *plane.draw_marks("line", "score-line", _list_rows(survival)),
        *plane.draw_marks("point", "score-point", points, tells=tells, mark=unseen),
        *plane.draw_marks("rule", "interval", [] if half.low is None else span),
        *plane.draw_marks(
            "point",
            "ink-point",
            [] if half.value is None else dot,
            tells=("half-life",),
            mark={"size": 50},
        ),
    ]


def _name_group(group: GroupSurvival) -> str:
    return "All facts" if group.by is SurvivalGroup.ALL else format_slug(group.name)


def _describe_half_life(survival: Survival) -> str:
    return f"half-life {format_half_life(survival.half_life, unit=' days')}"
