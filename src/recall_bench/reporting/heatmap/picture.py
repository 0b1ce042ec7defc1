"""The heatmap as a chart: where everything goes and what colour it is."""

from collections.abc import Iterator, Mapping, Sequence

from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.heatmap.canvas import (
    Canvas,
    make_box,
    make_text,
    measure_text,
    plain,
    wrap_text,
)
from recall_bench.reporting.heatmap.cells import HeatmapData, PictureCell
from recall_bench.reporting.heatmap.colour import ColourScale, choose_ink, colour_rate, colour_score
from recall_bench.reporting.heatmap.inks import (
    ALARM,
    DASH,
    INK,
    MUTED,
    NO_DATA_FILL,
    NOT_YET,
    NOT_YET_BORDER,
    RULE,
    SMALL_HEIGHT,
    WARNING,
)
from recall_bench.reporting.heatmap.legend import HeatmapLegend
from recall_bench.reporting.heatmap.wording import (
    MEAN_SIZE,
    SMALL_SIZE,
    CellText,
    choose_cell_text,
    describe_hover,
    list_details,
)

_MARGIN, _GUTTER = 28.0, 14.0
_PLOT, _PLOT_MOST, _LEAST = 1120.0, 2400.0, 760.0
_CELL_LEAST, _CELL_MOST = 7.6, 118.0
_HEIGHTS = {
    CellText.LINE: 38.0,
    CellText.LINES: 48.0,
    CellText.COUNT: 36.0,
    CellText.NOTHING: 25.0,
}

_PictureBox = Mapping[str, object]


def build_heatmap_spec(
    data: HeatmapData, scale: ColourScale = ColourScale.STANDARD
) -> dict[str, object]:
    """The Vega-Lite chart of a heatmap; `usermeta` has what each cell says when pointed at."""
    return _HeatmapPicture(data, scale).build_chart()


