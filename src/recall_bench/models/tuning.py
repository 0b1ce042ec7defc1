"""How a model is to be asked, as far as somebody said so outside of its spec."""

import math
from dataclasses import dataclass

from recall_bench.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What flags or a profile ask for. It goes before what the spec says."""

    temperature: float | None = None
    max_tokens: int | None = None
    """The most that a reply may take."""
    usual_temperature: float | None = None
    """For models of providers, where neither the user nor the spec says one; None is 0."""

    def __post_init__(self) -> None:
        for temperature in (self.temperature, self.usual_temperature):
            if temperature is not None and not _is_temperature(temperature):
                raise UsageError(f"--temperature: takes a number from 0 to 2, not {temperature}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UsageError(f"--max-tokens: takes a whole number from 1, not {self.max_tokens}")


def _is_temperature(number: float) -> bool:
    return math.isfinite(number) and 0 <= number <= 2


NO_TUNING = Tuning()
"""Nobody said anything."""
