"""A colour says its number to every reader, and what is written on it can be read."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_bench.reporting.heatmap.colour import (
    contrast,
    hallucination_colour,
    ink,
    score_colour,
)

READABLE = 4.5
"""The WCAG ratio for small text."""


def lightness(colour: str) -> float:
    return contrast(colour, "#000000")


def test_contrast_is_the_known_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@given(st.floats(0, 6))
def test_text_can_be_read_on_every_score(mean: float) -> None:
    colour = score_colour(mean, 6)

    assert contrast(colour, ink(colour)) >= READABLE


@given(st.floats(0, 1))
def test_text_can_be_read_on_every_rate(rate: float) -> None:
    colour = hallucination_colour(rate)

    assert contrast(colour, ink(colour)) >= READABLE


def test_a_better_score_is_always_lighter() -> None:
    """So the scale reads without colour, and without telling red from green."""
    steps = [lightness(score_colour(tenth / 10, 6)) for tenth in range(61)]

    assert all(later > earlier for earlier, later in pairwise(steps))


def test_more_hallucination_is_always_darker() -> None:
    steps = [lightness(hallucination_colour(percent / 100)) for percent in range(101)]

    assert all(later < earlier for earlier, later in pairwise(steps))


def test_red_amber_and_green_are_where_people_expect_them() -> None:
    def channels(colour: str) -> tuple[int, int, int]:
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return red, green, blue

    worst, middle, best = (channels(score_colour(mean, 6)) for mean in (0, 3, 6))

    assert worst[0] > 3 * max(worst[1:])
    assert middle[0] > middle[1] > 2 * middle[2]
    assert best[1] > max(best[0], best[2])
