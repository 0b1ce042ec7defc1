"""Axes start where the scale does, and what was not measured is said to be so."""

import re
from math import log

import pytest
import vl_convert

from recall_bench.reporting.analyses.fact_survival import SurvivalGroup
from recall_bench.reporting.charts.cost_charts import is_log, plot_pareto
from recall_bench.reporting.charts.gallery import build_charts
from recall_bench.reporting.charts.hallucination_charts import plot_recall_against_rate
from recall_bench.reporting.charts.plane import (
    NUMBER_FORMAT,
    PERCENT_FORMAT,
    ChartPlane,
    LabelSpot,
    arrange_labels,
    build_quantity_axis,
    build_view,
    list_decades,
    list_ticks,
)
from recall_bench.reporting.pictures import estimate_width
from tests.loops import loop_over_rows
from tests.reporting.charts.sample_report import LAST_DAY, estimate
from tests.reporting.charts.spec_reader import CHARTS, REPORT, drawn, heading, layers, views


def domain(view: dict[str, object], axis: str) -> list[float]:
    found = {
        tuple(layer["encoding"][axis]["scale"]["domain"])
        for layer in view["layer"]  # type: ignore[attr-defined]
        if axis in layer["encoding"]
    }
    assert len(found) == 1
    return list(found.pop())


@pytest.mark.parametrize("name", ["category-curves", "mixed-and-fixed-cohort"])
def test_scores_have_the_whole_scale_in_every_panel(name: str) -> None:
    for view in views(CHARTS[name]):
        assert domain(view, "y") == [0, 100]
        assert domain(view, "x") == [0, LAST_DAY]


def test_score_against_cost_has_the_whole_scale_of_scores() -> None:
    for pareto in REPORT.paretos:
        assert domain(CHARTS[f"score-against-{pareto.measure}"].spec, "y") == [0, 100]


@pytest.mark.parametrize("by", ["survival", "survival-by-category"])
def test_shares_of_facts_run_from_none_to_all(by: str) -> None:
    assert all(domain(view, "y") == [0, 1] for view in views(CHARTS[by]))


def test_rates_start_at_zero_and_both_panels_have_the_same_axis() -> None:
    measured, far = views(CHARTS["hallucination-over-size"])

    assert domain(measured, "y") == domain(far, "y")
    assert domain(measured, "y")[0] == 0
    assert domain(CHARTS["hallucination-by-category"].spec, "x")[0] == 0


def test_every_mark_lies_within_its_axes() -> None:
    for chart in CHARTS.values():
        for view in views(chart):
            for layer in view["layer"]:
                for axis in {"x", "y"} & set(layer["encoding"]):
                    if layer["encoding"][axis]["type"] != "quantitative":
                        continue
                    low, high = layer["encoding"][axis]["scale"]["domain"]
                    values = [value[axis] for value in layer["data"]["values"]]
                    assert low <= min(values) <= max(values) <= high, (chart.name, axis)


@loop_over_rows(
    ("form", "ticks", "labels"),
    [
        (NUMBER_FORMAT, [0, 0.25, 0.5, 0.75], ["0", "0.25", "0.5", "0.75"]),
        (NUMBER_FORMAT, [0, 500, 1000, 1500], ["0", "500", "1,000", "1,500"]),
        (NUMBER_FORMAT, [0, 10, 20], ["0", "10", "20"]),
        (PERCENT_FORMAT, [0, 0.005, 0.01], ["0%", "0.5%", "1%"]),
    ],
)
def test_a_label_says_what_its_tick_is_at(form: str, ticks: list[float], labels: list[str]) -> None:
    """Ticks at 0.25 and 0.5 labelled 0.3 and 0.5 would put a label where its value is not."""
    plane = ChartPlane(
        build_quantity_axis("x", 0, 1),
        build_quantity_axis(None, 0, ticks[-1], ticks=ticks, form=form),
    )
    spec = build_view(plane.draw_marks("point", "", [{"x": 1, "y": ticks[-1]}]), 100) | {
        "width": 100
    }
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])

    texts = re.findall(r">([^<>]+)</text>", svg)
    assert [text for text in texts if text in labels][-len(labels) :] == labels


