"""What charts say of figures is what texts and pages say of them."""

import pytest

from recall_bench.metrics.trend import Coefficient
from recall_bench.reporting.analyses.attribution import LEAF_TITLES
from recall_bench.reporting.charts import chart_text
from recall_bench.reporting.charts.cost_charts import plot_pareto
from recall_bench.reporting.charts.hallucination_charts import plot_rates_over_size
from recall_bench.reporting.charts.score_charts import plot_cohorts
from tests.reporting.charts.spec_reader import CHARTS, REPORT

LEVEL = Coefficient(value=-1e-9, low=-2e-9, high=2e-9)


def test_a_level_line_has_no_sign() -> None:
    found = REPORT.degradation
    assert found.mixed_trend is not None
    chart = plot_cohorts(found.replace(mixed_trend=found.mixed_trend.replace(slope=LEVEL)))
    assert chart is not None

    assert "0.00 points of 100 in 100 days (0.00 to 0.00)" in chart.summary
    assert "-0.00" not in chart.summary


def test_a_level_rate_has_no_sign() -> None:
    course = REPORT.hallucination.overall
    assert course.inventions is not None
    line = course.inventions.replace(slope=LEVEL, intercept=LEVEL)
    chart, _ = plot_rates_over_size(course.replace(inventions=line))
    assert chart is not None

    assert chart.summary.startswith(
        "Invented, over corpus size: it starts at 0 % (0.0–0.0) and changes by 0.00 points "
        "of 100 in 100 days "
        "(0.00 to 0.00)."
    )


def test_a_slope_without_an_interval_says_so() -> None:
    slope = Coefficient(value=-0.002, low=None, high=None)

    said = chart_text.format_change(slope, scale=1, unit=" points")

    assert said == "-0.20 points in 100 days (no interval)"


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.1, 0.2, " (10–20)"), (-0.1, 0.2, " (-10 to 20)"), (-0.001, 0.2, " (0–20)")],
)
def test_a_span_below_nothing_is_read_as_one(low: float, high: float, said: str) -> None:
    assert chart_text.format_span(low, high, scale=100) == said


def test_charts_call_leaves_what_the_page_calls_them() -> None:
    assert CHARTS["failures-by-category"].columns[1:-1] == tuple(LEAF_TITLES.values())


def test_a_run_costs_what_the_text_says() -> None:
    (tokens,) = (each for each in REPORT.paretos if each.measure == "tokens-an-answer")
    chart = plot_pareto(tokens)
    assert chart is not None

    assert "recency 1.0 scores 32 (28–36) for 300 tokens an answer" in chart.summary


def test_a_half_life_beyond_the_data_has_a_lower_bound() -> None:
    summary = CHARTS["survival-by-category"].summary

    assert "beyond 950 days (from 848)" in summary
    assert "beyond 950 days, " in summary
