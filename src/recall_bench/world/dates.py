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

    def get_date(self, day: int) -> date:
        """The calendar date of a story day; day 1 is the epoch."""
        return self.epoch + timedelta(days=day - 1)

    def format_day(self, day: int) -> str:
        """The date of a story day as the text writes it: `4 March 2025`."""
        return _format_date(self.get_date(day), self.style)

    def format_heading(self, day: int) -> str:
        """The same with its weekday before it."""
        at = self.get_date(day)
        joint = ", " if self.style == "month-first" else " "
        return f"{_WEEKDAYS[at.weekday()]}{joint}{self.format_day(day)}"

    def list_spellings(self, day: int, *, without_year: bool = True) -> tuple[str, ...]:
        """Every other way to write it."""
        at = self.get_date(day)
        month = _MONTHS[at.month - 1]
        ways = [_format_date(at, style) for style in STYLES]
        if without_year:
            ways += [f"{at.day} {month}", f"{month} {at.day}"]
        return tuple(way for way in ways if way != self.format_day(day))

    def get_weekday(self, day: int) -> int:
        """0 for a Monday."""
        return self.get_date(day).weekday()

    def get_month(self, day: int) -> str:
        """The month as a sortable key: `2025-03`."""
        return self.get_date(day).isoformat()[:7]


def format_month(key: str) -> str:
    """`2025-03` in words: `March 2025`."""
    return f"{_MONTHS[int(key[5:]) - 1]} {key[:4]}"


def _format_date(at: date, style: str) -> str:
    month = _MONTHS[at.month - 1]
    if style == "iso":
        return at.isoformat()
    if style == "month-first":
        return f"{month} {at.day}, {at.year}"
    return f"{at.day} {month} {at.year}"
