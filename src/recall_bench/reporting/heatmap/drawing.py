"""A picture of a run: one cell for each category at each checkpoint, and nothing invented.

A cell that was not measured is drawn as not measured. What a reader must know before
believing the picture (a stub judge, a run that is invalid or unfinished) is written into it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recall_bench.errors import UsageError
from recall_bench.replacement import replace_file
from recall_bench.reporting.heatmap.cells import HeatmapData, PictureCell
from recall_bench.reporting.heatmap.colour import ColourScale
from recall_bench.reporting.heatmap.picture import build_heatmap_spec

__all__ = ["ColourScale", "HeatmapData", "PictureCell", "draw_picture"]

_PNG_SCALE = 2
"""Pixels of a PNG for each point of the drawing."""


def draw_picture(
    data: HeatmapData, output: Path, scale: ColourScale = ColourScale.STANDARD
) -> None:
    """Write the picture as PNG, SVG or PDF, as the file's name says."""
    import vl_convert

    suffix = output.suffix.lower()
    if suffix not in {".png", ".svg", ".pdf"}:
        raise UsageError(f"{output}: a picture ends in .png, .svg or .pdf")
    chart = build_heatmap_spec(data, scale)
    if suffix == ".svg":
        image = _add_description(
            vl_convert.vegalite_to_svg(chart, allowed_base_urls=[]), chart
        ).encode()
    elif suffix == ".pdf":
        image = vl_convert.vegalite_to_pdf(chart, allowed_base_urls=[])
    else:
        image = vl_convert.vegalite_to_png(chart, scale=_PNG_SCALE, allowed_base_urls=[])
    replace_file(output, image)


def _add_description(svg: str, chart: Mapping[str, Any]) -> str:
    """The drawing with its title and text alternative where screen readers look for them.

    And with what each cell says when it is pointed at: clear sheets on top, for a drawing of
    Vega's has no place for it.
    """
    from xml.sax.saxutils import escape

    title, _, rest = str(chart["description"]).partition("\n")
    opening, closing, drawing = svg.partition(">")
    sheets = "".join(
        f'<rect x="{cell["x"]}" y="{cell["y"]}" width="{round(cell["x2"] - cell["x"], 2)}" '
        f'height="{round(cell["y2"] - cell["y"], 2)}"><title>{escape(cell["text"])}</title></rect>'
        for cell in chart["usermeta"]["hovers"]
    )
    body, end, after = drawing.rpartition("</svg>")
    return (
        f'{opening} role="img"{closing}<title>{escape(title)}</title><desc>{escape(rest)}</desc>'
        f'{body}<g fill="none" pointer-events="all">{sheets}</g>{end}{after}'
    )
