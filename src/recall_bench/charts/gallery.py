"""All the charts of a report, in the order they are shown."""

from recall_bench.analysis.report.views import RunReport
from recall_bench.charts.attribution import plot_failures, plot_failures_by_category
from recall_bench.charts.categories import plot_categories
from recall_bench.charts.chart import Chart
from recall_bench.charts.costs import plot_costs
from recall_bench.charts.degradation import plot_cohorts
from recall_bench.charts.hallucination import plot_category_rates, plot_persona_rates
from recall_bench.charts.outlook import plot_rate_over_size
from recall_bench.charts.pareto import plot_pareto
from recall_bench.charts.pathway import plot_recall_against_rate
from recall_bench.charts.survival import plot_survivals


def build_charts(report: RunReport) -> tuple[Chart, ...]:
    """Every chart the report has figures for; one without figures is left out."""
    invented = report.hallucination
    found = [
        plot_categories(report),
        plot_category_rates(invented),
        plot_rate_over_size(invented.overall),
        plot_recall_against_rate(invented.overall),
        plot_persona_rates(invented),
        plot_cohorts(report.degradation),
        *plot_survivals(report.degradation),
        plot_failures(report.attribution),
        plot_failures_by_category(report.attribution),
        plot_costs(report.costs),
        *(plot_pareto(each) for each in report.paretos),
    ]
    return tuple(chart for chart in found if chart is not None)
