"""What an answer to a question has to say: its shape and its values, as the dataset writes them."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache

from recall_bench.core.scenario import NEGATIVE, TEMPORAL, Disclosure, Expects, Item
from recall_bench.core.value_patterns import MONTHS

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
    """The kind of a value; each is reworded and missed in its own ways."""

    DATE = "date"
    TIME = "time"
    MONEY = "money"
    PERCENT = "percent"
    MEASURE = "measure"
    """A number with a unit or the thing counted."""
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
    """What follows the number: a unit, the thing counted, or the scale of an amount of money."""
    currency: str = ""


def parse_value(text: str, aliases: Collection[str] = ()) -> AuditValue:
    """The value of a text. A capitalised name whose parts are its aliases is a person."""
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


_MONTH_NAMES = "|".join(MONTHS)
_ID = re.compile(
    rf"\b(?:[A-Z]{{1,5}}-\d[\w-]*|(?!(?:{_MONTH_NAMES}) )[A-Z][a-z]+ \d{{2,}}|\d{{2}}-\d{{3,}})\b"
)
_PROPER = re.compile(r"(?<=[a-z] )[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})?")


_WEIGHTY = re.compile(r"[A-Za-z]{4,}|\d[\d.,:]*\d|\d")


class AnswerShape(StrEnum):
    """What kind of answer is asked for."""

    VALUE = "value"
    EXTREME = "extreme"
    """Which one stood out, and at what figure."""
    PAIR = "which came first"
    TRIPLE = "order of three"
    YES = "yes"
    NO = "no"
    PARTIAL = "one part told, one withheld"
    WITHHOLD = "withheld"
    SEVERAL = "several answers"
    TEXT = "text"
    """Something longer without atoms."""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """The shape of the answer and its values, required ones first."""

    shape: AnswerShape
    values: tuple[AuditValue, ...] = ()

    @property
    def value(self) -> AuditValue:
        """The first value."""
        return self.values[0]


def make_answer_key(item: Item) -> AnswerKey:
    """What the item asks for."""
    truth = item.truth
    shape = _find_shape(item)
    if shape in {AnswerShape.NO, AnswerShape.WITHHOLD, AnswerShape.TEXT, AnswerShape.SEVERAL}:
        return AnswerKey(shape)
    if shape is AnswerShape.PARTIAL and len(truth.atoms) != 1:
        return AnswerKey(shape)
    if not truth.atoms:
        return AnswerKey(shape, (parse_value(_strip_stop(truth.reference)),))
    if shape is AnswerShape.YES:
        return AnswerKey(shape, tuple(parse_value(atom) for atom in truth.atoms[1:]))
    return AnswerKey(
        shape, tuple(parse_value(_add_unit(item, atom), truth.aliases) for atom in truth.atoms)
    )


def list_answer_strings(item: Item) -> tuple[str, ...]:
    """Every string that gives away the answer or a part of it."""
    truth = item.truth
    return tuple(dict.fromkeys((*truth.atoms, *truth.aliases, _strip_stop(truth.reference))))


def list_traces(item: Item) -> tuple[str, ...]:
    """What an irrelevant sentence must not hold.

    Without atoms, every content word of the reference.
    """
    truth = item.truth
    words = () if truth.atoms else _WEIGHTY.findall(truth.reference)
    values = (*truth.stale, *truth.distractors, *truth.withheld, *truth.canaries)
    return tuple(dict.fromkeys((*list_answer_strings(item), *values, *words)))


def is_in_text(text: str, words: str) -> bool:
    """Whether the words occur as whole words: the 2 of `2 days`, not that of `2024`."""
    return _compile_words(words).search(text) is not None


def is_any_in_text(text: str, words: Iterable[str]) -> bool:
    """Whether any of the words does."""
    lowered = text.lower()
    # Most words are not even a part of the text, which saves compiling and searching a pattern.
    return any(word.lower() in lowered and is_in_text(text, word) for word in words)


def find_topic(question: str) -> str | None:
    """What the question is about, if it names a number or a name."""
    found = _ID.findall(question) or _PROPER.findall(question)
    return next((name for name in found if name not in MONTHS), None)


@lru_cache(maxsize=4096)
def _compile_words(words: str) -> re.Pattern[str]:
    source = rf"(?<![\w-])(?<!\d[.,:]){re.escape(words)}(?![\w-])(?![.,:]\d)"
    return re.compile(source, re.IGNORECASE)


def _find_shape(item: Item) -> AnswerShape:  # noqa: PLR0911 - one line a shape
    truth = item.truth
    if truth.expects is Expects.WITHHOLD:
        return AnswerShape.WITHHOLD
    if truth.expects is Expects.ABSTAIN:
        return AnswerShape.NO
    if truth.disclosure is Disclosure.PARTIAL:
        return AnswerShape.PARTIAL
    if truth.category == NEGATIVE:
        return AnswerShape.YES if len(truth.atoms) == 2 else AnswerShape.TEXT
    if not truth.atoms:
        return AnswerShape.VALUE if _is_one_value(truth.reference) else AnswerShape.TEXT
    if truth.category == TEMPORAL and is_in_text(item.text, truth.atoms[0]):
        return {1: AnswerShape.PAIR, 3: AnswerShape.TRIPLE}.get(len(truth.atoms), AnswerShape.TEXT)
    return {1: AnswerShape.VALUE, 2: AnswerShape.EXTREME}.get(len(truth.atoms), AnswerShape.TEXT)


def _is_one_value(reference: str) -> bool:
    """Whether a bare reference is one value of a known kind."""
    return parse_value(_strip_stop(reference)).kind not in {ValueKind.PHRASE, ValueKind.NAME}


def _add_unit(item: Item, atom: str) -> str:
    """The atom with its unit, where the reference gives one: `19` is `19 days`."""
    bare = _strip_stop(item.truth.reference)
    is_number_of = atom.isdigit() and bare.startswith(f"{atom} ") and len(bare.split()) == 2
    return bare if is_number_of else atom


def _strip_stop(reference: str) -> str:
    return reference.strip().rstrip(".")
