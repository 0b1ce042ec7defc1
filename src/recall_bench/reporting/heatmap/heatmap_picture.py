"""What is written into the cells of a heatmap, as far as there is room, and what hovering tells."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from recall_bench.core.atomic_file import replace_file
from recall_bench.core.errors import UsageError
from recall_bench.core.verdict import FULL_MARKS
from recall_bench.metrics.estimate import FEW_QUESTIONS
from recall_bench.reporting.heatmap.canvas import (
    Canvas,
    make_box,
    make_text,
    measure_text,
    plain,
    wrap_text,
)
from recall_bench.reporting.heatmap.colours import (
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
    ColourScale,
    choose_ink,
    colour_rate,
    colour_score,
    scale_rate,
)
from recall_bench.reporting.heatmap.heatmap_data import HeatmapData, PictureCell

MEAN_SIZE, SMALL_SIZE = 12.5, 9.5
SMALL_MARK = "!"

_MIN_TEXT_WIDTH = 25.0
"""Cells at least so wide hold their mean and count."""
_TEXT_MARGIN = 6.0


class CellText(Enum):
    """How much is written into every cell of a picture."""

    LINE = "the interval and the count side by side below the mean"
    LINES = "the interval and the count below each other"
    COUNT = "the count below the mean"
    NOTHING = "nothing: a cell is its colour"


def choose_cell_text(
    points: Iterable[PictureCell], rates: Iterable[PictureCell], room: float
) -> CellText:
    """The most that fits into every cell, each having this much room."""
    if room < _MIN_TEXT_WIDTH:
        return CellText.NOTHING
    found = [(format_cell_interval(cell), format_cell_count(cell)) for cell in points]
    found += [(format_cell_interval(cell, is_rate=True), format_cell_count(cell)) for cell in rates]
    if not any(interval for interval, _ in found):
        return CellText.COUNT
    beside = max(measure_text(_join_details(*each), SMALL_SIZE) for each in found)
    below = max(measure_text(words, SMALL_SIZE) for each in found for words in each)
    if beside <= room - _TEXT_MARGIN:
        return CellText.LINE
    return CellText.LINES if below <= room - _TEXT_MARGIN else CellText.COUNT


def list_details(
    cell: PictureCell, how: CellText, room: float, *, is_rate: bool = False
) -> list[str]:
    """The lines below the mean."""
    interval, count = format_cell_interval(cell, is_rate=is_rate), format_cell_count(cell)
    if how is CellText.LINE:
        return [_join_details(interval, count)]
    if how is CellText.LINES:
        return [interval, count]
    return [
        count
        if measure_text(count, SMALL_SIZE) <= room - _TEXT_MARGIN
        else count.removeprefix("n ")
    ]


def format_cell_interval(cell: PictureCell, *, is_rate: bool = False) -> str:
    """Both ends; nothing where there is none."""
    if cell.low is None or cell.high is None:
        return ""
    digits = 0 if is_rate and cell.high >= 9.95 else 1
    return f"{cell.low:.{digits}f}–{cell.high:.{digits}f}"


def format_cell_count(cell: PictureCell) -> str:
    """How many questions the mean is over, or trials where questions were not counted."""
    if cell.score is None:
        return ""
    asked = cell.count if cell.questions is None else cell.questions
    return f"n {asked}{SMALL_MARK if cell.is_small else ''}"


def describe_hover(row: str, column: str, cell: PictureCell, *, is_rate: bool = False) -> str:
    """One cell in words."""
    if cell.score is None:
        state = "no question eligible yet" if cell.eligible == 0 else "not measured"
        return f"{row}, {column}: {state}"
    value = f"{cell.score:.1f} %" if is_rate else f"{cell.score:.2f} of {FULL_MARKS}"
    words = [f"{row}, {column}: {value}"]
    if cell.low is not None and cell.high is not None:
        ends = (
            f"{cell.low:.1f} to {cell.high:.1f} %" if is_rate else _format_ends(cell.low, cell.high)
        )
        words.append(f"95 % interval {ends}")
    if cell.questions is not None:
        words.append(_count_noun(cell.questions, "question"))
    words.append(_count_noun(cell.count, "trial"))
    if cell.missing is not None:
        words.append(f"{cell.missing} missing")
    if cell.is_small:
        words.append(f"fewer than {FEW_QUESTIONS} questions: the interval is in doubt")
    return " · ".join(words)


def _join_details(interval: str, count: str) -> str:
    return " · ".join(words for words in (interval, count) if words)


def _format_ends(low: float, high: float) -> str:
    return f"{low:.2f} to {high:.2f}"


def _count_noun(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


_SCALE_LENGTH, _SCALE_STEPS = 196.0, 98
_SCALES_WIDTH = 470.0
"""What both scales take of the width."""
_KEY_SIZE, _KEY_ROW, _KEY_ROWS, _KEY_GAP = 11.5, 20.0, 3, 26.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapLegend:
    """Both scales, then the keys in as many columns as the page has room for."""

    data: HeatmapData
    scale: ColourScale
    how: CellText
    left: float
    right: float

    def draw(self, canvas: Canvas, top: float) -> float:
        """Draw it from here down; where it ends."""
        scores = [(mark / FULL_MARKS, str(mark)) for mark in range(FULL_MARKS + 1)]
        colours = [
            colour_score(FULL_MARKS * (step + 0.5) / _SCALE_STEPS, FULL_MARKS, self.scale)
            for step in range(_SCALE_STEPS)
        ]
        _draw_scale(canvas, (self.left, top), "mean score, of 6", scores, colours)
        rates = [
            (scale_rate(p / 100), f"{p} %" if p in (0, 100) else str(p))
            for p in (0, 5, 25, 50, 100)
        ]
        colours = [
            colour_rate(((step + 0.5) / _SCALE_STEPS) ** 2, self.scale)
            for step in range(_SCALE_STEPS)
        ]
        _draw_scale(canvas, (self.left + 236, top), "hallucination", rates, colours)
        return self._draw_keys(canvas, top)

    def _draw_keys(self, canvas: Canvas, top: float) -> float:
        keys = list(self._list_keys())
        columns = [keys[i : i + _KEY_ROWS] for i in range(0, len(keys), _KEY_ROWS)]
        x, y = self.left + _SCALES_WIDTH, top
        for number, column in enumerate(columns):
            width = 26 + max(measure_text(words, _KEY_SIZE) for _, words in column)
            if number and x + width > self.right:
                x, y = self.left, y + _KEY_ROW * _KEY_ROWS + 6
            for place, (sign, words) in enumerate(column):
                self._draw_sign(canvas, sign, x, y + _KEY_ROW * place)
                entry = make_text(x + 26, y + 7.5 + _KEY_ROW * place, words)
                canvas.draw_text([entry], (_KEY_SIZE, False, "left", INK))
            x += width + _KEY_GAP
        return y + 62

    def _list_keys(self) -> "Iterator[tuple[_KeySign, str]]":
        yield "empty", "not measured"
        yield "early", "no question eligible yet"
        if any(cell.is_small for cell in self.data.all_cells):
            how = "half height: " if self.how is CellText.NOTHING else ""
            yield "small", f"{how}under {FEW_QUESTIONS} questions, interval in doubt"
        if self.how is not CellText.NOTHING:
            counted = [cell for cell in self.data.all_cells if cell.score is not None]
            is_known = bool(counted) and all(cell.questions is not None for cell in counted)
            yield "n", "different questions" if is_known else "trials the mean is over"
        if self.how in (CellText.LINE, CellText.LINES) and self.data.intervals:
            yield "a–b", self.data.intervals

    def _draw_sign(self, canvas: Canvas, sign: "_KeySign", x: float, y: float) -> None:
        full = colour_score(FULL_MARKS, FULL_MARKS, self.scale)
        match sign:
            case "empty":
                canvas.draw_boxes([make_box(x, y + 1, 18, 13, NO_DATA_FILL)], radius=2)
                canvas.draw_boxes([make_box(x + 5.5, y + 6.7, 7, 1.6, DASH)])
            case "early":
                early = [make_box(x, y + 1, 18, 13, NOT_YET)]
                canvas.draw_boxes(early, radius=2, border=NOT_YET_BORDER)
            case "small" if self.how is CellText.NOTHING:
                canvas.draw_boxes(
                    [make_box(x + 3, y + 7.5 - 7 * SMALL_HEIGHT, 12, 14 * SMALL_HEIGHT, full)]
                )
            case "small":
                canvas.draw_boxes([make_box(x, y + 1, 18, 13, full)], radius=2)
                canvas.draw_corners([{"x": x + 18, "y": y + 1, "fill": choose_ink(full)}], side=8)
            case _:
                canvas.draw_text([make_text(x + 9, y + 7.5, sign)], (10.5, False, "center", MUTED))


_KeySign = Literal["empty", "early", "small", "n", "a–b"]


def _draw_scale(
    canvas: Canvas,
    corner: tuple[float, float],
    caption: str,
    ticks: Sequence[tuple[float, str]],
    colours: Sequence[str],
) -> None:
    (x, top), step = corner, _SCALE_LENGTH / len(colours)
    # Neighbours overlap by half a point: abutting edges would show as hairlines.
    boxes = [
        make_box(x + i * step, top + 18, step + (0.5 if i < len(colours) - 1 else 0), 14, colour)
        for i, colour in enumerate(colours)
    ]
    canvas.draw_boxes(boxes)
    canvas.draw_text([make_text(x, top + 7, caption)], (11.5, False, "left", INK))
    canvas.draw_boxes(
        [make_box(x + where * _SCALE_LENGTH - 0.5, top + 32, 1, 4, RULE) for where, _ in ticks]
    )
    words = [make_text(x + where * _SCALE_LENGTH, top + 43, text) for where, text in ticks]
    canvas.draw_text(words, (10.5, False, "center", MUTED))


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
