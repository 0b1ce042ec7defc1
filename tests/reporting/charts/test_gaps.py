"""Where nothing was measured nothing is drawn: a line never bridges a gap."""

import vl_convert

from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.charts import chart_text
from recall_bench.reporting.charts.plane import (
    ChartPlane,
    CurveStep,
    build_quantity_axis,
    build_view,
    draw_curve,
)
from recall_bench.reporting.pictures import VEGA_LITE_SCHEMA
from tests.reporting.charts.sample_report import estimate
from tests.reporting.charts.spec_reader import CHARTS, REPORT, drawn, heading, layers, views

PLANE = ChartPlane(build_quantity_axis("Days", 0, 70), build_quantity_axis("Score", 0, 6))
HOLES = ("Decision tracking", "Synthesis")


def steps(*means: Estimate | None) -> list[CurveStep]:
    return [CurveStep(checkpoint=f"{10 * n}d", days=10 * n, mean=m) for n, m in enumerate(means)]


def score(value: float) -> Estimate:
    return estimate(value, 0.3, most=6)


def test_both_sides_of_a_hole_are_different_lines_and_bands() -> None:
    for panel in views(CHARTS["category-curves"]):
        for kind in ("line", "area"):
            sides = {value["stretch"] for value in drawn(panel, kind)}
            assert len(sides) == (2 if heading(panel) in HOLES else 1)
            for layer in layers(panel, kind):
                assert layer["encoding"]["detail"]["field"] == "stretch"


def test_no_line_runs_over_a_checkpoint_that_was_not_measured() -> None:
    table = CHARTS["category-curves"].rows
    for panel in views(CHARTS["category-curves"]):
        missing = [row[2] for row in table if row[0] == heading(panel) and row[3] is None]
        for stretch in (1, 2):
            days = [v["x"] for v in drawn(panel, "line") if v["stretch"] == stretch]
            assert not [day for day in missing if days and min(days) < day < max(days)]


def test_a_hole_is_a_hole_in_the_picture() -> None:
    """Two strokes are drawn, and none where the line has to be one."""
    broken = draw_curve(
        PLANE,
        steps(*map(score, (5, 4)), None, *map(score, (3, 2))),
        "score",
        chart_text.format_score,
    )
    unbroken = draw_curve(
        PLANE, steps(*map(score, (5, 4, 3.5, 3, 2))), "score", chart_text.format_score
    )

    assert [_strokes(broken), _strokes(unbroken)] == [2, 1]


def _strokes(parts: list[dict[str, object]]) -> int:
    spec = build_view(parts, 100) | {"$schema": VEGA_LITE_SCHEMA, "width": 200}
    config = {"style": {"score-line": {"color": "#abcdef"}}}
    svg = vl_convert.vegalite_to_svg(spec, config=config, allowed_base_urls=[])
    return sum(part.count("L") > 0 for part in svg.split("<path") if 'stroke="#abcdef"' in part)


def test_a_lone_checkpoint_is_a_dot_with_an_interval() -> None:
    found = {
        "layer": draw_curve(
            PLANE, steps(score(5), None, score(3)), "score", chart_text.format_score
        )
    }

    assert not drawn(found, "line")
    assert not drawn(found, "area")
    assert [(p["x"], p["y"]) for p in drawn(found, "point")] == [(0, 5), (20, 3)]
    assert [(p["y"], p["y2"]) for p in drawn(found, "rule")] == [(4.7, 5.36), (2.7, 3.36)]


def test_a_mean_without_an_interval_breaks_the_band_and_not_the_line() -> None:
    bare = score(4).replace(low=None, high=None)
    means = [score(5), score(4.5), bare, score(3), score(2)]
    found = {"layer": draw_curve(PLANE, steps(*means), "score", chart_text.format_score)}

    assert [p["stretch"] for p in drawn(found, "line")] == [1, 1, 1, 1, 1]
    assert [p["stretch"] for p in drawn(found, "area")] == [1, 1, 2, 2]


def test_a_lone_checkpoint_among_many_is_still_seen() -> None:
    means = [score(3) for _ in range(60)]
    many = steps(*means[:30], None, score(5), None, *means[30:])
    found = {"layer": draw_curve(PLANE, many, "score", chart_text.format_score)}

    assert [(p["x"], p["y"]) for p in drawn(found, "point")] == [(310, 5)]


def test_unknown_costs_are_gaps_too() -> None:
    panel = next(v for v in views(CHARTS["costs-over-size"]) if "Passages" in heading(v))
    untold = [each.days for each in REPORT.costs.points if each.delivered_tokens is None]

    assert untold
    for stretch in (1, 2):
        days = [v["x"] for v in drawn(panel, "line") if v["stretch"] == stretch]
        assert not [day for day in untold if min(days) < day < max(days)]
