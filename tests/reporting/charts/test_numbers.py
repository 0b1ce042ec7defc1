"""What is drawn, what is tabled and what the report says are the same numbers."""

from itertools import groupby

import pytest

from recall_bench.core.plan import FULL, Checkpoint
from recall_bench.core.usage import Usage
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.analyses.costs import CostPoint
from recall_bench.reporting.analyses.fact_survival import SurvivalGroup
from recall_bench.reporting.charts.chart_text import scale_score
from recall_bench.reporting.charts.gallery import build_charts
from tests.loops import loop_over_rows
from tests.reporting.charts.sample_report import estimate, sampled_report
from tests.reporting.charts.spec_reader import CHARTS, REPORT, drawn, everything, heading, views


def figures(mean: Estimate | None) -> tuple[object, ...]:
    return (None, None, None, 0) if mean is None else (mean.value, mean.low, mean.high, mean.trials)


def test_the_table_of_category_curves_is_the_heatmap() -> None:
    heatmap = REPORT.heatmaps[0]
    cells = [row.cells for row in (heatmap.total, *heatmap.categories)]
    expected = [
        (column.label, column.days, *figures(scale_score(mean)))
        for row in cells
        for column, mean in zip(heatmap.columns, row, strict=True)
    ]

    assert [row[1:] for row in CHARTS["category-curves"].rows] == expected


def test_the_points_of_category_curves_are_the_means_that_were_measured() -> None:
    table = CHARTS["category-curves"].rows
    for panel in views(CHARTS["category-curves"]):
        rows = [row for row in table if row[0] == heading(panel) and row[3] is not None]

        assert [(p["x"], p["y"]) for p in drawn(panel, "point")] == [(r[2], r[3]) for r in rows]
        assert [(p["x"], p["y"]) for p in drawn(panel, "line")] == [(r[2], r[3]) for r in rows]
        assert [(p["y"], p["y2"]) for p in drawn(panel, "area")] == [(r[4], r[5]) for r in rows]


def test_rates_by_category_are_the_reports_with_the_tempting_ones_first() -> None:
    chart = CHARTS["hallucination-by-category"]
    rates = REPORT.hallucination.categories

    assert [row[1:] for row in chart.rows] == [figures(each.invention) for each in rates]
    assert [row[0] for row in chart.rows][:2] == ["Negative recall", "Synthesis"]
    known = [each.invention for each in rates if each.invention]
    bars = drawn(chart.spec, "bar")
    assert sorted(bar["x"] for bar in bars) == sorted(rate.value for rate in known)
    assert {bar["x2"] for bar in bars} == {0}
    ends = {(each["x"], each["x2"]) for each in drawn(chart.spec, "rule")}
    assert ends == {(rate.low, rate.high) for rate in known}


def test_a_category_without_verdicts_has_words_and_no_bar() -> None:
    spec = CHARTS["hallucination-by-category"].spec
    name = "Group session attribution"

    assert name not in [bar["y"] for bar in drawn(spec, "bar")]
    assert (name, "not judged") in [(word["y"], word["text"]) for word in drawn(spec, "text")]


def test_the_path_goes_through_every_checkpoint_in_order_of_time() -> None:
    chart = CHARTS["recall-against-hallucination"]
    moments = REPORT.hallucination.overall.moments

    path = [(each["days"], each["x"], each["y"]) for each in drawn(chart.spec, "line")]
    assert path == [
        (each.days, each.recall.value, each.invention.value)
        for each in moments
        if each.recall and each.invention
    ]
    assert [row[:3] for row in chart.rows] == [
        (each.checkpoint, each.days, each.recall and each.recall.value) for each in moments
    ]
    ends = [word["text"] for word in drawn(chart.spec, "text")]
    assert ends == [f"first: {moments[0].checkpoint}", f"last: {moments[-1].checkpoint}"]
    assert str(REPORT.hallucination.overall.pattern) in chart.title


def test_mixed_and_fixed_are_distinguished_and_are_the_reports() -> None:
    degradation = REPORT.degradation
    expected = [
        (view, each.checkpoint, each.days, *figures(scale_score(each.mean)))
        for view, points in (("mixed", degradation.mixed), ("fixed", degradation.fixed))
        for each in points
    ]
    chart = CHARTS["mixed-and-fixed-cohort"]

    assert list(chart.rows) == expected
    assert [(p["x"], p["y"]) for p in drawn(chart.spec, "line", "score-line")] == [
        (row[2], row[3]) for row in expected if row[0] == "mixed"
    ]
    assert [(p["x"], p["y"]) for p in drawn(chart.spec, "line", "other-line")] == [
        (row[2], row[3]) for row in expected if row[0] == "fixed"
    ]
    assert {word["text"] for word in drawn(chart.spec, "text")} == {"mixed", "fixed"}


@loop_over_rows("by", SurvivalGroup)
def test_survival_tables_are_the_curves_of_the_report(by: SurvivalGroup) -> None:
    chart = CHARTS["survival" if by is SurvivalGroup.ALL else f"survival-by-{by}"]
    groups = [each.survival for each in REPORT.degradation.survivals if each.by is by]

    tabled = [tuple(row[1:] for row in rows) for _, rows in groupby(chart.rows, lambda row: row[0])]
    assert tabled == [
        tuple((p.age, p.share, p.low, p.high, p.at_risk) for p in each.curve) for each in groups
    ]
    for view, each in zip(views(chart), groups, strict=True):
        line = {round(p["x"], 6): p["y"] for p in drawn(view, "line", "score-line")}
        assert all(line[p.age] == pytest.approx(p.share, abs=1e-12) for p in each.curve)
        marks = [p["x"] for p in drawn(view, "point", "ink-point")]
        assert marks == ([] if each.half_life.value is None else [each.half_life.value])


