"""Shapes and words at given points, as one Vega-Lite chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from recall_bench.core import plain_text

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"

TextStyle = tuple[float, bool, Literal["left", "center", "right"], str]
"""Size, whether bold, where the anchor is, and the colour."""

plain = plain_text.clean_text
"""What it takes away no picture can hold: control characters are not even valid XML."""

_NARROW_LETTERS = "iljtf.,:;'!|()[] "
_WIDE_LETTERS = "mwMWOQGDCÄÖ%@—…"


@dataclass(slots=True)
class Canvas:
    """Collects what is to be drawn; later things lie on earlier ones."""

    layers: list[dict[str, object]] = field(default_factory=list)

    def draw_boxes(
        self,
        boxes: Sequence[Mapping[str, object]],
        *,
        radius: float = 0,
        border: str | None = None,
    ) -> None:
        """Filled rectangles, each with `x`, `y`, `x2`, `y2` and `fill`."""
        mark: dict[str, object] = {"type": "rect", "cornerRadius": radius}
        if border is not None:
            mark |= {"stroke": border, "strokeWidth": 1}
        self._add(mark, boxes, x2={"field": "x2"}, y2={"field": "y2"})

    def draw_corners(self, corners: Sequence[Mapping[str, object]], *, side: float) -> None:
        """Small triangles that fill the upper right corner at each `x` and `y`."""
        mark = {
            "type": "point",
            "shape": "M-2,0L0,0L0,2Z",
            "size": side**2,
            "strokeWidth": 0,
            "opacity": 0.75,
        }
        self._add(mark, corners)

    def draw_text(self, words: Sequence[Mapping[str, object]], style: TextStyle) -> None:
        """Words, each with `x`, `y`, `text` and perhaps a `fill` of its own."""
        size, is_bold, align, colour = style
        mark = {
            "type": "text",
            "fontSize": size,
            "fontWeight": "bold" if is_bold else "normal",
            "align": align,
            "baseline": "middle",
            "font": FONT,
        }
        filled = [{"fill": colour, **word, "text": plain(str(word["text"]))} for word in words]
        self._add(mark, filled, text={"field": "text", "type": "nominal"})

    def build_chart(self, width: float, height: float, description: str) -> dict[str, object]:
        """The finished chart, `description` being its text alternative."""
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "description": description,
            "width": width,
            "height": height,
            "padding": 0,
            "background": "#ffffff",
            "autosize": {"type": "none"},
            "config": {"view": {"stroke": None}, "font": FONT, "aria": False},
            "layer": self.layers,
        }

    def _add(
        self, mark: Mapping[str, object], values: Sequence[Mapping[str, object]], **channels: object
    ) -> None:
        if not values:
            return
        point = {"type": "quantitative", "scale": None, "axis": None}
        self.layers.append(
            {
                "data": {"values": values},
                "mark": mark,
                "encoding": {
                    "x": {"field": "x", **point},
                    "y": {"field": "y", **point},
                    "fill": {"field": "fill", "type": "nominal", "scale": None, "legend": None},
                    **channels,
                },
            }
        )


def make_text(x: float, y: float, text: str) -> dict[str, object]:
    """Words in a place."""
    return {"x": round(x, 2), "y": round(y, 2), "text": text}


def make_box(x: float, y: float, width: float, height: float, fill: str) -> dict[str, object]:
    """A rectangle in a place."""
    return {
        "x": round(x, 2),
        "y": round(y, 2),
        "x2": round(x + width, 2),
        "y2": round(y + height, 2),
        "fill": fill,
    }


def measure_text(text: str, size: float) -> float:
    """About how wide the words will be; never much too little."""
    ems = 0.0
    for letter in text:
        if letter in _NARROW_LETTERS:
            ems += 0.31
        elif letter in _WIDE_LETTERS:
            ems += 0.86
        elif ord(letter) > 0x2E7F:
            ems += 1.0
        else:
            ems += 0.68 if letter.isupper() else 0.56
    return ems * size


def wrap_text(text: str, size: float, width: float) -> list[str]:
    """The text in lines no wider than `width`, broken at spaces, and inside words if need be.

    A separating dot never ends a line.
    """
    found = [""]
    for word in text.split():
        longer = f"{found[-1]} {word}" if found[-1] else word
        if measure_text(longer, size) <= width:
            found[-1] = longer
            continue
        if found[-1]:
            found.append("")
        for letter in word:
            if found[-1] and measure_text(found[-1] + letter, size) > width:
                found.append("")
            found[-1] += letter
    return [line.removesuffix(" ·") for line in found]
