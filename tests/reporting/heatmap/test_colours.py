"""A colour says its number to every reader, and what is written on it can be read."""

from itertools import pairwise
from math import dist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.reporting.heatmap.colours import (
    ColourScale,
    choose_ink,
    colour_rate,
    colour_score,
    compute_contrast,
)

READABLE = 4.5
"""The WCAG ratio for small text."""
NOTICED = 0.02
"""The difference in OKLab that is just noticed."""
BLIND = {
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
    "none": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
}
"""What is left of linear red, green and blue (Machado, Oliveira and Fernandes 2009)."""

every_scale = pytest.mark.parametrize("scale", list(ColourScale))
every_eye = pytest.mark.parametrize("eye", BLIND)


def lightness(colour: str) -> float:
    return compute_contrast(colour, "#000000")


def seen(colour: str, eye: str) -> tuple[float, float, float]:
    """The colour in OKLab as such an eye sees it: lightness and two hues."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    left = [max(0.0, sum(map(float.__mul__, row, linear))) for row in BLIND[eye]]
    red, green, blue = (min(1.0, c) for c in left)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def test_contrast_is_the_known_one() -> None:
    assert compute_contrast("#000000", "#ffffff") == pytest.approx(21)
    assert compute_contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@every_scale
@given(st.floats(0, 6))
def test_text_can_be_read_on_every_score(scale: ColourScale, mean: float) -> None:
    colour = colour_score(mean, 6, scale)

    assert compute_contrast(colour, choose_ink(colour)) >= READABLE


@every_scale
@given(st.floats(0, 1))
def test_text_can_be_read_on_every_rate(scale: ColourScale, rate: float) -> None:
    colour = colour_rate(rate, scale)

    assert compute_contrast(colour, choose_ink(colour)) >= READABLE


@every_scale
def test_a_better_score_is_always_lighter(scale: ColourScale) -> None:
    """So the scale reads without colour, and without telling red from green."""
    steps = [lightness(colour_score(tenth / 10, 6, scale)) for tenth in range(61)]

    assert all(later > earlier for earlier, later in pairwise(steps))


@every_scale
def test_more_hallucination_is_always_darker(scale: ColourScale) -> None:
    steps = [lightness(colour_rate(percent / 100, scale)) for percent in range(101)]

    assert all(later < earlier for earlier, later in pairwise(steps))


@every_eye
def test_every_eye_tells_neighbouring_scores_apart_by_lightness_alone(eye: str) -> None:
    """A third of a point is distinguishable anywhere on the scale; the steps are even as well."""
    means = [third / 3 for third in range(19)]
    lights = [seen(colour_score(mean, 6, ColourScale.COLOUR_BLIND), eye)[0] for mean in means]

    steps = [later - earlier for earlier, later in pairwise(lights)]

    assert min(steps) > NOTICED
    assert max(steps) < 2.5 * min(steps)


@every_eye
def test_every_eye_tells_neighbouring_rates_apart(eye: str) -> None:
    rates = [(step / 12) ** 2 for step in range(13)]
    lights = [seen(colour_rate(rate, ColourScale.COLOUR_BLIND), eye)[0] for rate in rates]

    assert all(earlier - later > NOTICED for earlier, later in pairwise(lights))


@every_eye
def test_no_eye_takes_a_rate_for_a_score(eye: str) -> None:
    """The pale end of one scale and the light end of the other are unlike, and so are the dark."""

    def apart(mean: float, rate: float) -> float:
        score = seen(colour_score(mean, 6, ColourScale.COLOUR_BLIND), eye)
        other = seen(colour_rate(rate, ColourScale.COLOUR_BLIND), eye)
        return dist(score, other)

    assert apart(6, 0) > NOTICED
    assert apart(0, 1) > NOTICED


def test_the_standard_scale_is_hard_for_some_and_so_another_is_needed() -> None:
    """Good and full marks look nearly alike to one man in twenty: by hue alone they differ."""
    good, full = (seen(colour_score(mean, 6), "deuteranopia")[0] for mean in (4.5, 6))
    better = [
        seen(colour_score(m, 6, ColourScale.COLOUR_BLIND), "deuteranopia")[0] for m in (4.5, 6)
    ]

    assert better[1] - better[0] > 3 * (full - good)


def test_red_amber_and_green_are_where_people_expect_them() -> None:
    def channels(colour: str) -> tuple[int, int, int]:
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return red, green, blue

    worst, middle, best = (channels(colour_score(mean, 6)) for mean in (0, 3, 6))

    assert worst[0] > 3 * max(worst[1:])
    assert middle[0] > middle[1] > 2 * middle[2]
    assert best[1] > max(best[0], best[2])
