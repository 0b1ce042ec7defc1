"""Values and dates of the story: drawing, formatting, varying by seed, near misses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache

from recall_bench.core.random_stream import RandomStream
from recall_bench.text.value_patterns import find_precision

_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

STYLES = ("day-first", "month-first", "iso")


class Dates:
    """The calendar of one story, in the persona's date style."""

    def __init__(self, epoch: date, style: str) -> None:
        self.epoch = epoch
        self.style = style
        self._formatted: dict[int, str] = {}
        self._months: dict[int, str] = {}

    def get_date(self, day: int) -> date:
        """The calendar date of a story day; day 1 is the epoch."""
        return self.epoch + timedelta(days=day - 1)

    def format_day(self, day: int) -> str:
        """The date of a story day as the text writes it: `4 March 2025`."""
        text = self._formatted.get(day)
        if text is None:
            text = self._formatted[day] = _format_date(self.get_date(day), self.style)
        return text

    def format_heading(self, day: int) -> str:
        """The date with its weekday in front."""
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
        month = self._months.get(day)
        if month is None:
            month = self._months[day] = self.get_date(day).isoformat()[:7]
        return month


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


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SAME_YEAR = 150
"""Days from the mention within which a date without its year is unambiguous."""

_NUMERIC = frozenset({"number", "money", "percent"})
BOUNDED = ("number", "money", "percent", "time", "date")
"""The kinds that are drawn between bounds."""


@dataclass(frozen=True, slots=True)
class FactValue:
    """One value of a slot as the text writes it, with the number or day behind it."""

    kind: str
    text: str
    amount: Decimal | None = None
    day: int | None = None
    """The story day of a date."""
    others: tuple[str, ...] = ()
    """Other values it could have had, for distractors."""


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
    if step <= 0 or (is_time and step < 1):
        return "has a step that is not above 0"
    return None


def draw_amount(bounds: Sequence[float], chance: RandomStream) -> Decimal:
    """A number on the grid from low to high; the third bound is the step, 1 if absent."""
    low, step, count, unit = _parse_grid(tuple(bounds))
    return (low + step * chance.draw_between(0, count)).quantize(unit)


@cache
def _parse_grid(bounds: tuple[float, ...]) -> tuple[Decimal, Decimal, int, Decimal]:
    """The lowest number, the step, the number of steps, and the unit of the last digit."""
    low, high, *rest = (Decimal(str(bound)) for bound in bounds)
    step = rest[0] if rest else Decimal(1)
    places = max(_count_decimals(low), _count_decimals(step))
    return low, step, int((high - low) / step), Decimal(1).scaleb(-places)


