"""Values written as in German, Spanish, Japanese or Arabic, put into the English form.

`3. November 2025`, `3 de noviembre de 2025`, `2025年11月3日` and `3 نوفمبر 2025` become
`3 November 2025`; `14.200 €` becomes `€14,200`, `99,000円` becomes `¥99,000`, `٢٥` becomes 25, and
`6時30分` becomes 6:30. So every reader of values needs to know English forms alone.
"""

import re
from collections.abc import Callable
from functools import cache

from recall_bench.text.languages import Language, get_language, list_foreign_languages
from recall_bench.text.value_patterns import MONTHS

_WESTERN = str.maketrans(
    {chr(zero + digit): str(digit) for zero in (0x660, 0x6F0, 0xFF10) for digit in range(10)}
    | {"٪": "%", "％": "%", "٬": ",", "٫": ".", "：": ":", "￥": "¥"}
)
_SWAP = str.maketrans(".,", ",.")
_SEPARATED = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)+(?![\d])")
_FIGURES = r"\d+(?:[.,]\d+)*"
_COMMA_FIGURES = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:\.\d{3})*,\d{1,2}|\d{1,3}(?:\.\d{3}){2,})(?![\d,]|\.\d)"
)
"""Figures that only a language with a decimal comma writes so: 1.450,50 and 0,62, not 1,450."""
_EURO_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?=\s?(?:€|Euros?\b|euros?\b|EUR\b))")
_EURO = re.compile(rf"(?<![\d.,])({_FIGURES})\s?(?:€|Euros?\b|euros?\b|EUR\b)")
_YEN = re.compile(rf"¥?(?<![\d.,])({_FIGURES})\s?円")
_MAN_YEN = re.compile(r"(?<![\d.,])(\d+(?:\.\d+)?)万(\d{1,4})?(?=円)")
_DIRHAM = re.compile(rf"(?<![\d.,])({_FIGURES})\s?(?:درهم[\u064b-\u0652]*ا?|دراهم|د\.إ\.?)")
_CLOCK = re.compile(r"(?<!\d)(\d{1,2})時(?!間)(?:(\d{1,2})分|(半))?")
_PERCENT = re.compile(
    r"(?<=\d)\s?(?:Prozent\b|por ciento\b|パーセント|بالمئة|في المئة|بالمائة|في المائة)"
)
_UNSPACED = re.compile(
    r"(?<=[\u0621-\u064a\u3040-\u30ff\u3400-\u9fff])(?=[\d¥])"
    r"|(?<=\d)(?=[\u0621-\u064a\u3040-\u30ff\u3400-\u9fff])"
)
"""A border between Arabic or Japanese letters and figures."""
_FORM = re.compile(
    r"\d(?:,\d{1,2}(?!\d)|º?\sde\s|\.\s?(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)"
    r"|\s?(?:Prozent|por ciento))"
)
_SIGN = re.compile(
    r"[€円¥時٪％\u0621-\u064a\u0660-\u0669\u06f0-\u06f9\u3040-\u30ff\u3400-\u9fff\uff10-\uff19]"
)
"""Text without any of these signs and forms holds no such value."""


def normalise_multilingual_values(text: str, language: str | None = None) -> str:
    """The text with its dates, sums, figures and times in the English form.

    Without a language only forms are changed that English does not have: `1,8 %` but not `5.000`.
    """
    if language == "en" or (language is None and not _has_sign(text)):
        return text
    text = text.translate(_WESTERN)
    text = _compile_dates(language).sub(_write_date, text)
    text = _level_figures(text, language)
    if language is not None:
        text = _EURO.sub(r"€\1", text)
    text = _MAN_YEN.sub(_write_ten_thousands, text)
    text = _YEN.sub(r"¥\1", text)
    text = _DIRHAM.sub(r"AED \1", text)
    text = _CLOCK.sub(_write_clock, text)
    text = _PERCENT.sub("%", text)
    return _UNSPACED.sub(" ", text)


