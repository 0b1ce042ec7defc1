"""How long facts stay known: survival curves with bands and half-lives."""

from collections.abc import Sequence

from recall_bench.core.grouping import group_by
from recall_bench.metrics.survival import HalfLife, Survival
from recall_bench.reporting.analyses.degradation import Degradation
from recall_bench.reporting.analyses.fact_survival import GroupSurvival, SurvivalGroup
from recall_bench.reporting.charts import chart_text
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

_GROUP_TITLES = {
    SurvivalGroup.ALL: "How long facts stay known",
    SurvivalGroup.CATEGORY: "How long facts stay known, by category",
}

_CurveSpot = tuple[float, float, float | None, float | None]
"""Age, share, and both ends of the band."""


def plot_survivals(views: Degradation) -> list[Chart]:
    """One chart for each grouping of facts."""
    everything = [each for each in views.survivals if each.by is SurvivalGroup.ALL]
    behind = everything[0].survival if everything else None
    grouped = group_by(views.survivals, lambda each: each.by)
    return [_build_chart(views, by, grouped[by], behind) for by in SurvivalGroup if by in grouped]


def _build_chart(
    views: Degradation, by: SurvivalGroup, groups: Sequence[GroupSurvival], behind: Survival | None
) -> Chart:
    is_whole = by is SurvivalGroup.ALL
    title = _GROUP_TITLES[by]
    body = _build_single_view(groups[0]) if is_whole else _build_panels(groups, behind)
    return Chart(
        name="survival" if is_whole else f"survival-by-{by}",
        section="degradation",
        title=title,
        summary="Half-lives: " + "; ".join(_summarise_group(each) for each in groups) + ".",
        notes=tuple(_list_notes(views, by, behind)),
        body=body,
        columns=("group", "age", "share", "low", "high", "at risk"),
        rows=tuple(
            (_name_group(each), point.age, point.share, point.low, point.high, point.at_risk)
            for each in groups
            for point in each.survival.curve
        ),
    )


def _list_notes(views: Degradation, by: SurvivalGroup, everything: Survival | None) -> list[str]:
    level = {each.survival.level for each in views.survivals}
    spoken = " and ".join(f"{format_number(100 * each, 0)} %" for each in sorted(level))
    notes = [
        (
            f"Share of facts still known by days since they were first known, with {spoken} "
            f"intervals. A fact is lost at the first of {views.failures} wrong answers in a row; "
            "● is the half-life, with its interval."
        )
    ]
    if everything is not None:
        said = _describe_half_life(everything.half_life)
        notes.append(f"{'All facts' if by is SurvivalGroup.ALL else 'Grey: all facts'}, {said}.")
    return notes


def _build_plane(
    last: float, *, title: str | None = None, is_left: bool = True, is_low: bool = True
) -> ChartPlane:
    return ChartPlane(
        build_quantity_axis(
            "Days since first known", 0, last, ticks=4, has_grid=False, is_bare=not is_low
        ),
        build_quantity_axis(
            title, 0, 1, form=PERCENT_FORMAT, ticks=(0, 0.25, 0.5, 0.75, 1), is_bare=not is_left
        ),
    )


def _build_single_view(group: GroupSurvival) -> dict[str, object]:
    last = group.survival.half_life.followed
    return build_view(
        _draw_curve(_build_plane(last, title="Facts still known (%)"), group.survival, last),
        _VIEW_HEIGHT,
    )


def _build_panels(groups: Sequence[GroupSurvival], behind: Survival | None) -> dict[str, object]:
    last = max(each.survival.half_life.followed for each in groups)
    panels = []
    for number, each in enumerate(groups):
        plane = _build_plane(
            last,
            is_left=number % _PANEL_COLUMNS == 0,
            is_low=number + _PANEL_COLUMNS >= len(groups),
        )
        grey = (
            []
            if behind is None
            else _build_line_rows([s for s in _list_spots(behind) if s[0] <= last])
        )
        layers = [
            *plane.draw_marks("line", "context", grey),
            *_draw_curve(plane, each.survival, last),
        ]
        panels.append(
            ChartPanel(
                title=_name_group(each),
                note=_describe_half_life(each.survival.half_life),
                layers=layers,
                width=_PANEL_WIDTH,
                height=_PANEL_HEIGHT,
            )
        )
    return build_grid(panels, _PANEL_COLUMNS)


def _draw_curve(plane: ChartPlane, survival: Survival, last: float) -> list[ChartLayer]:
    spots = _list_spots(survival)
    band = [{"x": age, "y": low, "y2": high} for age, _, low, high in spots if low is not None]
    seen = [
        {
            "x": each.age,
            "y": each.share,
            "age": f"{each.age:,.0f} days",
            "known": chart_text.format_share_interval(each.share, each.low, each.high),
            "at risk": f"{each.at_risk:,.1f}",
        }
        for each in survival.curve
    ]
    unseen = {"size": 40, "opacity": 0}
    half = survival.half_life
    dot = [{"x": half.value, "y": 0.5, "half-life": _describe_half_life(half)}]
    # To the end of the axis if its upper end is unknown.
    span = [{"x": half.low, "x2": last if half.high is None else half.high, "y": 0.5}]
    return [
        *plane.draw_marks("rule", "reference", [{"y": 0.5}]),
        *plane.draw_marks("area", "score-band", band),
        *plane.draw_marks("line", "score-line", _build_line_rows(spots)),
        *plane.draw_marks(
            "point", "score-point", seen, tells=("age", "known", "at risk"), mark=unseen
        ),
        *plane.draw_marks("rule", "interval", [] if half.low is None else span),
        *plane.draw_marks(
            "point",
            "ink-point",
            [] if half.value is None else dot,
            tells=("half-life",),
            mark={"size": 50},
        ),
    ]


def _list_spots(survival: Survival) -> list[_CurveSpot]:
    """The curve from age 0."""
    return [(0.0, 1.0, 1.0, 1.0), *((p.age, p.share, p.low, p.high) for p in survival.curve)]


def _build_line_rows(spots: Sequence[_CurveSpot]) -> list[dict[str, object]]:
    return [{"x": age, "y": share} for age, share, _, _ in spots]


def _name_group(each: GroupSurvival) -> str:
    return "All facts" if each.by is SurvivalGroup.ALL else chart_text.format_slug(each.name)


def _describe_half_life(half: HalfLife) -> str:
    return f"half-life {format_half_life(half, unit=' days')}"


def _summarise_group(each: GroupSurvival) -> str:
    return (
        f"{_name_group(each).lower()}, {format_half_life(each.survival.half_life, unit=' days')}, "
        f"{each.survival.lost:,} of {each.survival.facts:,} facts lost"
    )
