"""The colours of cells as classes of a stylesheet, so that the page computes none."""

from collections.abc import Iterator
from typing import Final

from recall_bench.reporting.heatmap.colour import Scale, hallucination_colour, ink, score_colour

SCORE_STEPS: Final = 60
"""A tenth of a point is the finest difference a colour shows."""
RATE_STEPS: Final = 50


def cell_classes() -> str:
    """`.s0` to `.s60` for means, `.h0` to `.h50` for shares; again for colour-blind readers."""
    return "".join(_classes())


def _classes() -> Iterator[str]:
    for scale in Scale:
        scope = "" if scale is Scale.STANDARD else f'[data-colours="{scale.value}"] '
        for step in range(SCORE_STEPS + 1):
            yield _class(f"{scope}.s{step}", score_colour(step / SCORE_STEPS, 1, scale))
        for step in range(RATE_STEPS + 1):
            yield _class(f"{scope}.h{step}", hallucination_colour(step / RATE_STEPS, scale))


def _class(selector: str, colour: str) -> str:
    return f"{selector}{{background:{colour};color:{ink(colour)}}}\n"