def _has_sign(text: str) -> bool:
    if not text.isascii() and _SIGN.search(pick_multilingual_signs(text)):
        return True
    # It starts with a set of signs, which is found fastest.
    return _FORM.search(text) is not None


_ASCII = bytes(range(128))


def pick_multilingual_signs(text: str) -> str:
    """The signs of a text that are not ASCII, in order: few are, and one search finds them."""
    encoded = text.encode("utf-8", "surrogatepass")
    return encoded.translate(None, _ASCII).decode("utf-8", "surrogatepass")


def swap_separators(figures: str) -> str:
    """1.450,50 for 1,450.50 and the other way round."""
    return figures.translate(_SWAP)


def _level_figures(text: str, language: str | None) -> str:
    if language is not None:
        if not get_language(language).has_decimal_comma:
            return text
        return _SEPARATED.sub(lambda found: swap_separators(found[0]), text)
    text = _EURO_THOUSANDS.sub(lambda found: swap_separators(found[0]), text)
    return _COMMA_FIGURES.sub(lambda found: swap_separators(found[0]), text)


def _write_ten_thousands(found: re.Match[str]) -> str:
    return f"{round(float(found[1]) * 10_000) + int(found[2] or 0):,}"


def _write_clock(found: re.Match[str]) -> str:
    minute = 30 if found[3] else int(found[2] or 0)
    return f"{int(found[1])}:{minute:02}"


@cache
def _compile_dates(code: str | None) -> re.Pattern[str]:
    languages = list_foreign_languages() if code is None else (get_language(code),)
    return re.compile("|".join(_build_pattern(language) for language in languages))


def _build_pattern(language: Language) -> str:
    """The dates of a language; the names of its groups end with its code."""
    code = language.code
    return _PATTERNS[code](code, "|".join(sorted(language.months, key=len, reverse=True)))


_PATTERNS: dict[str, Callable[[str, str], str]] = {
    "de": lambda c, months: (
        rf"(?<![\d.,])(?P<d{c}>\d{{1,2}})\.\s?(?P<n{c}>{months})\b(?:\s(?P<y{c}>\d{{4}})(?!\d))?"
    ),
    "es": lambda c, months: (
        rf"(?<![\d.,])(?P<d{c}>\d{{1,2}})º?\sde\s(?P<n{c}>(?i:{months}))\b"
        rf"(?:\s(?:de|del)\s(?P<y{c}>\d{{4}})(?!\d))?"
    ),
    "ja": lambda c, _: (
        rf"(?:(?P<y{c}>\d{{4}})年)?(?<!\d)(?P<n{c}>\d{{1,2}})月(?P<d{c}>\d{{1,2}})日"
        r"(?:\([月火水木金土日]\)|（[月火水木金土日]）)?"
    ),
    "ar": lambda c, months: (
        rf"(?<![\d.,])(?P<d{c}>\d{{1,2}})\s(?:من\s)?(?P<n{c}>{months})(?!\w)"
        rf"(?:،?\s(?:عام\s|سنة\s)?(?P<y{c}>\d{{4}})(?!\d))?"
    ),
}


def _write_date(found: re.Match[str]) -> str:
    code = next(name[1:] for name, value in found.groupdict().items() if value and name[0] == "d")
    name, day, year = found[f"n{code}"], int(found[f"d{code}"]), found[f"y{code}"]
    number = int(name) if name.isdigit() else _number_months(code)[name.casefold()]
    if not 1 <= number <= len(MONTHS):
        return found[0]
    blank = "" if get_language(code).is_spaced else " "
    written = f"{day} {MONTHS[number - 1]}" + (f" {year}" if year else "")
    return f"{blank}{written}{blank}"


@cache
def _number_months(code: str) -> dict[str, int]:
    months = get_language(code).months
    return {month.casefold(): number for number, month in enumerate(months, start=1)}
