"""Names beside points, placed so that none lies on another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from recall_bench.charts.theme import LABEL
from recall_bench.reporting.heatmap.canvas import width_of

_AWAY, _RADIUS = 9.0, 6.0
_HALF = 8.0
"""Half the height of a line of words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A point, in points of the drawing from its top left corner, and what to write beside it."""

    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the words go, seen from their point."""

    align: Literal["left", "right"]
    dx: float
    dy: float


Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def placed(
    spots: Sequence[Spot], *, width: float, avoiding: Sequence[Box] = ()
) -> tuple[Place, ...]:
    """A place for the words of each spot, the first where they touch nothing.

    Where all are taken it is the first within the width.
    """
    taken = [(s.x - _RADIUS, s.y - _RADIUS, s.x + _RADIUS, s.y + _RADIUS) for s in spots]
    taken += avoiding
    found = []
    for spot in spots:
        within = [
            (place, box)
            for place, box in _places(spot)
            if box[0] >= -_AWAY and box[2] <= width + _AWAY
        ]
        choices = within or list(_places(spot))
        free = [each for each in choices if not any(_touch(each[1], box) for box in taken)]
        place, box = (free or choices)[0]
        taken.append(box)
        found.append(place)
    return tuple(found)


def _places(spot: Spot) -> Iterator[tuple[Place, Box]]:
    room = width_of(spot.text, LABEL)
    for dy in (-10.0, 12.0, -24.0, 26.0, -38.0, 40.0):
        middle = spot.y + dy
        yield (
            Place(align="left", dx=_AWAY, dy=dy),
            (spot.x + _AWAY, middle - _HALF, spot.x + _AWAY + room, middle + _HALF),
        )
        yield (
            Place(align="right", dx=-_AWAY, dy=dy),
            (spot.x - _AWAY - room, middle - _HALF, spot.x - _AWAY, middle + _HALF),
        )


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
