"""Words and values in the texts of datasets: the reader of the lints and of the generator.

A value is right or wrong and nothing in between: an amount, a date, a time of day, a code, a
quotation or a proper name. Spellings of one value read the same: `$420M` and `$420 million`,
`5 March 2026` and `2026-03-05`, `6:30 AM` and `06:30`. The `core` of a value leaves out what
people leave out: the unit, the year, the half of the day. The judge reads more spellings, see
`values`; both are built from `value_patterns`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from recall_bench.text.languages import list_foreign_languages
from recall_bench.text.multilingual_text import guess_language
from recall_bench.text.multilingual_values import (
    normalise_multilingual_values,
    pick_multilingual_signs,
)
from recall_bench.text.text import TEXT_STOPWORDS, TYPOGRAPHY, load_stemmer
from recall_bench.text.value_patterns import (
    CURRENCY_CODES,
    MONTH_PATTERN,
    MONTHS,
    NUMBER_PATTERN,
    ORDINAL_ENDING,
    RANGE_SCALE_PATTERN,
    SCALE_PATTERN,
    WEEKDAYS,
    is_denied_before,
    normalise_clock,
    parse_month,
    scale_number,
)

_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")
_ASCII_WORDS = "".join(char.lower() if char.isalnum() else " " for char in map(chr, range(128)))
"""For each character: small letters and digits stay, all else parts words."""

CALENDAR_WORDS = frozenset(
    word.lower()
    for word in (
        *(form for day in WEEKDAYS for form in (day, f"{day}s", day[:3])),
        *(form for month in MONTHS for form in (month, month[:3])),
        "Sept",
    )
)
"""The names of months and weekdays."""


def normalise_text(text: str) -> str:
    """Return the text with straight quotes, plain hyphens and blanks, without emphasis.

    Values in the forms of other languages take the English form.
    """
    text = normalise_multilingual_values(text).replace("*", "")
    if text.isascii():
        return text
    # A table for all signs would look up every letter too.
    for sign in TYPOGRAPHY.keys() & set(pick_multilingual_signs(text)):
        text = text.replace(sign, TYPOGRAPHY[sign])
    return text


def list_words(text: str) -> list[str]:
    """List every word and number of a text, in lower case, possessives kept apart: `nell`, `s`."""
    if not text.isascii():
        signs = set(pick_multilingual_signs(text))
        if any(map(str.isalnum, signs)):
            return _WORD.findall(text.lower())
        for sign in signs:
            text = text.replace(sign, " ")
    # A quarter of the time of the pattern.
    return text.translate(_ASCII_WORDS).split()


def collect_stems(text: str) -> frozenset[str]:
    """Return the stems of the words with content."""
    words = set(list_words(normalise_text(text)))
    return frozenset(map(_find_stem, words.difference(TEXT_STOPWORDS)))


def collect_topics(text: str) -> frozenset[str]:
    """Return the stems without numbers, months and weekdays, which fit any topic."""
    words = set(list_words(normalise_text(text))).difference(TEXT_STOPWORDS, CALENDAR_WORDS)
    return frozenset(_find_stem(word) for word in words if not _DIGIT.search(word))


@lru_cache(maxsize=200_000)
def _find_stem(word: str) -> str:
    return str(load_stemmer().stemWord(word))


def measure_likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words that two texts have in common; 0 without words."""
    return len(one & other) / (len(one | other) or 1)


MONEY, PERCENT, NUMBER, DATE, TIME = "money", "percent", "number", "date", "time"
CODE, QUOTE, NAME = "code", "quotation", "name"

_COINS = {"dollar": "usd", "usd": "usd", "euro": "eur", "eur": "eur", "pound": "gbp", "gbp": "gbp"}

