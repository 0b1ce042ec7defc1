"""All charts of a report in order, and how they are drawn to files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recall_bench.reporting.charts.cost_charts import plot_costs, plot_pareto
from recall_bench.reporting.charts.failure_charts import plot_failures_by_category
from recall_bench.reporting.charts.hallucination_charts import (
    plot_category_rates,
    plot_rates_over_size,
    plot_recall_against_rate,
)
from recall_bench.reporting.charts.plane import Chart
from recall_bench.reporting.charts.score_charts import plot_categories, plot_cohorts
from recall_bench.reporting.charts.survival_charts import plot_survivals
from recall_bench.reporting.charts.theme import ChartColours, ChartTheme, build_config
from recall_bench.reporting.pictures import write_picture
from recall_bench.reporting.run_report import RunReport


def build_charts(report: RunReport) -> tuple[Chart, ...]:
    """Every chart that the report has figures for."""
    invented = report.hallucination
    has_time, has_marks = report.no_time is None, report.no_marks is None
    charts = [
        plot_categories(report) if has_time else None,
        plot_category_rates(invented) if has_marks else None,
        *(plot_rates_over_size(invented.overall) if has_time else ()),
        plot_recall_against_rate(invented.overall) if has_time else None,
        plot_cohorts(report.degradation) if has_time else None,
        *(plot_survivals(report.degradation) if has_time else ()),
        plot_failures_by_category(report.attribution),
        plot_costs(report.costs) if has_time else None,
        *(plot_pareto(pareto) for pareto in report.paretos),
    ]
    return tuple(chart for chart in charts if chart is not None)


_VIEW_WIDTH = 620
"""The width of a single view outside of a page."""


def draw_charts(
    report: RunReport,
    folder: Path,
    *,
    theme: ChartTheme = ChartTheme.LIGHT,
    colours: ChartColours = ChartColours.STANDARD,
) -> tuple[Path, ...]:
    """Write every chart of the report as PNG and SVG into the folder; the files written."""
    config = build_config(theme, colours)
    written: list[Path] = []
    for chart in build_charts(report):
        paths = folder / f"{chart.name}.png", folder / f"{chart.name}.svg"
        spec = freeze_chart(chart)
        write_picture(spec, *paths, title=chart.title, summary=chart.summary, config=config)
        written += paths
    return tuple(written)


def freeze_chart(chart: Chart) -> dict[str, object]:
    """The specification for a picture: of fixed width, and without invisible marks for tooltips."""
    spec = _drop_invisible(chart.spec)
    return spec | {"width": _VIEW_WIDTH} if spec.get("width") == "container" else spec


def _drop_invisible(spec: Mapping[str, Any]) -> dict[str, object]:
    if "concat" in spec:
        return {**spec, "concat": [_drop_invisible(panel) for panel in spec["concat"]]}
    return {
        **spec,
        "layer": [layer for layer in spec["layer"] if layer["mark"].get("opacity") != 0],
    }