class _HeatmapPicture:
    def __init__(self, data: HeatmapData, scale: ColourScale) -> None:
        self._data = data
        self._scale = scale
        self._canvas = Canvas()
        self._hovers: list[dict[str, object]] = []
        columns = max(1, len(data.columns))
        least = min(_CELL_LEAST, _PLOT_MOST / columns)
        self._cell = max(least, min(_CELL_MOST, _PLOT / columns))
        points = [cell for row in (*data.cells, data.overall) for cell in row]
        self._how = choose_cell_text(points, data.hallucination, self._cell)
        self._has_words = self._how is not CellText.NOTHING
        self._row = _HEIGHTS[self._how]
        self._gap = 2.0 if self._has_words else min(1.0, self._cell / 7)
        labels = [_format_label(name) for name in data.categories] + ["Hallucination"]
        self._left = _MARGIN + max(measure_text(label, 13) for label in labels) + _GUTTER
        plotted = self._left + columns * self._cell + _MARGIN
        self._width = max(plotted, _LEAST)
        self._y = _MARGIN

    def build_chart(self) -> dict[str, object]:
        self._draw_heading()
        self._draw_notices()
        for name, row in zip(self._data.categories, self._data.cells, strict=True):
            self._draw_label(_format_label(name))
            self._draw_cells(_format_label(name), row, is_rate=False)
        self._y += 12
        self._draw_label("Overall", is_bold=True)
        self._draw_cells("Overall", self._data.overall, is_rate=False)
        self._y += 12
        self._draw_label("Hallucination", unit="% of judged answers")
        self._draw_cells("Hallucination", self._data.hallucination, is_rate=True)
        self._draw_axis()
        self._draw_legend()
        chart = self._canvas.build_chart(
            self._width, self._y + _MARGIN, _describe_heatmap(self._data)
        )
        return chart | {"usermeta": {"hovers": self._hovers}}

    def _draw_heading(self) -> None:
        room = self._width - 2 * _MARGIN
        for line in wrap_text(self._data.title, 21, room):
            self._y += 13
            self._canvas.draw_text([make_text(_MARGIN, self._y, line)], (21, True, "left", INK))
            self._y += 13
        self._y += 4
        for text in self._data.subtitle:
            for line in wrap_text(text, 13, room):
                self._y += 9.5
                self._canvas.draw_text(
                    [make_text(_MARGIN, self._y, line)], (13, False, "left", MUTED)
                )
                self._y += 9.5
        self._y += 10

    def _draw_notices(self) -> None:
        room = self._width - 2 * _MARGIN
        for text, colour in _list_notices(self._data):
            lines = wrap_text(text, 14, room - 24)
            height = 10.0 + 18 * len(lines)
            frame = make_box(_MARGIN, self._y, room, height, colour)
            self._canvas.draw_boxes([frame], radius=4)
            words = [
                make_text(_MARGIN + 12, self._y + 14 + 18 * i, line) for i, line in enumerate(lines)
            ]
            self._canvas.draw_text(words, (14, True, "left", choose_ink(colour)))
            self._y += height + 6
        self._y += 8

    def _draw_cells(self, label: str, row: Sequence[PictureCell], *, is_rate: bool) -> None:
        outlines = [self._build_span(first, last, NOT_YET) for first, last in _find_gaps(row)]
        self._canvas.draw_boxes(outlines, radius=2, border=NOT_YET_BORDER)
        fills = {
            i: self._choose_fill(cell.score, is_rate) for i, cell in enumerate(row) if cell.count
        }
        self._draw_gaps(row)
        radius = 2 if self._has_words else 0
        self._canvas.draw_boxes(
            [self._build_box(i, row[i], fill) for i, fill in fills.items()], radius=radius
        )
        if self._has_words:
            self._draw_words(row, fills, is_rate=is_rate)
            corners = [self._build_corner(i, fill) for i, fill in fills.items() if row[i].is_small]
            self._canvas.draw_corners(corners, side=max(4.5, min(8.0, self._cell / 8)))
        for i, cell in enumerate(row):
            words = describe_hover(label, self._data.columns[i], cell, is_rate=is_rate)
            self._hovers.append({**self._build_span(i, i, ""), "text": plain(words)})
        self._y += self._row

    def _choose_fill(self, score: float | None, is_rate: bool) -> str:
        if score is None:
            return NO_DATA_FILL
        if is_rate:
            return colour_rate(score / 100, self._scale)
        return colour_score(score, FULL_MARKS, self._scale)

    def _draw_gaps(self, row: Sequence[PictureCell]) -> None:
        places = [i for i, cell in enumerate(row) if cell.score is None and not _is_not_yet(cell)]
        radius = 2 if self._has_words else 0
        self._canvas.draw_boxes(
            [self._build_span(i, i, NO_DATA_FILL) for i in places], radius=radius
        )
        # Grey alone is a score to some eyes.
        long = min(10.0, self._cell / 2)
        middle = self._y + self._row / 2
        dashes = [
            make_box(self._find_middle(i) - long / 2, middle - 0.8, long, 1.6, DASH) for i in places
        ]
        self._canvas.draw_boxes(dashes)

    def _build_box(self, column: int, cell: PictureCell, fill: str) -> _PictureBox:
        whole = self._build_span(column, column, fill)
        if self._has_words or not cell.is_small:
            return whole
        height = (self._row - self._gap) * SMALL_HEIGHT
        width = self._cell - self._gap
        x = self._left + column * self._cell + self._gap / 2
        return make_box(x, self._y + (self._row - height) / 2, width, height, fill)

    def _build_corner(self, column: int, fill: str) -> dict[str, object]:
        x = self._left + (column + 1) * self._cell - self._gap / 2
        return {"x": round(x, 2), "y": round(self._y + self._gap / 2, 2), "fill": choose_ink(fill)}

    def _draw_words(
        self, row: Sequence[PictureCell], fills: Mapping[int, str], *, is_rate: bool
    ) -> None:
        means: list[_PictureBox] = []
        smalls: list[_PictureBox] = []
        texts = _format_values({i: row[i].score for i in fills}, self._cell, is_rate=is_rate)
        for i, fill in fills.items():
            lines = list_details(row[i], self._how, self._cell, is_rate=is_rate)
            top = self._y + self._row / 2 - 6 * len(lines)
            colour = {"fill": choose_ink(fill)}
            means.append(make_text(self._find_middle(i), top, texts[i]) | colour)
            smalls += [
                make_text(self._find_middle(i), top + 14 + 11.5 * place, line) | colour
                for place, line in enumerate(lines)
            ]
        self._canvas.draw_text(means, (MEAN_SIZE, True, "center", INK))
        self._canvas.draw_text(smalls, (SMALL_SIZE, False, "center", INK))

    def _draw_label(self, label: str, *, is_bold: bool = False, unit: str | None = None) -> None:
        x, y = self._left - _GUTTER, self._y + self._row / 2
        up = 0 if unit is None else 6
        self._canvas.draw_text([make_text(x, y - up, label)], (13, is_bold, "right", INK))
        if unit is not None:
            self._canvas.draw_text([make_text(x, y + 9, unit)], (10, False, "right", MUTED))

    def _draw_axis(self) -> None:
        top, labels = self._y + 4, self._data.columns
        shown = select_labels([measure_text(label, 11.5) for label in labels], self._cell)
        ticks = [make_box(self._find_middle(i) - 0.5, top, 1, 5, RULE) for i in shown]
        self._canvas.draw_boxes(ticks)
        words = [make_text(self._find_middle(i), top + 14, labels[i]) for i in shown]
        self._canvas.draw_text(words, (11.5, False, "center", INK))
        caption = make_text(self._left - _GUTTER, top + 14, "checkpoint")
        self._canvas.draw_text([caption], (11.5, False, "right", MUTED))
        self._y = top + 44

    def _draw_legend(self) -> None:
        rule = make_box(_MARGIN, self._y - 14, self._width - 2 * _MARGIN, 1, "#d0d7de")
        self._canvas.draw_boxes([rule])
        legend = HeatmapLegend(
            data=self._data,
            scale=self._scale,
            how=self._how,
            left=_MARGIN,
            right=self._width - _MARGIN,
        )
        self._y = legend.draw(self._canvas, self._y)

    def _find_middle(self, column: int) -> float:
        return self._left + (column + 0.5) * self._cell

    def _build_span(self, first: int, last: int, fill: str) -> _PictureBox:
        x = self._left + first * self._cell + self._gap / 2
        width = (last - first + 1) * self._cell - self._gap
        return make_box(x, self._y + self._gap / 2, width, self._row - self._gap, fill)


