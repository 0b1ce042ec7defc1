"""Texts made comparable: typography levelled, words reduced to stems."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from Stemmer import Stemmer
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

_LEVEL = str.maketrans(
    {
        **dict.fromkeys("‘’ʼ′", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("\u00a0\u2009\u202f", " "),
        "*": None,
    }
)
_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")

CALENDAR_WORDS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays"
    " fridays saturdays sundays january february march april may june july august september"
    " october november december mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept"
    " oct nov dec".split()
)
"""The names of months and weekdays."""

STOPWORDS = frozenset(
    "a about after all also am an and any are as at be because been before being both but by can"
    " could did do does done during each for from had has have having he her him his how i if in"
    " into is it its itself just me might more most must my no nor not of off on once only or other"
    " our out over own s same she should so some such than that the their them then there these"
    " they this those through to too under until up upon us was we were what when where which while"
    " who whom whose why will with within would yes you your".split()
)
"""Words that carry no content of their own."""


def normalise_text(text: str) -> str:
    """The text with straight quotes and plain hyphens and blanks, without emphasis."""
    return text.translate(_LEVEL) if "*" in text or not text.isascii() else text


def split_words(text: str) -> list[str]:
    """Every word and number of a text, lower case, in order."""
    return _WORD.findall(text.lower())


def collect_stems(text: str) -> frozenset[str]:
    """The stems of the words with content in a text."""
    return frozenset(
        _find_stem(word) for word in split_words(normalise_text(text)) if word not in STOPWORDS
    )


def collect_topics(text: str) -> frozenset[str]:
    """The same without numbers, months and weekdays, which say when or how much of anything."""
    return frozenset(
        _find_stem(word)
        for word in split_words(normalise_text(text))
        if word not in STOPWORDS and word not in CALENDAR_WORDS and not _DIGIT.search(word)
    )


@lru_cache(maxsize=200_000)
def _find_stem(word: str) -> str:
    return str(_load_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _load_stemmer() -> "Stemmer":
    from Stemmer import Stemmer

    return Stemmer("english")


def measure_likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of words two texts have in common; 0 for two without any."""
    return len(one & other) / (len(one | other) or 1)


MONEY, PERCENT, NUMBER, DATE, TIME = "money", "percent", "number", "date", "time"
CODE, QUOTE, NAME = "code", "quotation", "name"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_TH = r"(?:st|nd|rd|th)?"
_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_SCALE = r"(?:\s?(?:thousand|million|billion)|(?:mm|mn|bn|[kKmMbB]))\b"
_SHARED_SCALE = rf"(?=\s?(?:-|to\s)\s?[$€£]?{_NUMBER}({_SCALE}))"
_CURRENCY = {"$": "usd", "€": "eur", "£": "gbp"}
_COINS = {"dollar": "usd", "usd": "usd", "euro": "eur", "eur": "eur", "pound": "gbp", "gbp": "gbp"}
_FACTORS = {"t": 1e3, "k": 1e3, "m": 1e6, "b": 1e9}

# The first character decides which alternatives are tried: most words are none of them.
_VALUES = re.compile(
    rf"""(?<![\w.])(?:
      (?=\d)(?:
          (?P<iso>(\d{{4}})-(\d\d)-(\d\d)(?!\d))
        | (?P<day_month>(\d\d?){_TH}\s(?:of\s)?({_MONTH})(?:,?\s(\d{{4}})\b)?)
        | (?P<clock>(\d\d?):(\d\d)(?!\d)(?:\s?([apAP])\.?[mM]\b)?)
        | (?P<oclock>(\d\d?)\s?([apAP])\.?[mM]\b)
        | (?P<percent>({_NUMBER})\s?(?:%|percent\b|per\scent\b))
        | (?P<number>({_NUMBER})({_SCALE})?(?:[\s-]?([^\W\d_]+))?(?![\w]))
        | (?P<serial>(\d[\w-]*[^\W\d_][\w-]*)))
    | (?=[$€£])(?P<money>([$€£])\s?({_NUMBER})(?:({_SCALE})|{_SHARED_SCALE})?)
    | (?=[JFMASOND])(?P<month_day>({_MONTH})\s(\d\d?){_TH}(?![\w:])(?:,?\s(\d{{4}})\b)?)
    | (?=[A-Za-z][\w-]{{0,24}}\d)(?P<code>([A-Za-z][\w-]*\d[\w-]*))
    )""",
    re.VERBOSE,
)
_QUOTED = re.compile(r'"([^"\n]{3,120})"|`([^`\n]{3,120})`')
_CAPITALS = re.compile(
    r"(?<![\w@/.`])[A-Z][\w'&]*(?:-[A-Z]\w*)*(?:\s[A-Z][\w'&]*(?:-[A-Z]\w*)*)*(?![\w@/]|-\d)"
)
_OPENING = re.compile(r"(?:^|[.!?:;]\s*|[\n(]\s*(?:[-*]\s*)?)[\"'(]*$")
_DENIED = re.compile(
    r"(?:\bnot|n't|\bno longer|\brather than|\binstead of|\bnever)"
    r"\s(?:(?:at|on|by|for|in|to|the|a|an|about|around|from)\s){0,2}$",
    re.IGNORECASE,
)
_NOT_NAMES = CALENDAR_WORDS | frozenset("am pm inc ltd llc corp co mr mrs ms dr".split())
_DISTINCT_CODE = 4


