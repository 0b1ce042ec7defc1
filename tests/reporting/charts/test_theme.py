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
from tests.reporting.charts.spec_reader import everything

LOOKS = list(product(ChartTheme, ChartColours))

# Machado, Oliveira and Fernandes 2009, at full severity, for linear light.
SIGHTS = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
APART = 0.1
"""In OKLab: five times what is just noticed side by side."""


@pytest.mark.parametrize(("theme", "colours"), LOOKS)
def test_words_can_be_read(theme: ChartTheme, colours: ChartColours) -> None:
    paper, palette = PAPERS[theme], PALETTES[theme, colours]
    for ground in (paper.background, paper.beyond):
        assert compute_contrast(paper.ink, ground) >= 7
        assert compute_contrast(paper.muted, ground) >= 4.5
    for colour in (palette.score, palette.other):
        assert compute_contrast(colour, paper.background) >= 4


@pytest.mark.parametrize(("theme", "colours"), LOOKS)
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


@pytest.mark.parametrize(("theme", "colours"), LOOKS)
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
        lights = [_oklab(colour, None)[0] for colour in palette.ramp]
        assert lights in (sorted(lights), sorted(lights, reverse=True))


def distance(one: str, other: str, sight: str | None) -> float:
    """How far apart two colours look."""
    pairs = zip(_oklab(one, sight), _oklab(other, sight), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


def _oklab(colour: str, sight: str | None) -> tuple[float, float, float]:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    if sight is not None:
        linear = [
            min(1.0, max(0.0, sum(w * c for w, c in zip(row, linear, strict=True))))
            for row in SIGHTS[sight]
        ]
    red, green, blue = linear
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def test_distance_sees_what_a_sight_does_not() -> None:
    """Red and green of one lightness are far apart, and close to a deutan."""
    assert distance("#d02020", "#5f7f00", None) > 2 * distance("#d02020", "#5f7f00", "deutan")


def test_palettes_are_written_as_hexadecimal() -> None:
    for palette in PALETTES.values():
        assert isinstance(palette, ThemePalette)
        for colour in (palette.score, palette.other, palette.invention, *palette.leaves):
            assert int(colour.removeprefix("#"), 16) >= 0
