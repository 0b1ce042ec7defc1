"""Looking at many categories finds something in one of them: what that costs a p-value."""

from collections.abc import Mapping
from typing import TypeVar

Key = TypeVar("Key")


def adjust_p_values(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """The p-values, adjusted so that all of them together err as rarely as one would.

    By Holm's steps: the smallest counts as many times as there are p-values, the next one time
    less, and none becomes smaller than one before it.
    """
    adjusted: dict[Key, float] = {}
    largest = 0.0
    for place, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[key]))
        adjusted[key] = largest
    return {key: adjusted[key] for key in p_values}
