"""All the charts of a report, in the order they are shown."""

from recall_bench.analysis.report.views import Report
from recall_bench.charts.attribution import failure_tree, failures_by_category
from recall_bench.charts.categories import category_curves
from recall_bench.charts.chart import Chart
from recall_bench.charts.costs import costs_over_size
from recall_bench.charts.degradation import mixed_and_fixed
from recall_bench.charts.hallucination import rates_by_category, rates_by_persona
from recall_bench.charts.outlook import rate_over_size
from recall_bench.charts.pareto import pareto_chart
from recall_bench.charts.pathway import recall_against_rate
from recall_bench.charts.survival import survival_charts


def charts_of(report: Report) -> tuple[Chart, ...]:
    """Every chart the report has figures for; one without figures is left out."""
    invented = report.hallucination
    found = [
        category_curves(report),
        rates_by_category(invented),
        rate_over_size(invented.overall),
        recall_against_rate(invented.overall),
        rates_by_persona(invented),
        mixed_and_fixed(report.degradation),
        *survival_charts(report.degradation),
        failure_tree(report.attribution),
        failures_by_category(report.attribution),
        costs_over_size(report.costs),
        *(pareto_chart(each) for each in report.paretos),
    ]
    return tuple(chart for chart in found if chart is not None)
