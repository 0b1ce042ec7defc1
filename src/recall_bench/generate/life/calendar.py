"""Which days of a life edition have a log, and on which of them something happens."""

from collections.abc import Collection
from datetime import date

from recall_bench.generate.life.sources import LifeStory
from recall_bench.generate.world.fact_values import Dates
from recall_bench.generate.world.random_stream import RandomStream

_BUSY = 0.14
"""Share of working days on which more happens than usual."""


class LifeCalendar:
    """Off days, holidays, absences, quiet and busy days of one seed."""

    def __init__(self, story: LifeStory, due: Collection[int], seed: int) -> None:
        self.dates = Dates(date.fromisoformat(story.epoch), story.dates)
        self.days = story.days
        self._off = frozenset(story.off)
        self._holidays = frozenset(story.holidays)
        self._absences = story.absences
        chance = RandomStream(seed, "life", "calendar")
        draws = {day: (chance.draw_below(1000), chance.draw_below(1000)) for day in self.all_days}
        self.working = tuple(day for day in self.all_days if self.is_working(day))
        self.quiet = frozenset(
            day
            for day in self.working
            if draws[day][0] < 1000 * story.quiet and day not in due and day > 1
        )
        self.active = tuple(day for day in self.working if day not in self.quiet)
        """The days on which threads have steps and entities change."""
        self.busy = frozenset(day for day in self.active if draws[day][1] < 1000 * _BUSY)
        self.written = tuple(sorted({*self.working, *due}))
        """The days with a file: an authored event may fall on a day off."""

    @property
    def all_days(self) -> range:
        """Every day of the story."""
        return range(1, self.days + 1)

    def is_working(self, day: int) -> bool:
        """Whether people work on that day, which may lie after the end of the story."""
        at = self.dates.get_date(day)
        return not (
            at.weekday() in self._off
            or f"{at:%m-%d}" in self._holidays
            or any(first <= day <= last for first, last in self._absences)
        )

    def find_working(self, day: int) -> int:
        """The day, or the next working day after it."""
        while not self.is_working(day):
            day += 1
        return day

    def find_active(self, day: int, skip: int = 0) -> int | None:
        """The first active day from this one on, or the one `skip` further; None after the end."""
        low, high = 0, len(self.active)
        while low < high:
            middle = (low + high) // 2
            if self.active[middle] < day:
                low = middle + 1
            else:
                high = middle
        place = low + skip
        return self.active[place] if place < len(self.active) else None

    def add_working_days(self, day: int, count: int) -> int | None:
        """The active day that many active days after a day; None after the end."""
        return self.find_active(day + 1, max(0, count - 1))
