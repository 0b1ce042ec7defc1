"""How long facts stay known: survival curves with bands and half-lives.

Between two ages that were seen, facts are lost at a steady rate as far as anybody knows: the
half-life is found so, and the curve is drawn so.
"""

from collections.abc import Sequence
from itertools import pairwise

from recall_bench.analysis.degradation.views import By, Degradation, Survived
from recall_bench.analysis.report.figures import half_life
from recall_bench.charts import words
from recall_bench.charts.chart import Chart
from recall_bench.charts.plane import PERCENT, Layer, Panel, Plane, grid, quantity, single, whole
from recall_bench.statistics.survival import HalfLife, Survival

_COLUMNS = 3
_WIDTH, _HEIGHT, _TALL = 214.0, 120.0, 280.0
_BETWEEN = 6
"""Pieces each stretch between two ages is drawn in, so that a steady rate looks like one."""

_TITLES = {
    By.ALL: "How long facts stay known",
    By.CATEGORY: "How long facts stay known, by category",
    By.AGE: "How long facts stay known, by age at the first question",
    By.REVISIONS: "How long facts stay known, by revisions",
}

_Spot = tuple[float, float, float | None, float | None]
"""Age, share, and both ends of the band."""


def survival_charts(views: Degradation) -> list[Chart]:
    """One chart for each way facts are grouped."""
    everything = [each for each in views.survivals if each.by is By.ALL]
    behind = everything[0].survival if everything else None
    found = []
    for by, title in _TITLES.items():
        groups = [each for each in views.survivals if each.by is by]
        if groups:
            body = _alone(groups[0]) if by is By.ALL else _panels(groups, behind)
            found.append(_chart(by, title, groups, whole(title, _notes(views, by, behind), body)))
    return found


def _chart(by: By, title: str, groups: Sequence[Survived], spec: dict[str, object]) -> Chart:
    return Chart(
        name="survival" if by is By.ALL else f"survival-by-{by}",
        section="degradation",
        title=title,
        summary="Half-lives: " + "; ".join(_told(each) for each in groups) + ".",
        spec=spec,
        columns=("group", "age", "share", "low", "high", "at risk"),
        rows=tuple(
            (_name(each), point.age, point.share, point.low, point.high, point.at_risk)
            for each in groups
            for point in each.survival.curve
        ),
    )


def _notes(views: Degradation, by: By, everything: Survival | None) -> list[str]:
    level = {each.survival.level for each in views.survivals}
    spoken = " and ".join(f"{100 * each:.0f} %" for each in sorted(level))
    notes = [
        (
            f"Share of facts still known by days since they were first known, with {spoken} "
            f"intervals. A fact is lost at the first of {views.failures} wrong answers in a row; "
            "● is the half-life, with its interval."
        )
    ]
    if everything is not None:
        said = _half_life(everything.half_life)
        notes.append(f"{'All facts' if by is By.ALL else 'Grey: all facts'}, {said}.")
    return notes


def _plane(
    last: float, *, title: str | None = None, is_left: bool = True, is_low: bool = True
) -> Plane:
    days = "Days since first known" if is_low else None
    return Plane(
        quantity(days, 0, last, ticks=4, has_grid=False, is_bare=not is_low),
        quantity(title, 0, 1, form=PERCENT, ticks=(0, 0.25, 0.5, 0.75, 1), is_bare=not is_left),
    )


def _alone(group: Survived) -> dict[str, object]:
    last = group.survival.half_life.followed
    return single(_curve(_plane(last, title="Facts still known (%)"), group.survival, last), _TALL)


def _panels(groups: Sequence[Survived], behind: Survival | None) -> dict[str, object]:
    last = max(each.survival.half_life.followed for each in groups)
    panels = []
    for number, each in enumerate(groups):
        plane = _plane(
            last, is_left=number % _COLUMNS == 0, is_low=number + _COLUMNS >= len(groups)
        )
        grey = [] if behind is None else _rows([s for s in _spots(behind) if s[0] <= last])
        layers = [
            *plane.marks("line", "context", grey),
            *_curve(plane, each.survival, last),
        ]
        panels.append(
            Panel(
                title=_name(each),
                note=_half_life(each.survival.half_life),
                layers=layers,
                width=_WIDTH,
                height=_HEIGHT,
            )
        )
    return grid(panels, _COLUMNS)


def _curve(plane: Plane, survival: Survival, last: float) -> list[Layer]:
    spots = _spots(survival)
    band = [{"x": age, "y": low, "y2": high} for age, _, low, high in spots if low is not None]
    seen = [
        {
            "x": each.age,
            "y": each.share,
            "age": f"{each.age:,.0f} days",
            "known": words.share_with(each.share, each.low, each.high),
            "at risk": f"{each.at_risk:,.1f}",
        }
        for each in survival.curve
    ]
    unseen = {"size": 40, "opacity": 0}
    half = survival.half_life
    return [
        *plane.marks("rule", "reference", [{"y": 0.5}]),
        *plane.marks("area", "score-band", band),
        *plane.marks("line", "score-line", _rows(spots)),
        *plane.marks("point", "score-point", seen, tells=("age", "known", "at risk"), mark=unseen),
        *plane.marks("rule", "interval", _span(half, last)),
        *plane.marks("point", "ink-point", _mark(half), tells=("half-life",), mark={"size": 50}),
    ]


def _span(half: HalfLife, last: float) -> list[dict[str, object]]:
    """The interval of the half-life; it runs to the end where its upper end was not seen."""
    if half.low is None:
        return []
    return [{"x": half.low, "x2": last if half.high is None else half.high, "y": 0.5}]


def _mark(half: HalfLife) -> list[dict[str, object]]:
    if half.value is None:
        return []
    return [{"x": half.value, "y": 0.5, "half-life": _half_life(half)}]


def _spots(survival: Survival) -> list[_Spot]:
    """The curve from the start, with as many places between as a steady rate needs."""
    known: list[_Spot] = [(0.0, 1.0, 1.0, 1.0)]
    known += [(each.age, each.share, each.low, each.high) for each in survival.curve]
    spots = known[:1]
    for (start, *before), (end, *after) in pairwise(known):
        for piece in range(1, _BETWEEN + 1):
            part = piece / _BETWEEN
            share, low, high = (
                None if a is None or b is None else _steadily(a, b, part)
                for a, b in zip(before, after, strict=True)
            )
            spots.append((start + part * (end - start), share or 0.0, low, high))
    return spots


def _steadily(before: float, after: float, part: float) -> float:
    """What is left after a part of the time; in a straight line where nothing is left at last."""
    if before <= 0 or after <= 0.001:
        return before + part * (after - before)
    return float(before * (after / before) ** part)


def _rows(spots: Sequence[_Spot]) -> list[dict[str, object]]:
    return [{"x": age, "y": share} for age, share, _, _ in spots]


def _name(each: Survived) -> str:
    match each.by:
        case By.ALL:
            return "All facts"
        case By.REVISIONS:
            return f"Revisions: {words.named(each.name)}"
        case By.AGE:
            return f"First asked at {words.named(each.name)}"
        case By.CATEGORY:
            return words.spelt(each.name)


def _half_life(half: HalfLife) -> str:
    return f"half-life {half_life(half, unit=' days')}"


def _told(each: Survived) -> str:
    return (
        f"{_name(each).lower()}, {half_life(each.survival.half_life, unit=' days')}, "
        f"{each.survival.lost:,} of {each.survival.facts:,} facts lost"
    )
