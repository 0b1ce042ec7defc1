"""Charts as files: PNG for documents, SVG for pages and print."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from recall_bench.analysis.report.views import Report
from recall_bench.charts.chart import Chart
from recall_bench.charts.gallery import charts_of
from recall_bench.charts.theme import Colours, Theme, config_of
from recall_bench.replacement import replace_file

_PIXELS = 2
"""Pixels of a PNG for each point of the drawing."""
_WIDTH = 620
"""How wide the one view of a chart is where it is not fitted to a page."""


def draw_charts(
    report: Report,
    folder: Path,
    *,
    theme: Theme = Theme.LIGHT,
    colours: Colours = Colours.STANDARD,
) -> tuple[Path, ...]:
    """Write every chart of the report as PNG and SVG into the folder; the files written."""
    import vl_convert

    config = config_of(theme, colours)
    written = []
    for chart in charts_of(report):
        png, svg = folder / f"{chart.name}.png", folder / f"{chart.name}.svg"
        drawing = vl_convert.vegalite_to_svg(still(chart), config=config, allowed_base_urls=[])
        replace_file(png, vl_convert.svg_to_png(drawing, scale=_PIXELS))
        replace_file(svg, _spoken(drawing, chart).encode())
        written += [png, svg]
    return tuple(written)


def still(chart: Chart) -> dict[str, object]:
    """The specification for a picture: as wide as a number says, and without what only moves.

    Outside a page there is no container to fill, and nobody to point at anything.
    """
    spec = _seen(chart.spec)
    return spec | {"width": _WIDTH} if spec.get("width") == "container" else spec


def _seen(spec: Mapping[str, Any]) -> dict[str, object]:
    if "concat" in spec:
        return {**spec, "concat": [_seen(panel) for panel in spec["concat"]]}
    return {**spec, "layer": [each for each in spec["layer"] if each["mark"].get("opacity") != 0]}


def _spoken(svg: str, chart: Chart) -> str:
    """The drawing with its title and text alternative where screen readers look for them."""
    opening, closing, drawing = svg.partition(">")
    return (
        f'{opening} role="img"{closing}<title>{escape(chart.title)}</title>'
        f"<desc>{escape(chart.summary)}</desc>{drawing}"
    )