def test_the_parts_of_a_category_add_up_to_its_misses() -> None:
    chart = CHARTS["failures-by-category"]
    categories = REPORT.attribution.categories.values()

    assert [row[1:] for row in chart.rows] == [
        (*found.values(), sum(found.values())) for found in categories
    ]
    for row in chart.rows:
        parts = [part for part in drawn(chart.spec, "bar") if part["y"] == row[0]]
        assert [part["x2"] - part["x"] for part in parts] == [count for count in row[1:-1] if count]
        assert parts[0]["x"] == 0
        assert parts[-1]["x2"] == row[-1]


def test_costs_are_the_reports_in_units_the_panel_names() -> None:
    chart = CHARTS["costs-over-size"]
    points = REPORT.costs.points
    query = chart.columns.index("Query, 95th percentile (s)")
    size = chart.columns.index("Index (bytes)")

    assert [row[query] for row in chart.rows] == [each.query_p95_s for each in points]
    assert [row[size] for row in chart.rows] == [each.index_bytes for each in points]
    panels = {heading(view): view for view in views(chart)}
    assert [p["y"] for p in drawn(panels["Index (MB)"], "point")] == [
        (each.index_bytes or 0) / 1e6 for each in points
    ]
    assert [p["y"] for p in drawn(panels["Query, 95th percentile (ms)"], "point")] == [
        (each.query_p95_s or 0) / 1e-3 for each in points
    ]


def test_an_unpriced_call_is_not_free() -> None:
    def priced(point: CostPoint) -> CostPoint:
        return point.replace(query_usage=Usage(calls=3, input_tokens=5, cost_usd=0.2, unpriced=1))

    costs = REPORT.costs.replace(points=tuple(priced(each) for each in REPORT.costs.points))
    found = {chart.name: chart for chart in build_charts(REPORT.replace(costs=costs))}[
        "costs-over-size"
    ]

    assert "Models asked, price ($)" not in found.columns
    assert "Models asked, in (tokens)" in found.columns


def test_contenders_are_the_reports_and_the_frontier_leaves_out_the_dominated() -> None:
    pareto = REPORT.paretos[1]
    chart = CHARTS["score-against-tokens-an-answer"]

    assert chart.rows == tuple(
        (
            each.name,
            each.cost,
            *figures(scale_score(each.score))[:3],
            ", ".join(each.dominated_by),
        )
        for each in pareto.contenders
    )
    frontier = [(p["x"], p["y"]) for p in drawn(chart.spec, "line")]
    assert frontier == [
        (each.cost, figures(scale_score(each.score))[0])
        for each in pareto.contenders
        if not each.dominated_by
    ]
    assert [p["run"] for p in drawn(chart.spec, "point", "dimmed")] == ["full-context 2.1"]
    assert "full-context 2.1 by bm25 1.0" in chart.summary
    assert "dense" in " ".join(chart.spec["title"]["subtitle"])  # type: ignore[index]


def test_a_summary_quotes_the_figures_of_the_report() -> None:
    assert "starts at 7.0 %" in CHARTS["hallucination-over-size"].summary
    assert "negative recall 31 % (25–38)" in CHARTS["hallucination-by-category"].summary
    assert "all facts, 900 days (720 to beyond 950)" in CHARTS["survival"].summary


def test_a_checkpoint_planned_without_days_lies_where_the_run_found_it() -> None:
    """`full` is planned as more days than any history has."""
    report = sampled_report(3)
    last = report.heatmaps[0].columns[-1]
    full = Checkpoint(label=last.label, days=FULL)
    heatmaps = tuple(each.replace(columns=(*each.columns[:-1], full)) for each in report.heatmaps)

    found = build_charts(report.replace(heatmaps=heatmaps))

    assert [chart.rows for chart in found] == [chart.rows for chart in build_charts(report)]


def test_a_checkpoint_of_unknown_days_is_named_and_stretches_no_axis() -> None:
    report = sampled_report(3)
    full = Checkpoint(label="full", days=FULL)
    heatmaps = tuple(each.replace(columns=(*each.columns[:-1], full)) for each in report.heatmaps)

    curves = build_charts(report.replace(heatmaps=heatmaps))[0]

    values = [value for _, value in everything(curves.spec) if isinstance(value, int | float)]
    assert max(values) < FULL / 1e6
    assert "its days are not known: full" in " ".join(curves.spec["title"]["subtitle"])  # type: ignore[index]


def test_a_score_of_six_is_a_hundred_points() -> None:
    scaled = scale_score(estimate(3.0, 0.3, most=6))
    assert scaled is not None
    assert (scaled.value, scaled.low, scaled.high) == pytest.approx((50.0, 45.0, 56.0))
    assert scale_score(None) is None


def test_silence_and_ceiling_are_lines_in_every_panel() -> None:
    table = REPORT.heatmaps[0]
    bounds = [row.bounds for row in (table.total, *table.categories)]

    for panel, found in zip(views(CHARTS["category-curves"]), bounds, strict=True):
        assert found is not None
        assert found.ceiling is not None
        assert [line["y"] for line in drawn(panel, "rule", "reference")] == pytest.approx(
            [100 * found.floor / 6, 100 * found.ceiling / 6]
        )
