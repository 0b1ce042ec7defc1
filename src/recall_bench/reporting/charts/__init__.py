"""The pictures of a report."""

from recall_bench.reporting.charts.gallery import build_charts, draw_charts
from recall_bench.reporting.charts.plane import Chart
from recall_bench.reporting.charts.theme import ChartColours, ChartTheme, build_config

__all__ = ["Chart", "ChartColours", "ChartTheme", "build_charts", "build_config", "draw_charts"]
