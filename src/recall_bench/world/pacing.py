"""How much happens on a day."""

from collections.abc import Sequence

from recall_bench.world.chance import RandomStream
from recall_bench.world.dates import Dates

_WORDS = {"quiet": (60, 170), "normal": (330, 640), "busy": (520, 850), "dense": (850, 1250)}
"""How many words a day aims at, by its level."""

_SWINGS: dict[str, tuple[tuple[str, float], ...]] = {
    "off": (("quiet", 0.12),),
    "quiet": (("normal", 0.08),),
    "normal": (("busy", 0.16), ("quiet", 0.05), ("dense", 0.03)),
    "busy": (("dense", 0.16), ("normal", 0.1)),
    "dense": (),
}
"""What a day of one level may turn out to be instead, and how often."""


class DayPace:
    """The level of each day and the words it aims at."""

    def __init__(
        self,
        week: Sequence[str],
        away: Sequence[tuple[int, int]],
        dates: Dates,
        *,
        seed: int,
        density: float,
    ) -> None:
        self._week = week
        self._away = away
        self._dates = dates
        self._density = density
        self._chance = RandomStream(seed, "days")

    def draw_level(self, day: int, *, is_due: bool) -> str:
        """The day's level; a day on which something must be told is never off."""
        if any(first <= day <= last for first, last in self._away):
            return "quiet" if is_due else "off"
        usual = self._week[self._dates.get_weekday(day)]
        level = usual
        for other, probability in _SWINGS[usual]:
            if self._chance.is_hit(probability):
                level = other
                break
        if day == 1:
            return "busy"
        return "quiet" if level == "off" and is_due else level

    def draw_word_count(self, level: str) -> int:
        """How many words a day of this level aims at."""
        low, high = _WORDS[level]
        return int(self._chance.draw_between(low, high) * self._density)
