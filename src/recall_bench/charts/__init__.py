"""The pictures of a report."""

from recall_bench.charts.chart import Chart
from recall_bench.charts.drawing import draw_charts
from recall_bench.charts.gallery import charts_of
from recall_bench.charts.theme import Colours, Theme, config_of

__all__ = ["Chart", "Colours", "Theme", "charts_of", "config_of", "draw_charts"]
