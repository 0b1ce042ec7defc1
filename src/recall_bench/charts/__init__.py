"""The pictures of a report."""

from recall_bench.charts.chart import Chart
from recall_bench.charts.drawing import draw_charts
from recall_bench.charts.gallery import build_charts
from recall_bench.charts.theme import ChartColours, ChartTheme, build_config

__all__ = ["Chart", "ChartColours", "ChartTheme", "build_charts", "build_config", "draw_charts"]
