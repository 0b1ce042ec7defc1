"""The colours of cells as classes of a stylesheet, so that the page computes none."""

from collections.abc import Iterator
from typing import Final

from recall_bench.reporting.heatmap.colour import ColourScale, choose_ink, colour_rate, colour_score

SCORE_STEPS: Final = 60
"""A tenth of a point is the finest difference a colour shows."""
RATE_STEPS: Final = 50


def render_cell_classes() -> str:
    """`.s0` to `.s60` for means, `.h0` to `.h50` for shares; again for colour-blind readers."""
    return "".join(_list_classes())


def _list_classes() -> Iterator[str]:
    for scale in ColourScale:
        scope = "" if scale is ColourScale.STANDARD else f'[data-colours="{scale.value}"] '
        for step in range(SCORE_STEPS + 1):
            yield _format_class(f"{scope}.s{step}", colour_score(step / SCORE_STEPS, 1, scale))
        for step in range(RATE_STEPS + 1):
            yield _format_class(f"{scope}.h{step}", colour_rate(step / RATE_STEPS, scale))


def _format_class(selector: str, colour: str) -> str:
    return f"{selector}{{background:{colour};color:{choose_ink(colour)}}}\n"
