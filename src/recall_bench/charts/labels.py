"""Names beside points, placed so that none lies on another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from recall_bench.charts.theme import LABEL_SIZE
from recall_bench.reporting.heatmap.canvas import measure_text

_LABEL_OFFSET, _POINT_RADIUS = 9.0, 6.0
_HALF_LINE = 8.0
"""Half the height of a line of words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSpot:
    """A point, in points of the drawing from its top left corner, and what to write beside it."""

    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPlace:
    """Where the words go, seen from their point."""

    align: Literal["left", "right"]
    dx: float
    dy: float


LabelBox = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def arrange_labels(
    spots: Sequence[LabelSpot], *, width: float, avoiding: Sequence[LabelBox] = ()
) -> tuple[LabelPlace, ...]:
    """A place for the words of each spot, the first where they touch nothing.

    Where all are taken it is the first within the width.
    """
    taken = [
        (s.x - _POINT_RADIUS, s.y - _POINT_RADIUS, s.x + _POINT_RADIUS, s.y + _POINT_RADIUS)
        for s in spots
    ]
    taken += avoiding
    found = []
    for spot in spots:
        within = [
            (place, box)
            for place, box in _list_places(spot)
            if box[0] >= -_LABEL_OFFSET and box[2] <= width + _LABEL_OFFSET
        ]
        choices = within or list(_list_places(spot))
        free = [each for each in choices if not any(_is_touching(each[1], box) for box in taken)]
        place, box = (free or choices)[0]
        taken.append(box)
        found.append(place)
    return tuple(found)


def _list_places(spot: LabelSpot) -> Iterator[tuple[LabelPlace, LabelBox]]:
    room = measure_text(spot.text, LABEL_SIZE)
    for dy in (-10.0, 12.0, -24.0, 26.0, -38.0, 40.0):
        middle = spot.y + dy
        yield (
            LabelPlace(align="left", dx=_LABEL_OFFSET, dy=dy),
            (
                spot.x + _LABEL_OFFSET,
                middle - _HALF_LINE,
                spot.x + _LABEL_OFFSET + room,
                middle + _HALF_LINE,
            ),
        )
        yield (
            LabelPlace(align="right", dx=-_LABEL_OFFSET, dy=dy),
            (
                spot.x - _LABEL_OFFSET - room,
                middle - _HALF_LINE,
                spot.x - _LABEL_OFFSET,
                middle + _HALF_LINE,
            ),
        )


def _is_touching(one: LabelBox, other: LabelBox) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
