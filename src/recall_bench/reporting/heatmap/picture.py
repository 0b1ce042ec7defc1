"""The heatmap as a chart: where everything goes and what colour it is."""

from collections.abc import Iterator, Mapping, Sequence

from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.heatmap.canvas import Canvas, plain, width_of, wrapped
from recall_bench.reporting.heatmap.cells import Cell, HeatmapData
from recall_bench.reporting.heatmap.colour import hallucination_colour, ink, score_colour, spread

INK, MUTED, RULE = "#1b1f24", "#4d5762", "#8b949e"
NO_DATA, NOT_YET, NOT_YET_BORDER = "#b3b9c2", "#f3f5f8", "#9aa4b0"
ALARM, WARNING = "#b42318", "#8a5a00"

FEW = 3
"""A mean over so few trials says little: where the count has no room, a dot marks the cell."""

_MARGIN, _GUTTER = 28.0, 14.0
_PLOT, _PLOT_MOST, _LEAST = 1120.0, 2400.0, 760.0
_CELL_LEAST, _CELL_MOST = 7.6, 118.0
_WORDS_FROM = 25.0
"""Cells at least so wide hold their mean and count."""

_Box = Mapping[str, object]


def specification(data: HeatmapData) -> dict[str, object]:
    """The Vega-Lite chart of a heatmap."""
    return _Picture(data).chart()