# The first character decides which alternatives are tried: most words are none of them.
_VALUES = re.compile(
    rf"""(?<![\w.])(?:
      (?=\d)(?:
          (?P<iso>(\d{{4}})-(\d\d)-(\d\d)(?!\d))
        | (?P<day_month>(\d\d?){ORDINAL_ENDING}\s(?:of\s)?({MONTH_PATTERN})(?:,?\s(\d{{4}})\b)?)
        | (?P<clock>(\d\d?):(\d\d)(?!\d)(?:\s?([apAP])\.?[mM]\b)?)
        | (?P<oclock>(\d\d?)\s?([apAP])\.?[mM]\b)
        | (?P<percent>({NUMBER_PATTERN})\s?(?:%|percent\b|per\scent\b))
        | (?P<number>({NUMBER_PATTERN})({SCALE_PATTERN})?(?:[\s-]?([^\W\d_]+))?(?![\w]))
        | (?P<serial>(\d[\w-]*[^\W\d_][\w-]*)))
    | (?=[$€£])(?P<money>([$€£])\s?({NUMBER_PATTERN}){RANGE_SCALE_PATTERN})
    | (?=[JFMASOND])(?P<month_day>({MONTH_PATTERN})\s(\d\d?){ORDINAL_ENDING}(?![\w:])
          (?:,?\s(\d{{4}})\b)?)
    | (?=[A-Za-z][\w-]{{0,24}}\d)(?P<code>([A-Za-z][\w-]*\d[\w-]*))
    )""",
    re.VERBOSE,
)
_QUOTED = re.compile(r'"([^"\n]{3,120})"|`([^`\n]{3,120})`')
_CAPITALS = re.compile(
    r"(?<![\w@/.`])[A-Z][\w'&]*(?:-[A-Z]\w*)*(?:\s[A-Z][\w'&]*(?:-[A-Z]\w*)*)*(?![\w@/]|-\d)"
)
_OPENING = re.compile(r"(?:^|[.!?:;]\s*|[\n(]\s*(?:[-*]\s*)?)[\"'(]*$")
_NOT_NAMES = (
    CALENDAR_WORDS
    | frozenset("am pm inc ltd llc corp co mr mrs ms dr".split())
    | frozenset(word.lower() for language in list_foreign_languages() for word in language.yes)
)
_DISTINCT_CODE = 4


