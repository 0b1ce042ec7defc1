"""How far a survival curve may be believed."""

from typing import Final

from recall_bench.statistics.survival import HalfLife, Survival

MIN_AT_RISK: Final = 10
"""Questions that must be at risk: of fewer, a single loss takes more than a tenth of the curve."""


def cut_at_horizon(found: Survival) -> Survival | None:
    """The curve up to the last age at which enough questions were at risk; None if there is none.

    Few facts are followed to the greatest ages, and the last of them can take the curve to nothing.
    What lies beyond is not known, and nor is a half-life there.
    """
    enough = MIN_AT_RISK * found.facts / found.questions
    points = [each for each in found.curve if each.at_risk >= enough]
    if not points:
        return None
    last, half = points[-1].age, found.half_life
    return found.replace(
        curve=tuple(points),
        half_life=HalfLife(
            value=_drop_beyond(half.value, last),
            low=_drop_beyond(half.low, last),
            high=_drop_beyond(half.high, last),
            followed=last,
        ),
    )


def _drop_beyond(age: float | None, last: float) -> float | None:
    return age if age is not None and age <= last else None