class TextValue(NamedTuple):
    """One atom."""

    kind: str
    value: str
    core: str
    shown: str
    """As the text has it."""

    @property
    def is_exact(self) -> bool:
        """Whether it is unlikely to be met by chance: names and short codes are not."""
        if self.kind == CODE:
            return len(self.value) >= _DISTINCT_CODE
        return self.kind != NAME

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a name or a quotation."""
        return tuple(word for word in split_words(self.value) if word not in _NOT_NAMES)


def find_values(text: str) -> Iterator[TextValue]:
    """The amounts, dates, times and codes of a plain text, in order, repeats included."""
    return map(_read_value, _VALUES.finditer(text))


def locate_values(text: str) -> Iterator[tuple[int, int, TextValue]]:
    """The same, each with where it starts and ends."""
    return ((match.start(), match.end(), _read_value(match)) for match in _VALUES.finditer(text))


def remove_values(text: str) -> str:
    """The text less its amounts with their units, dates, times and codes."""
    return _VALUES.sub(" ", normalise_text(text))


def find_claims(text: str) -> tuple[TextValue, ...]:
    """Every atom that a text claims, each once; values named only to be denied are not claimed.

    A whole number below 100 counts only if the thing counted follows.
    """
    level = normalise_text(text)
    found: dict[tuple[str, str], TextValue] = {}
    for atom in (*_find_claimed_values(level), *_find_quotations(level), *_find_names(level)):
        found.setdefault((atom.kind, atom.value), atom)
    return tuple(found.values())


def exclude_known(found: Iterable[TextValue], given: str) -> tuple[TextValue, ...]:
    """Those atoms that another text does not give away, as a question may its answer."""
    level = normalise_text(given)
    cores = {(atom.kind, atom.core) for atom in find_values(level)}
    said = set(split_words(level))
    return tuple(
        atom
        for atom in found
        if (atom.kind, atom.core) not in cores
        and not (atom.kind in {NAME, QUOTE} and said.issuperset(atom.words))
    )


def _find_claimed_values(text: str) -> Iterator[TextValue]:
    for match in _VALUES.finditer(text):
        if _DENIED.search(text, max(0, match.start() - 32), match.start()):
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
        shown = (match[1] or match[2]).strip().rstrip(".,;:!?")
        value = " ".join(shown.lower().split())
        if split_words(value):
            yield TextValue(QUOTE, value, value, shown)


def _find_names(text: str) -> Iterator[TextValue]:
    """Rows of capitalised words; a single one that opens a sentence is no name for that."""
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    everything = split_words(text)
    for match in _CAPITALS.finditer(bare):
        kept = [
            word
            for word in split_words(match[0].removesuffix("'s"))
            if word not in STOPWORDS and word not in _NOT_NAMES and len(word) > 1
        ]
        opens = _OPENING.search(bare, max(0, match.start() - 8), match.start()) is not None
        if not kept or any(char.isdigit() for word in kept for char in word):
            continue
        if len(kept) > 1 or not opens or kept == everything or match[0].endswith("'s"):
            value = " ".join(kept)
            yield TextValue(NAME, value, value, match[0].removesuffix("'s"))


def _read_value(match: re.Match[str]) -> TextValue:
    reader = str(match.lastgroup)
    found = _READERS[reader](match.groups()[match.re.groupindex[reader] :])
    return found._replace(shown=match[0])


def _make_date(year: str | None, month: int, day: int) -> TextValue:
    core = f"{month:02}-{day:02}"
    return TextValue(DATE, f"{year}-{core}" if year else core, core, "")


def _parse_month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _make_time(hour: str, minute: str, half: str | None) -> TextValue:
    hours = int(hour)
    core = f"{hours % 12}:{minute}"
    if half is None and (hours > 12 or hour.startswith("0")):
        half = "p" if hours > 12 else "a"
    return TextValue(TIME, f"{core}{half.lower()}" if half else core, core, "")


def _scale_number(number: str, scale: str | None) -> str:
    factor = _FACTORS[scale.strip()[0].lower()] if scale else 1.0
    return f"{float(number.replace(',', '')) * factor:.12g}"


def _make_money(sign: str, amount: str) -> TextValue:
    return TextValue(MONEY, f"{_CURRENCY.get(sign, sign)} {amount}", amount, "")


def _make_number(digits: str, scale: str | None, unit: str | None) -> TextValue:
    amount = _scale_number(digits, scale)
    name = unit.lower() if unit else ""
    if len(name) > 3 and name.endswith("s"):
        name = name[:-1]
    if name in _COINS:
        return _make_money(_COINS[name], amount)
    if not name or name in STOPWORDS or name in CALENDAR_WORDS:
        return TextValue(NUMBER, amount, amount, "")
    return TextValue(NUMBER, f"{amount} {name}", amount, "")


def _make_code(groups: tuple[str, ...]) -> TextValue:
    name = groups[0].lower().rstrip("-_")
    return TextValue(CODE, name, name, "")


_READERS: dict[str, Callable[[tuple[str, ...]], TextValue]] = {
    "iso": lambda g: _make_date(g[0], int(g[1]), int(g[2])),
    "day_month": lambda g: _make_date(g[2], _parse_month(g[1]), int(g[0])),
    "month_day": lambda g: _make_date(g[2], _parse_month(g[0]), int(g[1])),
    "clock": lambda g: _make_time(g[0], g[1], g[2]),
    "oclock": lambda g: _make_time(g[0], "00", g[1]),
    "percent": lambda g: TextValue(
        PERCENT, f"{_scale_number(g[0], None)} %", _scale_number(g[0], None), ""
    ),
    "number": lambda g: _make_number(g[0], g[1], g[2]),
    "serial": _make_code,
    "money": lambda g: _make_money(g[0], _scale_number(g[1], g[2] or g[3])),
    "code": _make_code,
}
