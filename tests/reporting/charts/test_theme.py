"""Colours can be read on both grounds, and distinguished with colour blindness."""

from itertools import combinations, product

import pytest

from recall_bench.reporting.analyses.attribution import FailureLeaf
from recall_bench.reporting.charts.theme import (
    PALETTES,
    PAPERS,
    ChartColours,
    ChartTheme,
    ThemePalette,
    build_config,
)
from recall_bench.reporting.heatmap.colours import compute_contrast
from tests.loops import loop_over_rows
from tests.reporting.charts.spec_reader import everything
from tests.reporting.colour_vision import SIGHTS, convert_to_oklab

LOOKS = list(product(ChartTheme, ChartColours))

APART = 0.1
"""In OKLab: five times what is just noticed side by side."""


@loop_over_rows(("theme", "colours"), LOOKS)
def test_words_can_be_read(theme: ChartTheme, colours: ChartColours) -> None:
    paper, palette = PAPERS[theme], PALETTES[theme, colours]
    for ground in (paper.background, paper.beyond):
        assert compute_contrast(paper.ink, ground) >= 7
        assert compute_contrast(paper.muted, ground) >= 4.5
    for colour in (palette.score, palette.other):
        assert compute_contrast(colour, paper.background) >= 4


@loop_over_rows(("theme", "colours"), LOOKS)
def test_lines_stand_out_from_the_ground(theme: ChartTheme, colours: ChartColours) -> None:
    palette = PALETTES[theme, colours]
    for colour in (palette.score, palette.other, palette.invention):
        assert compute_contrast(colour, PAPERS[theme].background) >= 3


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", ChartTheme)
def test_what_lies_in_one_view_is_distinguished_with_any_sight(
    theme: ChartTheme, sight: str
) -> None:
    palette = PALETTES[theme, ChartColours.COLOUR_BLIND]
    assert distance(palette.score, palette.other, sight) >= APART


@pytest.mark.parametrize("sight", ["protan", "deutan"])
@pytest.mark.parametrize("theme", ChartTheme)
def test_the_red_green_blind_tell_all_leaves_apart(theme: ChartTheme, sight: str) -> None:
    pairs = combinations(PALETTES[theme, ChartColours.COLOUR_BLIND].leaves, 2)
    assert [pair for pair in pairs if distance(*pair, sight) < APART] == []


@loop_over_rows(("theme", "colours"), LOOKS)
def test_every_leaf_has_a_colour_of_its_own(theme: ChartTheme, colours: ChartColours) -> None:
    leaves = PALETTES[theme, colours].leaves
    assert len(leaves) == len(set(leaves)) == len(FailureLeaf)
    assert min(distance(*pair, None) for pair in combinations(leaves, 2)) >= 0.06


def test_every_look_has_the_same_roles() -> None:
    shapes = [{key for key, _ in everything(build_config(*look))} for look in LOOKS]
    assert all(shape == shapes[0] for shape in shapes)


def test_looks_differ() -> None:
    found = [build_config(*look) for look in LOOKS]
    assert all(one != other for one, other in combinations(found, 2))


def test_a_number_on_a_leaf_can_be_read() -> None:
    for look in LOOKS:
        ranges: dict[str, list[str]] = build_config(*look)["range"]  # type: ignore[assignment]
        for leaf, ink in zip(ranges["leaf"], ranges["leaf-ink"], strict=True):
            assert compute_contrast(leaf, ink) >= 4.5


def test_the_ramp_runs_one_way() -> None:
    """A reader takes it for the order of time."""
    for palette in PALETTES.values():
        lights = [convert_to_oklab(colour)[0] for colour in palette.ramp]
        assert lights in (sorted(lights), sorted(lights, reverse=True))


def distance(one: str, other: str, sight: str | None) -> float:
    """How far apart two colours look."""
    pairs = zip(convert_to_oklab(one, sight), convert_to_oklab(other, sight), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


def test_distance_sees_what_a_sight_does_not() -> None:
    """Red and green of one lightness are far apart, and close to a deutan."""
    assert distance("#d02020", "#5f7f00", None) > 2 * distance("#d02020", "#5f7f00", "deutan")


def test_palettes_are_written_as_hexadecimal() -> None:
    for palette in PALETTES.values():
        assert isinstance(palette, ThemePalette)
        for colour in (palette.score, palette.other, palette.invention, *palette.leaves):
            assert int(colour.removeprefix("#"), 16) >= 0