def test_no_axis_with_ticks_between_whole_numbers_rounds_them() -> None:
    for chart in CHARTS.values():
        for view in views(chart):
            for layer in view["layer"]:
                for place in (layer["encoding"].get("x", {}), layer["encoding"].get("y", {})):
                    axis = place.get("axis", {})
                    whole = all(value == round(value) for value in axis.get("values", ()))
                    assert whole or axis["format"] in (PERCENT_FORMAT, NUMBER_FORMAT), chart.name


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_path_that_does_not_move_still_has_axes(share: float) -> None:
    mean = estimate(share, 0.0)
    moments = tuple(
        each.replace(recall=mean, invention=mean) for each in REPORT.hallucination.overall.moments
    )
    chart = plot_recall_against_rate(REPORT.hallucination.overall.replace(moments=moments))

    assert chart is not None
    for axis in ("x", "y"):
        low, high = domain(chart.spec, axis)
        assert 0 <= low <= share <= high <= 1
        assert low < high


def test_where_no_run_costs_anything_there_is_no_chart_of_it() -> None:
    pareto = REPORT.paretos[0]
    free = tuple(each.replace(cost=0.0) for each in pareto.contenders)

    assert plot_pareto(pareto) is not None
    assert plot_pareto(pareto.replace(contenders=free)) is None


def test_predictions_beyond_the_data_stand_apart_and_say_so() -> None:
    measured, far = views(CHARTS["hallucination-over-size"])
    trend = REPORT.hallucination.overall.inventions
    assert trend is not None

    assert max(value["x"] for value in drawn(measured, "point")) == LAST_DAY
    assert max(value["x"] for value in drawn(measured, "line")) == trend.last_day
    assert heading(far) == "Beyond what was measured"
    assert [v["x"] for v in drawn(far, "point")] == ["2,000", "5,000"]
    beyond = [each for each in trend.predictions if each.is_beyond]
    assert [v["y"] for v in drawn(far, "point")] == [each.value for each in beyond]
    assert [(v["y"], v["y2"]) for v in drawn(far, "rule")] == [(e.low, e.high) for e in beyond]
    kinds = [row[-1] for row in CHARTS["hallucination-over-size"].rows if row[1] in (2000, 5000)]
    assert all("beyond what was measured" in str(kind) for kind in kinds)


def test_the_line_and_its_band_are_the_trends() -> None:
    measured, _ = views(CHARTS["hallucination-over-size"])
    trend = REPORT.hallucination.overall.inventions
    assert trend is not None

    assert [v["y"] for v in drawn(measured, "line")] == pytest.approx(
        [trend.intercept.value + trend.slope.value * d for d in (trend.first_day, trend.last_day)]
    )
    inside = [each for each in trend.predictions if not each.is_beyond]
    assert [(v["x"], v["y"], v["y2"]) for v in drawn(measured, "area")] == [
        (each.days, each.low, each.high) for each in inside
    ]


def test_a_prediction_cut_at_what_is_possible_is_marked() -> None:
    chart = CHARTS["hallucination-over-size"]
    said = [word["text"] for word in drawn(views(chart)[1], "text")]

    assert [text.endswith("†") for text in said] == [False, True]
    assert "cut at 0 or 100 %" in " ".join(chart.spec["title"]["subtitle"])  # type: ignore[index]
    assert "cut at what is possible" in str(chart.rows[-1][-1])


def test_a_forecast_that_says_nothing_is_not_drawn() -> None:
    chart = CHARTS["leaks-over-size"]
    trend = REPORT.hallucination.overall.leaks
    assert trend is not None

    assert [each.is_beyond for each in trend.predictions][-2:] == [True, True]
    (only,) = views(chart)
    assert heading(only) == "Measured"
    said = "No forecast for 2,000 and 5,000 days: the band says nothing."
    assert said in " ".join(chart.spec["title"]["subtitle"])  # type: ignore[index]
    assert said in chart.summary
    assert not [row for row in chart.rows if row[1] in (2000, 5000)]


