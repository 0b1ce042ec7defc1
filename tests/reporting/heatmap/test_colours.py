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
from tests.reporting.colour_vision import SIGHTS, convert_to_oklab

READABLE = 4.5
"""The WCAG ratio for small text."""
NOTICED = 0.02
"""The difference in OKLab that is just noticed."""

every_scale = pytest.mark.parametrize("scale", list(ColourScale))
every_eye = pytest.mark.parametrize("eye", [*SIGHTS, None])


def lightness(colour: str) -> float:
    return compute_contrast(colour, "#000000")


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
def test_every_eye_tells_neighbouring_scores_apart_by_lightness_alone(eye: str | None) -> None:
    """A third of a point is distinguishable anywhere on the scale; the steps are even as well."""
    means = [third / 3 for third in range(19)]
    lights = [
        convert_to_oklab(colour_score(mean, 6, ColourScale.COLOUR_BLIND), eye)[0] for mean in means
    ]

    steps = [later - earlier for earlier, later in pairwise(lights)]

    assert min(steps) > NOTICED
    assert max(steps) < 2.5 * min(steps)


@every_eye
def test_every_eye_tells_neighbouring_rates_apart(eye: str | None) -> None:
    rates = [(step / 12) ** 2 for step in range(13)]
    lights = [
        convert_to_oklab(colour_rate(rate, ColourScale.COLOUR_BLIND), eye)[0] for rate in rates
    ]

    assert all(earlier - later > NOTICED for earlier, later in pairwise(lights))


@every_eye
def test_no_eye_takes_a_rate_for_a_score(eye: str | None) -> None:
    """The pale end of one scale and the light end of the other are unlike, and so are the dark."""

    def apart(mean: float, rate: float) -> float:
        score = convert_to_oklab(colour_score(mean, 6, ColourScale.COLOUR_BLIND), eye)
        other = convert_to_oklab(colour_rate(rate, ColourScale.COLOUR_BLIND), eye)
        return dist(score, other)

    assert apart(6, 0) > NOTICED
    assert apart(0, 1) > NOTICED


def test_the_standard_scale_is_hard_for_some_and_so_another_is_needed() -> None:
    """Good and full marks look nearly alike to one man in twenty: by hue alone they differ."""
    good, full = (convert_to_oklab(colour_score(mean, 6), "deutan")[0] for mean in (4.5, 6))
    better = [
        convert_to_oklab(colour_score(m, 6, ColourScale.COLOUR_BLIND), "deutan")[0]
        for m in (4.5, 6)
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
