"""A run as a piece of HTML: the headline and the heatmap, for notebooks.

Styles stand in the elements, because a notebook keeps no style sheet and runs no script.
"""

from collections.abc import Iterator

from recall_bench.core.plain_text import clean_text
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.reporting.formats import SMALL_MARK, format_score
from recall_bench.reporting.headlines import (
    INVENTION_NOTE,
    LOW_CEILING_NOTE,
    WAY_NOTE,
    format_ceiling,
    has_low_ceiling,
)
from recall_bench.reporting.heatmap.colours import choose_ink
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData, PictureCell
from recall_bench.reporting.heatmap.heatmap_picture import (
    PictureRow,
    choose_fill,
    describe_cell,
    list_notices,
    list_picture_rows,
)
from recall_bench.reporting.pages.markup import Markup, make_element

_LABEL = "text-align:left;padding:2px 8px"
_CELL = "text-align:right;padding:2px 8px;min-width:3em"


def render_heatmap_table(data: HeatmapData) -> Markup:
    """The title, the headline, and the heatmap as a table."""
    return make_element("div", *_render_parts(data))


def _render_parts(data: HeatmapData) -> Iterator[Markup]:
    yield make_element("p", make_element("strong", clean_text(data.title)))
    for text, colour in list_notices(data):
        yield make_element("p", make_element("strong", text, style=f"color:{colour}"))
    if data.headline is not None:
        yield make_element("p", clean_text(data.headline), title=f"{WAY_NOTE}; {INVENTION_NOTE}")
    if data.invalid is None and data.columns:
        yield make_element(
            "div", make_element("table", *_render_rows(data)), style="overflow-x:auto"
        )
    small = [*_list_marks(data), *data.subtitle]
    yield make_element("p", make_element("small", clean_text(" · ".join(small))))


def _list_marks(data: HeatmapData) -> Iterator[str]:
    """What the marks beside figures mean, if there are any."""
    if any(cell.is_small for cell in data.all_cells):
        yield f"{SMALL_MARK} fewer than {FEW_QUESTIONS} questions: the interval is unreliable"
    if any(map(has_low_ceiling, data.bounds.values())):
        yield LOW_CEILING_NOTE


def _render_rows(data: HeatmapData) -> Iterator[Markup]:
    has_bounds = data.overall_bounds is not None
    heads = [*map(clean_text, data.columns), *(("silence", "ceiling") if has_bounds else ())]
    yield make_element(
        "tr",
        make_element("th", "points of 100", style=_LABEL),
        *(make_element("th", head, style=_CELL) for head in heads),
    )
    rows = list_picture_rows(data)
    for row in (*rows.categories, *rows.overall, *rows.rates):
        cells = [
            _render_cell(row, column, cell)
            for column, cell in zip(data.columns, row.cells, strict=True)
        ]
        name = f"{clean_text(row.label)}{', %' if row.is_rate else ''}"
        label = make_element("th", name, style=_LABEL)
        yield make_element("tr", label, *cells, *(_render_bounds(row) if has_bounds else ()))


def _render_cell(row: PictureRow, column: str, cell: PictureCell) -> Markup:
    words = clean_text(describe_cell(row, column, cell))
    fill = choose_fill(cell.score, is_rate=row.is_rate)
    if cell.score is None or fill is None:
        return make_element("td", "", style=_CELL, title=words)
    mark = SMALL_MARK if cell.is_small else ""
    figure = f"{cell.score:.{1 if row.is_rate else 0}f}{mark}"
    style = f"{_CELL};background:{fill};color:{choose_ink(fill)}"
    return make_element("td", figure, style=style, title=words)


def _render_bounds(row: PictureRow) -> Iterator[Markup]:
    floor = "" if row.bounds is None else format_score(row.bounds.floor)
    ceiling = "" if row.bounds is None else format_ceiling(row.bounds)
    for figure in (floor, ceiling):
        yield make_element("td", figure, style=f"{_CELL};opacity:0.7")