class _Picture:
    def __init__(self, data: HeatmapData) -> None:
        self._data = data
        self._canvas = Canvas()
        columns = max(1, len(data.columns))
        least = min(_CELL_LEAST, _PLOT_MOST / columns)
        self._cell = max(least, min(_CELL_MOST, _PLOT / columns))
        self._has_words = self._cell >= _WORDS_FROM
        self._row = 36.0 if self._has_words else 25.0
        self._gap = 2.0 if self._has_words else min(1.0, self._cell / 7)
        labels = [_row_label(name) for name in data.categories] + ["Hallucination"]
        self._left = _MARGIN + max(width_of(label, 13) for label in labels) + _GUTTER
        plotted = self._left + columns * self._cell + _MARGIN
        self._width = max(plotted, _LEAST)
        self._y = _MARGIN

    def chart(self) -> dict[str, object]:
        self._heading()
        self._notices()
        for name, row in zip(self._data.categories, self._data.cells, strict=True):
            self._score_row(_row_label(name), row)
        self._y += 12
        self._score_row("Overall", self._data.overall, is_bold=True)
        self._y += 12
        self._hallucination_row()
        self._axis()
        self._legend()
        return self._canvas.chart(self._width, self._y + _MARGIN, _description(self._data))

    def _heading(self) -> None:
        room = self._width - 2 * _MARGIN
        for line in wrapped(self._data.title, 21, room):
            self._y += 13
            self._canvas.words([_at(_MARGIN, self._y, line)], (21, True, "left", INK))
            self._y += 13
        self._y += 4
        for text in self._data.subtitle:
            for line in wrapped(text, 13, room):
                self._y += 9.5
                self._canvas.words([_at(_MARGIN, self._y, line)], (13, False, "left", MUTED))
                self._y += 9.5
        self._y += 10

    def _notices(self) -> None:
        room = self._width - 2 * _MARGIN
        for text, colour in _notices(self._data):
            lines = wrapped(text, 14, room - 24)
            height = 10.0 + 18 * len(lines)
            box = _box(_MARGIN, self._y, room, height, colour)
            self._canvas.boxes([box], radius=4)
            words = [_at(_MARGIN + 12, self._y + 14 + 18 * i, line) for i, line in enumerate(lines)]
            self._canvas.words(words, (14, True, "left", ink(colour)))
            self._y += height + 6
        self._y += 8

    def _score_row(self, label: str, row: Sequence[Cell], *, is_bold: bool = False) -> None:
        self._label(label, is_bold=is_bold)
        self._outlines(row)
        fills = {
            i: NO_DATA if cell.score is None else score_colour(cell.score, FULL_MARKS)
            for i, cell in enumerate(row)
            if not _is_not_yet(cell)
        }
        boxes = [self._span(i, i, fill) for i, fill in fills.items()]
        self._canvas.boxes(boxes, radius=2 if self._has_words else 0)
        if self._has_words:
            self._cell_words(row, fills)
        else:
            dots = [
                {"x": self._middle(i), "y": self._y + self._row / 2, "fill": ink(fill)}
                for i, fill in fills.items()
                if row[i].score is not None and row[i].count <= FEW
            ]
            self._canvas.dots(dots, size=7)
        self._y += self._row

    def _outlines(self, row: Sequence[Cell]) -> None:
        boxes = [self._span(first, last, NOT_YET) for first, last in _runs(row)]
        self._canvas.boxes(boxes, radius=2, border=NOT_YET_BORDER)

    def _cell_words(self, row: Sequence[Cell], fills: Mapping[int, str]) -> None:
        middle = self._y + self._row / 2
        means, counts = [], []
        for i, fill in fills.items():
            score, colour = row[i].score, {"fill": ink(fill)}
            if score is not None:
                means.append(_at(self._middle(i), middle - 6, f"{score:.1f}") | colour)
                counts.append(_at(self._middle(i), middle + 8, self._count(row[i].count)) | colour)
        self._canvas.words(means, (12.5, True, "center", INK))
        self._canvas.words(counts, (9.5, False, "center", INK))

    def _count(self, count: int) -> str:
        spelt = f"n {count}"
        return spelt if width_of(spelt, 9.5) < self._cell - 6 else str(count)

    def _hallucination_row(self) -> None:
        self._label("Hallucination", is_bold=False, unit="% of judged answers")
        rates = {i: rate for i, rate in enumerate(self._data.hallucination) if rate is not None}
        fills = {i: hallucination_colour(rate / 100) for i, rate in rates.items()}
        self._outlines(self._data.overall)
        boxes = [
            self._span(i, i, fills.get(i, NO_DATA))
            for i, cell in enumerate(self._data.overall)
            if not _is_not_yet(cell)
        ]
        self._canvas.boxes(boxes, radius=2 if self._has_words else 0)
        if self._has_words:
            texts = _percents(rates, self._cell)
            middle = self._y + self._row / 2
            words = [
                _at(self._middle(i), middle, text) | {"fill": ink(fills[i])}
                for i, text in texts.items()
            ]
            self._canvas.words(words, (11.5, False, "center", INK))
        self._y += self._row

    def _label(self, label: str, *, is_bold: bool, unit: str | None = None) -> None:
        x, y = self._left - _GUTTER, self._y + self._row / 2
        up = 0 if unit is None else 6
        self._canvas.words([_at(x, y - up, label)], (13, is_bold, "right", INK))
        if unit is not None:
            self._canvas.words([_at(x, y + 9, unit)], (10, False, "right", MUTED))

    def _axis(self) -> None:
        top, labels = self._y + 4, self._data.columns
        shown = thinned([width_of(label, 11.5) for label in labels], self._cell)
        ticks = [_box(self._middle(i) - 0.5, top, 1, 5, RULE) for i in shown]
        self._canvas.boxes(ticks)
        words = [_at(self._middle(i), top + 14, labels[i]) for i in shown]
        self._canvas.words(words, (11.5, False, "center", INK))
        caption = _at(self._left - _GUTTER, top + 14, "checkpoint")
        self._canvas.words([caption], (11.5, False, "right", MUTED))
        self._y = top + 44

    def _legend(self) -> None:
        top = self._y
        rule = _box(_MARGIN, top - 14, self._width - 2 * _MARGIN, 1, "#d0d7de")
        self._canvas.boxes([rule])
        scores = [(i / FULL_MARKS, str(i)) for i in range(FULL_MARKS + 1)]
        self._scale(_MARGIN, "mean score, of 6", scores, is_score=True)
        rates = [
            (spread(p / 100), f"{p} %" if p in (0, 100) else str(p)) for p in (0, 5, 25, 50, 100)
        ]
        self._scale(_MARGIN + 236, "hallucination", rates, is_score=False)
        self._keys(_MARGIN + 470, top)
        self._y = top + 62

    def _scale(
        self, x: float, caption: str, ticks: Sequence[tuple[float, str]], *, is_score: bool
    ) -> None:
        length, steps, top = 196.0, 98, self._y
        step = length / steps
        colours = [
            score_colour((i + 0.5) / steps * FULL_MARKS, FULL_MARKS)
            if is_score
            else hallucination_colour(((i + 0.5) / steps) ** 2)
            for i in range(steps)
        ]
        # Neighbours overlap by half a point: abutting edges would show as hairlines.
        boxes = [
            _box(x + i * step, top + 18, step + (0.5 if i < steps - 1 else 0), 14, colour)
            for i, colour in enumerate(colours)
        ]
        self._canvas.boxes(boxes)
        self._canvas.words([_at(x, top + 7, caption)], (11.5, False, "left", INK))
        self._canvas.boxes([_box(x + at * length - 0.5, top + 32, 1, 4, RULE) for at, _ in ticks])
        words = [_at(x + at * length, top + 43, text) for at, text in ticks]
        self._canvas.words(words, (10.5, False, "center", MUTED))

    def _keys(self, x: float, top: float) -> None:
        self._canvas.boxes([_box(x, top + 1, 18, 13, NO_DATA)], radius=2)
        yet = _box(x, top + 21, 18, 13, NOT_YET)
        self._canvas.boxes([yet], radius=2, border=NOT_YET_BORDER)
        keys = ["not measured", "no question eligible yet"]
        if self._has_words:
            keys.append("n: trials the mean is over")
        else:
            green = score_colour(FULL_MARKS, FULL_MARKS)
            self._canvas.boxes([_box(x + 5, top + 41, 8, 13, green)])
            self._canvas.dots([{"x": x + 9, "y": top + 47.5, "fill": ink(green)}], size=7)
            keys.append(f"mean over {FEW} trials or fewer")
        words = [_at(x + 26, top + 7.5 + 20 * i, key) for i, key in enumerate(keys)]
        self._canvas.words(words, (11.5, False, "left", INK))

    def _middle(self, column: int) -> float:
        return self._left + (column + 0.5) * self._cell

    def _span(self, first: int, last: int, fill: str) -> _Box:
        x = self._left + first * self._cell + self._gap / 2
        width = (last - first + 1) * self._cell - self._gap
        return _box(x, self._y + self._gap / 2, width, self._row - self._gap, fill)


