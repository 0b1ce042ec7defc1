"""A run as a piece of HTML: the headline and the heatmap, for notebooks.

Styles stand in the elements, because a notebook keeps no style sheet and runs no script.
"""

from collections.abc import Iterator

from recall_bench.core.plain_text import clean_text
from recall_bench.engine.runs.heatmap_rows import Row
from recall_bench.metrics.estimate import FEW_QUESTIONS, Estimate
from recall_bench.reporting.formats import SMALL_MARK, format_score
from recall_bench.reporting.headlines import (
    INVENTION_NOTE,
    LOW_CEILING_NOTE,
    WAY_NOTE,
    format_ceiling,
    has_low_ceilings,
)
from recall_bench.reporting.heatmap.colours import choose_ink
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData
from recall_bench.reporting.heatmap.heatmap_picture import (
    choose_fill,
    describe_cell,
    label_rows,
    list_notices,
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
    if data.invalid is None and data.table.columns:
        yield make_element(
            "div", make_element("table", *_render_rows(data)), style="overflow-x:auto"
        )
    small = [*_list_marks(data), *data.subtitle]
    yield make_element("p", make_element("small", clean_text(" · ".join(small))))


def _list_marks(data: HeatmapData) -> Iterator[str]:
    """What the marks beside figures mean, if there are any."""
    if data.table.has_small:
        yield f"{SMALL_MARK} fewer than {FEW_QUESTIONS} questions: the interval is unreliable"
    if has_low_ceilings(data.table):
        yield LOW_CEILING_NOTE
    yield from data.table.iterate_notes()


def _render_rows(data: HeatmapData) -> Iterator[Markup]:
    table = data.table
    columns = [clean_text(column.label) for column in table.columns]
    has_bounds = table.total.bounds is not None
    heads = [*columns, *(("silence", "ceiling") if has_bounds else ())]
    yield make_element(
        "tr",
        make_element("th", table.total.scale.head, style=_LABEL),
        *(make_element("th", head, style=_CELL) for head in heads),
    )
    for label, row in zip(label_rows(table.shown), table.shown, strict=True):
        cells = [
            _render_cell(clean_text(describe_cell(label, row, place, data)), row, mean)
            for place, mean in enumerate(row.cells)
        ]
        name = make_element("th", clean_text(label), style=_LABEL)
        yield make_element("tr", name, *cells, *(_render_bounds(row) if has_bounds else ()))


def _render_cell(words: str, row: Row, mean: Estimate | None) -> Markup:
    if mean is None:
        return make_element("td", "", style=_CELL, title=words)
    fill = choose_fill(row, mean.value)
    figure = row.scale.format_short(mean.value) + (SMALL_MARK if mean.is_small else "")
    style = f"{_CELL};background:{fill};color:{choose_ink(fill)}"
    return make_element("td", figure, style=style, title=words)


def _render_bounds(row: Row) -> Iterator[Markup]:
    floor = "" if row.bounds is None else format_score(row.bounds.floor)
    ceiling = "" if row.bounds is None else format_ceiling(row.bounds)
    for figure in (floor, ceiling):
        yield make_element("td", figure, style=f"{_CELL};opacity:0.7")
