"""Colour scales for scores and rates, and text colours that are readable on them.

Lightness is monotonic along every scale, so that it can be read without colour. The standard scale
changes little in its upper half, where amber turns into green; the colour-blind scale climbs evenly
from dark blue to yellow.
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise
from math import cos, radians, sin, sqrt

_ColourStop = tuple[float, float, float, float]
"""The position from 0 to 1, then lightness, chroma and hue in OKLCH."""


class ColourScale(StrEnum):
    """The two sets of colours."""

    STANDARD = "standard"
    """Red, amber, green; hallucination in violet."""
    COLOUR_BLIND = "colour-blind"
    """Dark blue to yellow; hallucination in brown."""


_SCORE_STOPS: Mapping[ColourScale, tuple[_ColourStop, ...]] = {
    ColourScale.STANDARD: (
        (0.00, 0.42, 0.165, 25.0),
        (0.25, 0.58, 0.170, 40.0),
        (0.50, 0.75, 0.155, 68.0),
        (0.75, 0.85, 0.155, 102.0),
        (1.00, 0.87, 0.155, 147.0),
    ),
    ColourScale.COLOUR_BLIND: (
        (0.00, 0.30, 0.120, 268.0),
        (0.25, 0.455, 0.090, 255.0),
        (0.50, 0.61, 0.075, 205.0),
        (0.75, 0.765, 0.115, 140.0),
        (1.00, 0.92, 0.165, 102.0),
    ),
}
_RATE_STOPS: Mapping[ColourScale, tuple[_ColourStop, ...]] = {
    ColourScale.STANDARD: ((0.0, 0.935, 0.032, 300.0), (1.0, 0.38, 0.190, 300.0)),
    ColourScale.COLOUR_BLIND: ((0.0, 0.94, 0.025, 60.0), (1.0, 0.36, 0.095, 45.0)),
}

DARK, LIGHT = "#000000", "#ffffff"


def colour_score(mean: float, best: float, scale: ColourScale = ColourScale.STANDARD) -> str:
    """The colour of a mean from 0 to the best; better is lighter."""
    return _interpolate_stops(_SCORE_STOPS[scale], mean / best)


def colour_rate(rate: float, scale: ColourScale = ColourScale.STANDARD) -> str:
    """The colour of a share of one, pale to deep; small rates differ more than large ones."""
    return _interpolate_stops(_RATE_STOPS[scale], scale_rate(rate))


def scale_rate(rate: float) -> float:
    """The position of a share of one on the hallucination scale."""
    return sqrt(max(0.0, min(1.0, rate)))


def choose_ink(background: str) -> str:
    """Black or white, whichever has more contrast to the background."""
    return max((DARK, LIGHT), key=lambda colour: compute_contrast(colour, background))


def compute_contrast(one: str, other: str) -> float:
    """The WCAG contrast ratio of two colours, from 1 to 21."""
    dim, bright = sorted((_compute_luminance(one), _compute_luminance(other)))
    return (bright + 0.05) / (dim + 0.05)


def _compute_luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _interpolate_stops(stops: tuple[_ColourStop, ...], where: float) -> str:
    where = max(0.0, min(1.0, where))
    for (start, *low), (end, *high) in pairwise(stops):
        if where <= end:
            share = (where - start) / (end - start)
            lightness, chroma, hue = (a + (b - a) * share for a, b in zip(low, high, strict=True))
            return _convert_oklch(lightness, chroma, hue)
    raise AssertionError(stops)


def _convert_oklch(lightness: float, chroma: float, hue: float) -> str:
    a, b = chroma * cos(radians(hue)), chroma * sin(radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _apply_gamma(c)):02x}" for c in linear)


def _apply_gamma(linear: float) -> float:
    value = max(0.0, min(1.0, linear))
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


INK, MUTED = "#1b1f24", "#4d5762"
NO_DATA_FILL, DASH = "#b3b9c2", "#4d5762"
NOT_YET, NOT_YET_BORDER = "#f3f5f8", "#9aa4b0"
ALARM, WARNING = "#b42318", "#8a5a00"

SMALL_HEIGHT = 0.5
"""The relative height of a cell without text over few questions."""