class TextValue(NamedTuple):
    """One value in a text."""

    kind: str
    value: str
    core: str
    shown: str
    """The spelling in the text."""

    @property
    def is_exact(self) -> bool:
        """Whether it is unlikely to match by chance: names and short codes are not."""
        if self.kind == CODE:
            return len(self.value) >= _DISTINCT_CODE
        return self.kind != NAME

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a name or a quotation."""
        return tuple(word for word in list_words(self.value) if word not in _NOT_NAMES)


def find_text_values(text: str) -> Iterator[TextValue]:
    """Yield the amounts, dates, times and codes of a normalised text, with repeats."""
    return map(_read_value, _VALUES.finditer(text))


def locate_text_values(text: str) -> Iterator[tuple[int, int, TextValue]]:
    """Yield start, end and value of each."""
    return ((match.start(), match.end(), _read_value(match)) for match in _VALUES.finditer(text))


def remove_values(text: str) -> str:
    """Return the text without its amounts and units, dates, times and codes."""
    return _VALUES.sub(" ", normalise_text(text))


def find_claims(text: str) -> tuple[TextValue, ...]:
    """Return every value that a text claims, each once, without denied ones.

    A whole number below 100 counts only with a noun.
    """
    level = normalise_text(text)
    claims: dict[tuple[str, str], TextValue] = {}
    for atom in (*_find_claimed_values(level), *_find_quotations(level), *_find_names(level)):
        claims.setdefault((atom.kind, atom.value), atom)
    return tuple(claims.values())


def exclude_known(found: Iterable[TextValue], given: str) -> tuple[TextValue, ...]:
    """Return the values that another text, such as the question, does not contain."""
    level = normalise_text(given)
    cores = {(atom.kind, atom.core) for atom in find_text_values(level)}
    words = set(list_words(level))
    return tuple(
        atom
        for atom in found
        if (atom.kind, atom.core) not in cores
        and not (atom.kind in {NAME, QUOTE} and words.issuperset(atom.words))
    )


def _find_claimed_values(text: str) -> Iterator[TextValue]:
    for match in _VALUES.finditer(text):
        if is_denied_before(text, match.start()):
            continue
        atom = _read_value(match)
        if atom.kind != NUMBER or _is_telling(atom):
            yield atom


def _is_telling(number: TextValue) -> bool:
    if number.value != number.core:
        return True
    is_year = re.fullmatch(r"(?:19|20)\d\d", number.core) is not None
    return not is_year and (len(number.core) > 2)


def _find_quotations(text: str) -> Iterator[TextValue]:
    for match in _QUOTED.finditer(text):
        quote = (match[1] or match[2]).strip().rstrip(".,;:!?")
        value = " ".join(quote.lower().split())
        if list_words(value):
            yield TextValue(QUOTE, value, value, quote)


def _find_names(text: str) -> Iterator[TextValue]:
    """Yield runs of capitalised words; the first word of a sentence alone is no name.

    German writes every noun with a capital, so no name can be recognised there.
    """
    if guess_language(text) == "de":
        return
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    everything = list_words(text)
    for match in _CAPITALS.finditer(bare):
        words = [
            word
            for word in list_words(match[0].removesuffix("'s"))
            if word not in TEXT_STOPWORDS and word not in _NOT_NAMES and len(word) > 1
        ]
        opens = _OPENING.search(bare, max(0, match.start() - 8), match.start()) is not None
        if not words or any(char.isdigit() for word in words for char in word):
            continue
        if len(words) > 1 or not opens or words == everything or match[0].endswith("'s"):
            value = " ".join(words)
            yield TextValue(NAME, value, value, match[0].removesuffix("'s"))


def _read_value(match: re.Match[str]) -> TextValue:
    reader = str(match.lastgroup)
    text_value = _READERS[reader](match.groups()[match.re.groupindex[reader] :])
    return text_value._replace(shown=match[0])


def _make_date(year: str | None, month: int, day: int) -> TextValue:
    core = f"{month:02}-{day:02}"
    return TextValue(DATE, f"{year}-{core}" if year else core, core, "")


def _make_time(hour: str, minute: str, half: str | None) -> TextValue:
    return TextValue(TIME, *normalise_clock(hour, minute, half), "")


def _format_amount(number: str, scale: str | None = None) -> str:
    return f"{scale_number(number, scale):.12g}"


def _make_money(sign: str, amount: str) -> TextValue:
    return TextValue(MONEY, f"{CURRENCY_CODES.get(sign, sign)} {amount}", amount, "")


def _make_number(digits: str, scale: str | None, unit: str | None) -> TextValue:
    amount = _format_amount(digits, scale)
    name = unit.lower() if unit else ""
    if len(name) > 3 and name.endswith("s"):
        name = name[:-1]
    if name in _COINS:
        return _make_money(_COINS[name], amount)
    if not name or name in TEXT_STOPWORDS or name in CALENDAR_WORDS:
        return TextValue(NUMBER, amount, amount, "")
    return TextValue(NUMBER, f"{amount} {name}", amount, "")


def _make_code(groups: tuple[str, ...]) -> TextValue:
    name = groups[0].lower().rstrip("-_")
    return TextValue(CODE, name, name, "")


_READERS: dict[str, Callable[[tuple[str, ...]], TextValue]] = {
    "iso": lambda g: _make_date(g[0], int(g[1]), int(g[2])),
    "day_month": lambda g: _make_date(g[2], parse_month(g[1]), int(g[0])),
    "month_day": lambda g: _make_date(g[2], parse_month(g[0]), int(g[1])),
    "clock": lambda g: _make_time(g[0], g[1], g[2]),
    "oclock": lambda g: _make_time(g[0], "00", g[1]),
    "percent": lambda g: TextValue(PERCENT, f"{_format_amount(g[0])} %", _format_amount(g[0]), ""),
    "number": lambda g: _make_number(g[0], g[1], g[2]),
    "serial": _make_code,
    "money": lambda g: _make_money(g[0], _format_amount(g[1], g[2] or g[3])),
    "code": _make_code,
}
