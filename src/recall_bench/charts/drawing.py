"""Charts as files: PNG for documents, SVG for pages and print."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from recall_bench.analysis.report.views import RunReport
from recall_bench.charts.chart import Chart
from recall_bench.charts.gallery import build_charts
from recall_bench.charts.theme import ChartColours, ChartTheme, build_config
from recall_bench.replacement import replace_file

_PNG_SCALE = 2
"""Pixels of a PNG for each point of the drawing."""
_VIEW_WIDTH = 620
"""How wide the one view of a chart is where it is not fitted to a page."""


def draw_charts(
    report: RunReport,
    folder: Path,
    *,
    theme: ChartTheme = ChartTheme.LIGHT,
    colours: ChartColours = ChartColours.STANDARD,
) -> tuple[Path, ...]:
    """Write every chart of the report as PNG and SVG into the folder; the files written."""
    import vl_convert

    config = build_config(theme, colours)
    written = []
    for chart in build_charts(report):
        png, svg = folder / f"{chart.name}.png", folder / f"{chart.name}.svg"
        drawing = vl_convert.vegalite_to_svg(
            freeze_chart(chart), config=config, allowed_base_urls=[]
        )
        replace_file(png, vl_convert.svg_to_png(drawing, scale=_PNG_SCALE))
        replace_file(svg, _add_description(drawing, chart).encode())
        written += [png, svg]
    return tuple(written)


def freeze_chart(chart: Chart) -> dict[str, object]:
    """The specification for a picture: as wide as a number says, and without what only moves.

    Outside a page there is no container to fill, and nobody to point at anything.
    """
    spec = _drop_invisible(chart.spec)
    return spec | {"width": _VIEW_WIDTH} if spec.get("width") == "container" else spec


def _drop_invisible(spec: Mapping[str, Any]) -> dict[str, object]:
    if "concat" in spec:
        return {**spec, "concat": [_drop_invisible(panel) for panel in spec["concat"]]}
    return {**spec, "layer": [each for each in spec["layer"] if each["mark"].get("opacity") != 0]}


def _add_description(svg: str, chart: Chart) -> str:
    """The drawing with its title and text alternative where screen readers look for them."""
    opening, closing, drawing = svg.partition(">")
    return (
        f'{opening} role="img"{closing}<title>{escape(chart.title)}</title>'
        f"<desc>{escape(chart.summary)}</desc>{drawing}"
    )
