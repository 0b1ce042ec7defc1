"""Values that are almost right, and therefore wrong.

A miss is of the same make as the value and close to it; it is never another way to write it.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal

from recall_bench.judge_lab.audit.number_words import (
    SMALL_NUMBERS,
    SMALL_ORDINALS,
    spell_ordinal,
    spell_small,
)
from recall_bench.judge_lab.audit.values import MONTHS, AuditValue, ValueKind

Miss = tuple[str, str]
"""The recipe and the wrong value."""

_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SMALL_NUMBER = re.compile(rf"(?<![\w-])({'|'.join(SMALL_NUMBERS)})(?![\w-])")
_SMALL_ORDINAL = re.compile(rf"(?<![\w-])({'|'.join(SMALL_ORDINALS)})(?![\w-])")
_OTHER_UNIT = {
    "minutes": "hours",
    "hours": "minutes",
    "seconds": "minutes",
    "days": "weeks",
    "weeks": "days",
    "months": "weeks",
    "years": "months",
    "mg": "g",
    "kg": "g",
}
_DAYS_OFF = (-9, -7, -3, -2, -1, 1, 2, 4, 7, 10)
_MINUTES_OFF = (-60, -30, -15, -10, -5, 5, 10, 20, 30, 60)


def list_misses(value: AuditValue) -> list[Miss]:
    """Near misses of a value; none for a name or for text without a number."""
    maker = _MISS_MAKERS.get(value.kind)
    if maker is None:
        return []
    return [(recipe, text) for recipe, text in maker(value) if text != value.text]


def _change_date(value: AuditValue) -> Iterator[Miss]:
    day = value.day
    if day is None:
        return
    for off in _DAYS_OFF:
        moved = day + timedelta(days=off)
        yield "days off", _format_like(value.text, moved)
    for month in (day.month - 1, day.month + 1):
        if 1 <= month <= len(MONTHS) and day.day <= 28:
            yield "a month off", _format_like(value.text, day.replace(month=month))
    if not (day.month == 2 and day.day == 29):
        yield "a year off", _format_like(value.text, day.replace(year=day.year + 1))
        yield "a year off", _format_like(value.text, day.replace(year=day.year - 1))


def _format_like(like: str, day: date) -> str:
    month = MONTHS[day.month - 1]
    if like[:4].isdigit():
        return day.isoformat()
    if like[:1].isdigit():
        return f"{day.day} {month} {day.year}"
    return f"{month} {day.day}, {day.year}"


def _change_time(value: AuditValue) -> Iterator[Miss]:
    start = value.minutes or 0
    for off in _MINUTES_OFF:
        hours, minutes = divmod((start + off) % (24 * 60), 60)
        yield "minutes off", f"{hours:02}:{minutes:02}"
    hours, minutes = divmod(start, 60)
    half = "pm" if hours < 12 else "am"
    yield "wrong half of the day", f"{(hours - 1) % 12 + 1}:{minutes:02} {half}"


def _change_number(value: AuditValue) -> Iterator[Miss]:
    yield from _change_figures(value.text)
    unit = value.unit.strip()
    if value.kind is ValueKind.MEASURE and unit in _OTHER_UNIT:
        yield "wrong unit", value.text.replace(unit, _OTHER_UNIT[unit])


def _change_code(value: AuditValue) -> Iterator[Miss]:
    """A slip of the pen in the last run of digits."""
    runs = list(re.finditer(r"\d+", value.text))
    if not runs:
        return
    run = runs[-1]
    for slip in _list_slips(run[0]):
        yield "slipped digit", value.text[: run.start()] + slip + value.text[run.end() :]


def _change_phrase(value: AuditValue) -> Iterator[Miss]:
    text = value.text
    if _DIGITS.search(text):
        yield from _change_figures(text)
        return
    for pattern, numbers, word in (
        (_SMALL_NUMBER, SMALL_NUMBERS, spell_small),
        (_SMALL_ORDINAL, SMALL_ORDINALS, spell_ordinal),
    ):
        if match := pattern.search(text):
            number = numbers[match[1]]
            for other in (number - 1, number + 1, number + 2):
                if other in numbers.values():
                    yield "another count", text[: match.start()] + word(other) + text[match.end() :]


def _change_figures(text: str) -> Iterator[Miss]:
    """The first number of the text, a little off; written as it was."""
    match = _DIGITS.search(text)
    if match is None:
        return
    number = Decimal(match[0].replace(",", ""))
    step = _find_step(match[0])
    off = [("one off", number + step), ("one off", number - step), ("two off", number + 2 * step)]
    if number >= 10 * step:
        near = (number / 10 / step).to_integral_value() * step
        off += [("a tenth off", number + near), ("a tenth off", number - near)]
    off += [("ten times", number * 10)]
    swapped = _swap_digits(match[0].replace(",", ""))
    if swapped:
        off.append(("swapped digits", Decimal(swapped)))
    for recipe, other in off:
        if other > 0 and other != number:
            written = f"{other:,f}" if "," in match[0] or other >= 10_000 else f"{other:f}"
            yield (
                recipe,
                text[: match.start()] + _trim_decimals(written, match[0]) + text[match.end() :],
            )


def _trim_decimals(written: str, like: str) -> str:
    """No more decimals than the original has."""
    if "." not in like and "." in written:
        return written.rstrip("0").rstrip(".")
    return written


def _find_step(written: str) -> Decimal:
    """The worth of the last digit that is not a filling zero: 10 for 640, 0.1 for 1.2."""
    plain = written.replace(",", "")
    if "." in plain:
        return Decimal(1).scaleb(-len(plain.partition(".")[2]))
    zeros = len(plain) - len(plain.rstrip("0"))
    return Decimal(1).scaleb(min(zeros, len(plain) - 1))


def _swap_digits(digits: str) -> str | None:
    """The first two neighbours that differ change places; no leading zero comes of it."""
    for i in range(len(digits) - 1):
        left, right = digits[i], digits[i + 1]
        if left.isdigit() and right.isdigit() and left != right and (i or right != "0"):
            return digits[:i] + right + left + digits[i + 2 :]
    return None


def _list_slips(digits: str) -> Iterator[str]:
    last = int(digits[-1])
    yield digits[:-1] + str((last + 1) % 10)
    yield digits[:-1] + str((last + 7) % 10)
    if len(digits) > 1 and (swapped := _swap_digits(digits)):
        yield swapped
    if len(digits) > 2:
        yield digits[:-2] + str((int(digits[-2]) + 1) % 10) + digits[-1]


_MISS_MAKERS: dict[ValueKind, Callable[[AuditValue], Iterator[Miss]]] = {
    ValueKind.DATE: _change_date,
    ValueKind.TIME: _change_time,
    ValueKind.MONEY: _change_number,
    ValueKind.PERCENT: _change_number,
    ValueKind.MEASURE: _change_number,
    ValueKind.NUMBER: _change_number,
    ValueKind.CODE: _change_code,
    ValueKind.NAME: _change_code,
    ValueKind.PHRASE: _change_phrase,
}