def test_without_a_line_the_measured_rates_stand_alone() -> None:
    views_ = REPORT.hallucination
    course = views_.overall.replace(inventions=None)
    report = REPORT.replace(hallucination=views_.replace(overall=course))
    chart = {each.name: each for each in build_charts(report)}["hallucination-over-size"]

    (only,) = views(chart)
    assert not layers(only, "line")
    assert "no line" in chart.summary


def test_the_survival_curve_comes_down_to_a_half_at_the_half_life() -> None:
    for each in (s for s in REPORT.degradation.survivals if s.by is SurvivalGroup.CATEGORY):
        half = each.survival.half_life.value
        if half is None:
            continue
        view = next(
            v
            for v in views(CHARTS["survival-by-category"])
            if heading(v).lower() == each.name.replace("-", " ")
        )
        line = [(p["x"], p["y"]) for p in drawn(view, "line", "score-line")]
        after = next(n for n, (_, share) in enumerate(line) if share <= 0.5)
        (x0, y0), (x1, y1) = line[after - 1], line[after]
        crossing = x0 + (x1 - x0) * log(y0 / 0.5) / log(y0 / y1) if y0 > 0.5 else x0
        assert crossing == pytest.approx(half, rel=1e-6)


def test_a_half_life_that_was_not_reached_has_no_mark() -> None:
    view = next(v for v in views(CHARTS["survival-by-category"]) if heading(v) == "Negative recall")

    assert not drawn(view, "point", "ink-point")
    assert view["title"]["subtitle"] == "half-life beyond 950 days"


@loop_over_rows(
    ("values", "expected"),
    [([1, 999], False), ([1, 1000], True), ([0, 5000], False), ([0.002, 3], True)],
)
def test_a_scale_is_logarithmic_only_where_it_must_be(values: list[float], expected: bool) -> None:
    assert is_log(values) is expected


def test_a_logarithmic_axis_says_so() -> None:
    title = CHARTS["score-against-index-bytes"].spec["layer"][0]["encoding"]["x"]["axis"]["title"]  # type: ignore[index]
    assert title == "Index size (MB, log scale)"


@loop_over_rows(
    ("most", "expected"),
    [
        (0, [0, 1]),
        (25, [0, 10, 20, 30]),
        (0.3, [0, 0.1, 0.2, 0.3]),
        (1.3, [0, 0.5, 1.0, 1.5]),
        (90, [0, 50, 100]),
    ],
)
def test_ticks_are_round_and_reach_the_most(most: float, expected: list[float]) -> None:
    assert list_ticks(most, 3) == pytest.approx(expected)


def test_decades_enclose_what_they_are_for() -> None:
    assert list_decades(0.2, 410) == pytest.approx([0.1, 1, 10, 100, 1000])
    assert list_decades(0.01, 0.5) == pytest.approx([0.01, 0.1, 1])
    assert list_decades(2, 1000) == pytest.approx([1, 10, 100, 1000])


def test_names_beside_points_lie_on_no_other() -> None:
    spots = [LabelSpot(text=f"system {n}", x=300 + 4 * n, y=100 + 3 * n) for n in range(4)]
    boxes = []
    for spot, place in zip(spots, arrange_labels(spots, width=620), strict=True):
        room = estimate_width(spot.text, 11)
        left = spot.x + place.dx - (room if place.align == "right" else 0)
        boxes.append((left, spot.y + place.dy - 5, left + room, spot.y + place.dy + 5))

    for n, one in enumerate(boxes):
        for other in boxes[:n]:
            assert (
                one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            )


def test_a_name_at_the_edge_is_written_inwards() -> None:
    (place,) = arrange_labels([LabelSpot(text="a long name of a system", x=610, y=50)], width=620)
    assert place.align == "right"