def draw_time(bounds: Sequence[str | int], chance: RandomStream) -> FactValue:
    """A time of day on the grid between two; the third bound is the step in minutes."""
    low, high = (_parse_minutes(str(bound)) for bound in bounds[:2])
    step = int(bounds[2]) if len(bounds) > 2 else 5
    return _format_time(low + step * chance.draw_between(0, (high - low) // step))


def draw_code(shape: str, chance: RandomStream) -> FactValue:
    """A code of this shape: `#` a digit, `?` a capital."""
    return FactValue("code", "".join(_draw_character(mark, chance) for mark in shape))


def format_date(day: int, dates: Dates) -> FactValue:
    """A story day as a date."""
    return FactValue("date", dates.format_day(day), day=day)


def parse_value(kind: str, written: str) -> FactValue:
    """A value as an author wrote it."""
    results = _NUMBER.search(written) if kind in _NUMERIC else None
    return FactValue(kind, written, amount=_parse_magnitude(written, results) if results else None)


def draw_variation(value: FactValue, chance: RandomStream) -> FactValue:
    """Another value of the same form, for another seed: `$640M` becomes, say, `$710M`."""
    return scale_value(value, Decimal(chance.draw_between(72, 138)) / 100, chance)


def scale_value(value: FactValue, factor: Decimal, chance: RandomStream) -> FactValue:
    """The value times a factor, in the same form; times and codes change at random."""
    if value.kind in _NUMERIC and (match := _NUMBER.search(value.text)):
        number = Decimal(match[0].replace(",", ""))
        step = find_precision(match[0])
        moved = max(step, (number * factor / step).to_integral_value() * step)
        moved = moved.quantize(min(step, Decimal(1)))
        joined = f"{moved:,}" if "," in match[0] or moved >= 10_000 else str(moved)
        before, after = value.text[: match.start()], value.text[match.end() :]
        return parse_value(value.kind, before + joined + after)
    if value.kind == "time":
        moved_to = (_parse_minutes(value.text) + 5 * chance.draw_between(-9, 9)) % (24 * 60)
        return _format_time(moved_to)
    if value.kind == "code":
        return FactValue("code", re.sub(r"\d", lambda _: str(chance.draw_below(10)), value.text))
    return value


def list_near_values(
    value: FactValue, dates: Dates, chance: RandomStream, count: int = 3
) -> tuple[str, ...]:
    """Plausible but wrong values."""
    if value.others:
        pool = [other for other in value.others if other != value.text]
        return tuple(chance.shuffle(pool)[:count])
    near_values: dict[str, None] = {}
    for _ in range(12):
        if value.day is not None:
            other = dates.format_day(max(1, value.day + chance.draw_between(-12, 12)))
        else:
            other = draw_variation(value, chance).text
        if other != value.text:
            near_values[other] = None
        if len(near_values) == count:
            break
    return tuple(near_values)


def list_spellings(value: FactValue, dates: Dates, told_on: int | None = None) -> tuple[str, ...]:
    """Other ways to write the same value; dates near the mention may omit the year."""
    if value.day is not None:
        is_near = told_on is not None and abs(value.day - told_on) < _SAME_YEAR
        return dates.list_spellings(value.day, without_year=is_near)
    plain = value.text.replace(",", "") if value.kind in _NUMERIC else value.text
    ways = [plain] if plain != value.text else []
    if value.kind == "percent":
        ways.append(re.sub(r"\s?%", " percent", value.text))
    if value.kind == "time":
        hour, _, minute = value.text.partition(":")
        half = "am" if int(hour) < 12 else "pm"
        ways.append(f"{(int(hour) - 1) % 12 + 1}:{minute} {half}")
    return tuple(ways)


def sum_values(values: Sequence[FactValue]) -> FactValue:
    """The sum of numbers of one form, in the same form."""
    first = values[0]
    amount = sum((value.amount or Decimal(0) for value in values), Decimal(0))
    match = _NUMBER.search(first.text)
    if match is None:
        raise ValueError(f"{first.text} is not a number")
    if first.kind == "money":
        return format_number("money", amount, currency=first.text[: match.start()])
    unit = first.text[match.end() :].strip()
    return format_number(first.kind, amount, unit=unit)


def _parse_magnitude(written: str, found: re.Match[str]) -> Decimal:
    number = Decimal(found[0].replace(",", ""))
    scale = re.match(r"\s?(k|K|M|bn|B|million|billion|thousand)\b", written[found.end() :])
    powers = {"k": 3, "K": 3, "thousand": 3, "M": 6, "million": 6, "bn": 9, "B": 9, "billion": 9}
    return number.scaleb(powers[scale[1]]) if scale else number


def _count_decimals(number: Decimal) -> int:
    """Digits after the decimal point, trailing zeros not counted."""
    return len(f"{number:f}".partition(".")[2].rstrip("0"))


def _parse_minutes(clock_time: str) -> int:
    hours, _, minutes = clock_time.partition(":")
    return int(hours) * 60 + int(minutes)


def _format_time(minutes: int) -> FactValue:
    return FactValue("time", f"{minutes // 60:02}:{minutes % 60:02}")


def _draw_character(mark: str, chance: RandomStream) -> str:
    if mark == "#":
        return str(chance.draw_below(10))
    return chance.choose("ABCDEFGHJKLMNPRSTUVWXYZ") if mark == "?" else mark