def select_labels(widths: Sequence[float], step: float) -> list[int]:
    """Which labels to show so that none touches the next: every so manyth, and the last."""
    if not widths:
        return []
    last, room = len(widths) - 1, max(widths) + 10
    every = max(1, -int(-room // step))
    shown = [i for i in range(0, last, every) if (last - i) * step >= room]
    return [*shown, last]


def _find_gaps(row: Sequence[PictureCell]) -> Iterator[tuple[int, int]]:
    """First and last column of each unbroken stretch with no question eligible yet."""
    start: int | None = None
    for i, cell in enumerate(row):
        if _is_not_yet(cell) and start is None:
            start = i
        elif not _is_not_yet(cell) and start is not None:
            yield start, i - 1
            start = None
    if start is not None:
        yield start, len(row) - 1


def _is_not_yet(cell: PictureCell) -> bool:
    return cell.score is None and cell.eligible == 0


def _list_notices(data: HeatmapData) -> Iterator[tuple[str, str]]:
    if data.is_stub:
        yield "STUB JUDGE: scores mean nothing", ALARM
    if data.invalid is not None:
        yield f"INVALID: {data.invalid}", ALARM
    if data.done < data.visits:
        yield f"UNFINISHED: {data.done} of {data.visits} checkpoints", WARNING


def _describe_heatmap(data: HeatmapData) -> str:
    """The title on a line of its own, then what the picture says in words."""
    means = [
        f"{label} {_describe_cell(cell)}"
        for label, cell in zip(data.columns, data.overall, strict=True)
    ]
    notices = [text for text, _ in _list_notices(data)]
    rest = ". ".join([*data.subtitle, *notices, f"Overall: {', '.join(means)}"])
    return f"{plain(data.title)}\n{plain(rest)}"


def _describe_cell(cell: PictureCell) -> str:
    if cell.score is None:
        return "not measured"
    if cell.low is None or cell.high is None:
        return f"{cell.score:.1f}"
    return f"{cell.score:.1f} ({cell.low:.1f} to {cell.high:.1f})"


def _format_values(
    scores: Mapping[int, float | None], room: float, *, is_rate: bool
) -> dict[int, str]:
    """All values alike; rates to a tenth with their unit where that fits, else to the whole."""
    known = {i: score for i, score in scores.items() if score is not None}
    if not is_rate:
        return {i: f"{score:.1f}" for i, score in known.items()}
    precise = {i: f"{score:.1f} %" for i, score in known.items()}
    if all(measure_text(text, MEAN_SIZE) < room - 4 for text in precise.values()):
        return precise
    return {i: f"{score:.0f}" for i, score in known.items()}


def _format_label(category: str) -> str:
    words = category.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]
