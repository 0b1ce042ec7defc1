"""A picture of a run: one cell for each category at each checkpoint, and nothing invented.

A cell that was not measured is drawn as not measured. What a reader must know before
believing the picture (a stub judge, a run that is invalid or unfinished) is written into it.
"""

from collections.abc import Mapping
from pathlib import Path

from recall_bench.errors import UsageError
from recall_bench.replacement import replace_file
from recall_bench.reporting.heatmap.cells import Cell, HeatmapData
from recall_bench.reporting.heatmap.picture import specification

__all__ = ["Cell", "HeatmapData", "draw"]

_PIXELS = 2
"""Pixels of a PNG for each point of the drawing."""


def draw(data: HeatmapData, output: Path) -> None:
    """Write the picture as PNG, SVG or PDF, as the file's name says."""
    import vl_convert

    suffix = output.suffix.lower()
    if suffix not in {".png", ".svg", ".pdf"}:
        raise UsageError(f"{output}: a picture ends in .png, .svg or .pdf")
    chart = specification(data)
    if suffix == ".svg":
        image = _spoken(vl_convert.vegalite_to_svg(chart, allowed_base_urls=[]), chart).encode()
    elif suffix == ".pdf":
        image = vl_convert.vegalite_to_pdf(chart, allowed_base_urls=[])
    else:
        image = vl_convert.vegalite_to_png(chart, scale=_PIXELS, allowed_base_urls=[])
    replace_file(output, image)


def _spoken(svg: str, chart: Mapping[str, object]) -> str:
    """The drawing with its title and text alternative where screen readers look for them."""
    from xml.sax.saxutils import escape

    title, _, rest = str(chart["description"]).partition("\n")
    opening, closing, drawing = svg.partition(">")
    return (
        f'{opening} role="img"{closing}<title>{escape(title)}</title>'
        f"<desc>{escape(rest)}</desc>{drawing}"
    )
