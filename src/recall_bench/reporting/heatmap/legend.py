"""What a heatmap's colours, marks and small print mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.heatmap.canvas import Canvas, make_box, make_text, measure_text
from recall_bench.reporting.heatmap.cells import HeatmapData
from recall_bench.reporting.heatmap.colour import (
    ColourScale,
    choose_ink,
    colour_rate,
    colour_score,
    scale_rate,
)
from recall_bench.reporting.heatmap.inks import (
    DASH,
    INK,
    MUTED,
    NO_DATA_FILL,
    NOT_YET,
    NOT_YET_BORDER,
    RULE,
    SMALL_HEIGHT,
)
from recall_bench.reporting.heatmap.wording import CellText
from recall_bench.statistics.estimate import FEW_QUESTIONS

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
