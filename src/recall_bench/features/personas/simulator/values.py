"""Values and dates of a story: drawing them, writing them, and what is near to them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from recall_bench.core.random_stream import RandomStream

_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_STYLES = ("day-first", "month-first", "iso")
_SAME_YEAR = 150
"""Days from the mention within which a date without its year is unambiguous."""


class Dates:
    """The calendar of one story, in the persona's date style."""

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
        """The date with its weekday in front."""
        at = self.get_date(day)
        joint = ", " if self.style == "month-first" else " "
        return f"{_WEEKDAYS[at.weekday()]}{joint}{self.format_day(day)}"

    def list_spellings(self, day: int, *, without_year: bool = True) -> tuple[str, ...]:
        """Every other way to write it."""
        at = self.get_date(day)
        month = _MONTHS[at.month - 1]
        ways = [_format_date(at, style) for style in _STYLES]
        if without_year:
            ways += [f"{at.day} {month}", f"{month} {at.day}"]
        return tuple(way for way in ways if way != self.format_day(day))

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


@dataclass(frozen=True, slots=True)
class FactValue:
    """One value as the text writes it, with the number or day behind it."""

    kind: str
    text: str
    amount: Decimal | None = None
    day: int | None = None
    """The story day of a date."""
    others: tuple[str, ...] = ()
    """Other values it could have had."""


def find_bounds_fault(kind: str, bounds: Sequence[float | str]) -> str | None:
    """What is wrong with the bounds of a number, time or date; None if values can be drawn."""
    if len(bounds) not in (2, 3):
        return "has a lowest and a highest value, and perhaps a step"
    try:
        is_time = kind == "time"
        low, high = (
            Decimal(_parse_minutes(str(item)) if is_time else str(item)) for item in bounds[:2]
        )
        step = Decimal(str(bounds[2])) if len(bounds) > 2 else Decimal(1)
        if not (low.is_finite() and high.is_finite() and step.is_finite()):
            return "has a bound that is not a number"
    except (ArithmeticError, ValueError):
        return "has a bound that is not a " + ("time such as 9:30" if is_time else "number")
    if low > high:
        return "has a lowest value above the highest"
    if step <= 0 or (is_time and (step < 1 or high >= 24 * 60)):
        return "has a step that is not above 0" if step <= 0 else "has a bound beyond 23:59"
    return None


def format_number(kind: str, amount: Decimal, *, unit: str = "", currency: str = "$") -> FactValue:
    """A number as people write it: `1,240 ms`, `$4,350`, `12%`."""
    written = f"{amount:,}"
    if kind == "money":
        written = currency + (f"{amount:,.2f}" if amount % 1 else f"{amount:,.0f}")
    elif kind == "percent":
        written += "%"
    elif unit:
        written += unit if unit[0] in "°×" else f" {unit}"
    return FactValue(kind, written, amount=amount)


def draw_amount(bounds: Sequence[float], chance: RandomStream) -> Decimal:
    """A number on the grid from low to high; the third bound is the step, 1 if absent."""
    low, high, *rest = (Decimal(str(bound)) for bound in bounds)
    step = rest[0] if rest else Decimal(1)
    places = max(_count_decimals(low), _count_decimals(step))
    amount = low + step * chance.draw_between(0, int((high - low) / step))
    return amount.quantize(Decimal(1).scaleb(-places))


def draw_time(bounds: Sequence[str | int], chance: RandomStream) -> FactValue:
    """A time of day on the grid between two; the third bound is the step in minutes."""
    low, high = (_parse_minutes(str(bound)) for bound in bounds[:2])
    step = int(bounds[2]) if len(bounds) > 2 else 5
    minutes = low + step * chance.draw_between(0, (high - low) // step)
    return FactValue("time", f"{minutes // 60:02}:{minutes % 60:02}")


def draw_code(shape: str, chance: RandomStream) -> str:
    """A code of this shape: `#` a digit, `?` a capital."""
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    draws = {"#": lambda: str(chance.draw_below(10)), "?": lambda: chance.choose(letters)}
    return "".join(draws[mark]() if mark in draws else mark for mark in shape)


def list_spellings(value: FactValue, dates: Dates, told_on: int) -> tuple[str, ...]:
    """Other ways to write the same value; dates near the mention may omit the year."""
    if value.day is not None:
        return dates.list_spellings(value.day, without_year=abs(value.day - told_on) < _SAME_YEAR)
    ways = [value.text.replace(",", "")] if value.amount is not None else []
    if value.kind == "percent":
        ways.append(value.text.replace("%", " percent"))
    if value.kind == "time":
        hour, _, minute = value.text.partition(":")
        ways.append(f"{(int(hour) - 1) % 12 + 1}:{minute} {'am' if int(hour) < 12 else 'pm'}")
    return tuple(way for way in dict.fromkeys(ways) if way != value.text)


def list_near_values(
    value: FactValue, dates: Dates, chance: RandomStream, count: int = 3
) -> tuple[str, ...]:
    """Plausible but wrong values."""
    if value.others:
        others = [other for other in value.others if other != value.text]
        return tuple(chance.shuffle(others)[:count])
    near: dict[str, None] = {}
    for _ in range(4 * count):
        if value.day is not None:
            near[dates.format_day(max(1, value.day + chance.draw_between(-12, 12)))] = None
        elif value.amount is not None:
            near[_scale(value, chance.draw_between(72, 138))] = None
        else:
            near[re.sub(r"\d(?=\d*$)", str(chance.draw_below(6)), value.text)] = None
    return tuple(way for way in near if way != value.text)[:count]


def _scale(value: FactValue, percent: int) -> str:
    """The text of the value with its number scaled, in the same form."""
    amount = value.amount or Decimal(0)
    scaled = (amount * percent / 100).quantize(amount)
    return value.text.replace(f"{amount:,}", f"{scaled:,}")


def _count_decimals(number: Decimal) -> int:
    """Digits after the decimal point, trailing zeros not counted."""
    return len(f"{number:f}".partition(".")[2].rstrip("0"))


def _parse_minutes(clock_time: str) -> int:
    hours, _, minutes = clock_time.partition(":")
    return int(hours) * 60 + int(minutes)
