"""Story days as the persona writes them. Pure date arithmetic; no clock, no locale."""

from datetime import date, timedelta

_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

STYLES = ("day-first", "month-first", "iso")


class Dates:
    """The calendar of one story, in one persona's hand."""

    def __init__(self, epoch: date, style: str) -> None:
        self.epoch = epoch
        self.style = style

    def on(self, day: int) -> date:
        """The calendar date of a story day; day 1 is the epoch."""
        return self.epoch + timedelta(days=day - 1)

    def shown(self, day: int) -> str:
        """The date of a story day as the text writes it: `4 March 2025`."""
        return _written(self.on(day), self.style)

    def heading(self, day: int) -> str:
        """The same with its weekday before it."""
        at = self.on(day)
        joint = ", " if self.style == "month-first" else " "
        return f"{_WEEKDAYS[at.weekday()]}{joint}{self.shown(day)}"

    def spellings(self, day: int, *, without_year: bool = True) -> tuple[str, ...]:
        """Every other way to write it."""
        at = self.on(day)
        month = _MONTHS[at.month - 1]
        ways = [_written(at, style) for style in STYLES]
        if without_year:
            ways += [f"{at.day} {month}", f"{month} {at.day}"]
        return tuple(way for way in ways if way != self.shown(day))

    def weekday(self, day: int) -> int:
        """0 for a Monday."""
        return self.on(day).weekday()

    def month(self, day: int) -> str:
        """The month as a sortable key: `2025-03`."""
        return self.on(day).isoformat()[:7]


def month_name(key: str) -> str:
    """`2025-03` in words: `March 2025`."""
    return f"{_MONTHS[int(key[5:]) - 1]} {key[:4]}"


def _written(at: date, style: str) -> str:
    month = _MONTHS[at.month - 1]
    if style == "iso":
        return at.isoformat()
    if style == "month-first":
        return f"{month} {at.day}, {at.year}"
    return f"{at.day} {month} {at.year}"
