"""Languages other than English: calendar, numbers, yes and no.

German, Spanish, Japanese and Arabic. A text in another language is read as English: words are
compared as they stand, and only dates in figures, times and numbers are understood.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from recall_bench.text.value_patterns import MONTHS, WEEKDAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language, as far as dates, numbers and short answers go."""

    code: str
    name: str
    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    bare_date: str
    """Day and month, with the fields d, m, month, weekday and y."""
    full_date: str
    """With the year."""
    long_date: str
    """With the weekday."""
    day: str = "{d}"
    month: str = "{month}"
    has_decimal_comma: bool = False
    """Whether 1.450,50 means what 1,450.50 means in English."""
    is_spaced: bool = True
    """Whether blanks stand between words."""
    numbers: tuple[str, ...] = ()
    """The words for the small numbers, from zero; English has all of them in `values`."""
    yes: tuple[str, ...]
    denials: tuple[str, ...]
    """How a sentence that denies begins; without blanks between words, what it holds."""
    days: str
    """A number of days."""
    joint: str
    """What joins the last two of a list."""
    comma: str = ", "
    prefixes: str = ""
    """A pattern of what may be attached before a word."""


_ENGLISH = Language(
    code="en",
    name="English",
    months=MONTHS,
    weekdays=WEEKDAYS,
    bare_date="{d} {month}",
    full_date="{d} {month} {y}",
    long_date="{weekday} {d} {month}",
    yes=("Yes",),
    denials=tuple("no none not never nothing neither nobody nowhere".split()),
    days="{n} days",
    joint=" and ",
)

_GERMAN = Language(
    code="de",
    name="German",
    months=tuple(
        (
            "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
        ).split()
    ),
    weekdays=tuple("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()),
    bare_date="{d}. {month}",
    full_date="{d}. {month} {y}",
    long_date="{weekday}, {d}. {month}",
    day="{d}.",
    has_decimal_comma=True,
    numbers=tuple(
        (
            "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
            "fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig"
        ).split()
    ),
    yes=("Ja",),
    denials=tuple(
        (
            "nein nichts nicht nie niemals niemand kein keine keinen keiner keines keinem weder "
            "nirgends"
        ).split()
    ),
    days="{n} Tage",
    joint=" und ",
)

_SPANISH = Language(
    code="es",
    name="Spanish",
    months=tuple(
        (
            "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
            "diciembre"
        ).split()
    ),
    weekdays=tuple("lunes martes miércoles jueves viernes sábado domingo".split()),
    bare_date="{d} de {month}",
    full_date="{d} de {month} de {y}",
    long_date="{weekday} {d} de {month}",
    has_decimal_comma=True,
    numbers=tuple(
        (
            "cero un dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce "
            "quince dieciséis diecisiete dieciocho diecinueve veinte"
        ).split()
    ),
    yes=("Sí",),
    denials=tuple("no nada nunca nadie ningún ninguna ninguno ni tampoco jamás".split()),
    days="{n} días",
    joint=" y ",
)

_JAPANESE = Language(
    code="ja",
    name="Japanese",
    months=tuple(f"{month}月" for month in range(1, 13)),
    weekdays=tuple(f"{sign}曜日" for sign in "月火水木金土日"),
    bare_date="{m}月{d}日",
    full_date="{y}年{m}月{d}日",
    long_date="{m}月{d}日({weekday:.1})",
    day="{d}日",
    is_spaced=False,
    numbers=tuple(
        (
            "零 一 二 三 四 五 六 七 八 九 十 十一 十二 十三 十四 十五 十六 十七 十八 十九 二十"
        ).split()
    ),
    yes=("はい",),
    denials=("いいえ", "いえ", "ありません", "ません", "ない", "なかった"),
    days="{n}日",
    joint="と",
    comma="、",
)

_ARABIC = Language(
    code="ar",
    name="Arabic",
    months=tuple(
        "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر".split()
    ),
    weekdays=tuple("الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد".split()),
    bare_date="{d} {month}",
    full_date="{d} {month} {y}",
    long_date="{weekday} {d} {month}",
    numbers=tuple("صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة".split()),
    yes=("نعم", "أجل"),
    denials=tuple("لا لم لن ليس ليست كلا".split()),
    days="{n} يومًا",
    joint=" و",
    comma="، ",
    prefixes="[وفبلك]{0,2}(?:ال)?",
)

_ALL = {each.code: each for each in (_ENGLISH, _GERMAN, _SPANISH, _JAPANESE, _ARABIC)}

LANGUAGE_CODES = tuple(_ALL)
"""The languages whose dates, numbers and short answers are understood."""


def get_language(code: str) -> Language:
    """The language with this code; KeyError if it is not one of `LANGUAGE_CODES`."""
    return _ALL[code]


@cache
def list_foreign_languages() -> tuple[Language, ...]:
    """Every language but English."""
    return tuple(each for each in _ALL.values() if each.code != "en")


def is_denial(text: str, language: Language) -> bool:
    """Whether a sentence begins with a denial, or holds one where no blanks part the words."""
    if not language.is_spaced:
        return any(word in text for word in language.denials)
    first = re.match(r"\W*(\w+)", text)
    return first is not None and first[1].casefold() in language.denials


def is_affirmation(text: str, language: Language) -> bool:
    """Whether a sentence begins with a yes."""
    start = re.sub(r"\A\W+", "", text).casefold()
    end = r"\b" if language.is_spaced else ""
    return any(re.match(re.escape(yes.casefold()) + end, start) for yes in language.yes)


def join_list(parts: Sequence[str], language: Language) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = parts or ("",)
    return f"{language.comma.join(first)}{language.joint}{last}" if first else last
