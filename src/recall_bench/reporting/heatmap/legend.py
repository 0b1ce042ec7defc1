"""What a heatmap's colours, marks and small print mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from recall_bench.core.verdict import FULL_MARKS
from recall_bench.reporting.heatmap.canvas import Canvas, at, box, width_of
from recall_bench.reporting.heatmap.cells import HeatmapData
from recall_bench.reporting.heatmap.colour import (
    Scale,
    hallucination_colour,
    ink,
    score_colour,
    spread,
)
from recall_bench.reporting.heatmap.inks import (
    DASH,
    INK,
    MUTED,
    NO_DATA,
    NOT_YET,
    NOT_YET_BORDER,
    RULE,
    SLIM,
)
from recall_bench.reporting.heatmap.wording import Wording
from recall_bench.statistics.estimate import FEW_QUESTIONS

_LENGTH, _STEPS = 196.0, 98
_SCALES = 470.0
"""What both scales take of the width."""
_KEY_SIZE, _KEY_ROW, _KEY_ROWS, _KEY_GAP = 11.5, 20.0, 3, 26.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Legend:
    """Both scales, then the keys in as many columns as the page has room for."""

    data: HeatmapData
    scale: Scale
    how: Wording
    left: float
    right: float

    def draw(self, canvas: Canvas, top: float) -> float:
        """Draw it from here down; where it ends."""
        scores = [(mark / FULL_MARKS, str(mark)) for mark in range(FULL_MARKS + 1)]
        colours = [
            score_colour(FULL_MARKS * (step + 0.5) / _STEPS, FULL_MARKS, self.scale)
            for step in range(_STEPS)
        ]
        _draw_scale(canvas, (self.left, top), "mean score, of 6", scores, colours)
        rates = [
            (spread(p / 100), f"{p} %" if p in (0, 100) else str(p)) for p in (0, 5, 25, 50, 100)
        ]
        colours = [
            hallucination_colour(((step + 0.5) / _STEPS) ** 2, self.scale) for step in range(_STEPS)
        ]
        _draw_scale(canvas, (self.left + 236, top), "hallucination", rates, colours)
        return self._draw_keys(canvas, top)

    def _draw_keys(self, canvas: Canvas, top: float) -> float:
        keys = list(self._keys())
        columns = [keys[i : i + _KEY_ROWS] for i in range(0, len(keys), _KEY_ROWS)]
        x, y = self.left + _SCALES, top
        for number, column in enumerate(columns):
            width = 26 + max(width_of(words, _KEY_SIZE) for _, words in column)
            if number and x + width > self.right:
                x, y = self.left, y + _KEY_ROW * _KEY_ROWS + 6
            for place, (sign, words) in enumerate(column):
                self._draw_sign(canvas, sign, x, y + _KEY_ROW * place)
                entry = at(x + 26, y + 7.5 + _KEY_ROW * place, words)
                canvas.words([entry], (_KEY_SIZE, False, "left", INK))
            x += width + _KEY_GAP
        return y + 62

    def _keys(self) -> "Iterator[tuple[_Sign, str]]":
        yield "empty", "not measured"
        yield "early", "no question eligible yet"
        if any(cell.is_small for cell in self.data.all_cells):
            how = "half height: " if self.how is Wording.NOTHING else ""
            yield "small", f"{how}under {FEW_QUESTIONS} questions, interval in doubt"
        if self.how is not Wording.NOTHING:
            counted = [cell for cell in self.data.all_cells if cell.score is not None]
            is_known = bool(counted) and all(cell.questions is not None for cell in counted)
            yield "n", "different questions" if is_known else "trials the mean is over"
        if self.how in (Wording.LINE, Wording.LINES) and self.data.intervals:
            yield "a–b", self.data.intervals

    def _draw_sign(self, canvas: Canvas, sign: "_Sign", x: float, y: float) -> None:
        full = score_colour(FULL_MARKS, FULL_MARKS, self.scale)
        match sign:
            case "empty":
                canvas.boxes([box(x, y + 1, 18, 13, NO_DATA)], radius=2)
                canvas.boxes([box(x + 5.5, y + 6.7, 7, 1.6, DASH)])
            case "early":
                early = [box(x, y + 1, 18, 13, NOT_YET)]
                canvas.boxes(early, radius=2, border=NOT_YET_BORDER)
            case "small" if self.how is Wording.NOTHING:
                canvas.boxes([box(x + 3, y + 7.5 - 7 * SLIM, 12, 14 * SLIM, full)])
            case "small":
                canvas.boxes([box(x, y + 1, 18, 13, full)], radius=2)
                canvas.corners([{"x": x + 18, "y": y + 1, "fill": ink(full)}], side=8)
            case _:
                canvas.words([at(x + 9, y + 7.5, sign)], (10.5, False, "center", MUTED))


_Sign = Literal["empty", "early", "small", "n", "a–b"]


def _draw_scale(
    canvas: Canvas,
    corner: tuple[float, float],
    caption: str,
    ticks: Sequence[tuple[float, str]],
    colours: Sequence[str],
) -> None:
    (x, top), step = corner, _LENGTH / len(colours)
    # Neighbours overlap by half a point: abutting edges would show as hairlines.
    boxes = [
        box(x + i * step, top + 18, step + (0.5 if i < len(colours) - 1 else 0), 14, colour)
        for i, colour in enumerate(colours)
    ]
    canvas.boxes(boxes)
    canvas.words([at(x, top + 7, caption)], (11.5, False, "left", INK))
    canvas.boxes([box(x + where * _LENGTH - 0.5, top + 32, 1, 4, RULE) for where, _ in ticks])
    words = [at(x + where * _LENGTH, top + 43, text) for where, text in ticks]
    canvas.words(words, (10.5, False, "center", MUTED))