def thinned(widths: Sequence[float], step: float) -> list[int]:
    """Which labels to show so that none touches the next: every so manyth, and the last."""
    if not widths:
        return []
    last, room = len(widths) - 1, max(widths) + 10
    every = max(1, -int(-room // step))
    shown = [i for i in range(0, last, every) if (last - i) * step >= room]
    return [*shown, last]


def _runs(row: Sequence[Cell]) -> Iterator[tuple[int, int]]:
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


def _is_not_yet(cell: Cell) -> bool:
    return cell.score is None and cell.eligible == 0


def _notices(data: HeatmapData) -> Iterator[tuple[str, str]]:
    if data.is_stub:
        yield "STUB JUDGE: scores mean nothing", ALARM
    if data.invalid is not None:
        yield f"INVALID: {data.invalid}", ALARM
    if data.done < data.visits:
        yield f"UNFINISHED: {data.done} of {data.visits} checkpoints", WARNING


def _description(data: HeatmapData) -> str:
    """The title on a line of its own, then what the picture says in words."""
    means = [
        f"{label} {'not measured' if cell.score is None else f'{cell.score:.1f}'}"
        for label, cell in zip(data.columns, data.overall, strict=True)
    ]
    notices = [text for text, _ in _notices(data)]
    rest = ". ".join([*data.subtitle, *notices, f"Overall: {', '.join(means)}"])
    return f"{plain(data.title)}\n{plain(rest)}"


def _percents(rates: Mapping[int, float], room: float) -> dict[int, str]:
    """All rates alike: to a tenth with their unit where that fits, else to the whole."""
    precise = {i: f"{rate:.1f} %" for i, rate in rates.items()}
    if all(width_of(text, 11.5) < room - 4 for text in precise.values()):
        return precise
    return {i: f"{rate:.0f}" for i, rate in rates.items()}


def _row_label(category: str) -> str:
    words = category.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _at(x: float, y: float, text: str) -> dict[str, object]:
    return {"x": round(x, 2), "y": round(y, 2), "text": text}


def _box(x: float, y: float, width: float, height: float, fill: str) -> _Box:
    return {
        "x": round(x, 2),
        "y": round(y, 2),
        "x2": round(x + width, 2),
        "y2": round(y + height, 2),
        "fill": fill,
    }
