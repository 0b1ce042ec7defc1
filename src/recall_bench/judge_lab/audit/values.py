"""What an answer has to say, read from how the dataset writes it."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

MONTHS = (
    "January February March April May June July August September October November December"
).split()

_MONTH = "|".join(MONTHS)
_WEEKDAY = r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?"
_DATES = (
    re.compile(rf"{_WEEKDAY}(?P<month>{_MONTH}) (?P<day>\d{{1,2}}), (?P<year>\d{{4}})"),
    re.compile(rf"{_WEEKDAY}(?P<day>\d{{1,2}}) (?P<month>{_MONTH}) (?P<year>\d{{4}})"),
    re.compile(r"(?P<year>\d{4})-(?P<number>\d\d)-(?P<day>\d\d)"),
)
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_MONEY = re.compile(rf"([$€£])({_NUMBER}) ?(k|K|M|bn|B|million|billion|thousand)?")
_PERCENT = re.compile(rf"({_NUMBER}) ?%")
_MEASURE = re.compile(rf"({_NUMBER})( ?[^\d\s,;][^\d,;]{{0,40}})")
_PLAIN = re.compile(_NUMBER)
_CODE = re.compile(r"(?=[^ ]*\d)(?=[^ ]*[A-Za-z-])[A-Za-z0-9][A-Za-z0-9./-]*[A-Za-z0-9]")
_NAME = re.compile(r"(?:[A-ZÀ-Ö][\w'’.-]*)(?: (?:[A-ZÀ-Ö][\w'’.-]*|of|the|and|de|van|von))*")


class ValueKind(StrEnum):
    """The make of a value; each is put into other words, and missed, in its own ways."""

    DATE = "date"
    TIME = "time"
    MONEY = "money"
    PERCENT = "percent"
    MEASURE = "measure"
    """A number with a unit, or with what is counted."""
    NUMBER = "number"
    CODE = "code"
    PERSON = "person"
    NAME = "name"
    PHRASE = "phrase"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditValue:
    """One value, as written and as meant."""

    kind: ValueKind
    text: str
    day: date | None = None
    minutes: int | None = None
    """Since midnight."""
    number: Decimal | None = None
    unit: str = ""
    """What follows the number: a unit, the thing counted, or the scale of a sum of money."""
    currency: str = ""


def parse_value(text: str, aliases: Collection[str] = ()) -> AuditValue:
    """The value a text is. A capitalised name whose parts stand for it is a person's."""
    bare = text.strip()
    for reader in (_parse_date_value, _parse_clock, _parse_money, _parse_percent, _parse_count):
        found = reader(bare)
        if found is not None:
            return found
    if _CODE.fullmatch(bare):
        return AuditValue(kind=ValueKind.CODE, text=bare)
    if _NAME.fullmatch(bare):
        is_person = bool(aliases) and all(alias in bare.split() for alias in aliases)
        return AuditValue(kind=ValueKind.PERSON if is_person else ValueKind.NAME, text=bare)
    return AuditValue(kind=ValueKind.PHRASE, text=bare)


def parse_date(text: str) -> date | None:
    """The date a text is, if it is one."""
    found = _parse_date_value(text.strip())
    return found.day if found else None


def _parse_date_value(text: str) -> AuditValue | None:
    for shape in _DATES:
        if match := shape.fullmatch(text):
            parts = match.groupdict()
            month = parts.get("number") or MONTHS.index(parts["month"]) + 1
            day = date(int(parts["year"]), int(month), int(parts["day"]))
            return AuditValue(kind=ValueKind.DATE, text=text, day=day)
    return None


def _parse_clock(text: str) -> AuditValue | None:
    match = _TIME.fullmatch(text)
    if not match:
        return None
    return AuditValue(kind=ValueKind.TIME, text=text, minutes=int(match[1]) * 60 + int(match[2]))


def _parse_money(text: str) -> AuditValue | None:
    match = _MONEY.fullmatch(text)
    if not match:
        return None
    return AuditValue(
        kind=ValueKind.MONEY,
        text=text,
        number=_parse_amount(match[2]),
        unit=match[3] or "",
        currency=match[1],
    )


def _parse_percent(text: str) -> AuditValue | None:
    match = _PERCENT.fullmatch(text)
    return (
        AuditValue(kind=ValueKind.PERCENT, text=text, number=_parse_amount(match[1]))
        if match
        else None
    )


def _parse_count(text: str) -> AuditValue | None:
    if _PLAIN.fullmatch(text):
        return AuditValue(kind=ValueKind.NUMBER, text=text, number=_parse_amount(text))
    match = _MEASURE.fullmatch(text)
    if not match or _CODE.fullmatch(text):
        return None
    return AuditValue(
        kind=ValueKind.MEASURE, text=text, number=_parse_amount(match[1]), unit=match[2]
    )


def _parse_amount(written: str) -> Decimal:
    return Decimal(written.replace(",", ""))
