"""Readers that find values and names in prose.

A reader finds every value of its kind in a text. Each has a key, which is equal for equal values in
any spelling: `$640M` and `$640 million`, `4 March 2025` and `2025-03-04`, `Priya` and `Priya
Raman`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple, Protocol


class Amount(NamedTuple):
    """A quantity; the unit is a unit, a currency, `%`, or nothing."""

    unit: str
    number: Decimal


Key = Amount | date | str
"""What a value means, independent of its spelling."""


@dataclass(frozen=True, slots=True)
class FoundValue:
    """One value at its position in a text."""

    key: Key
    surface: str
    start: int
    end: int

    def is_within(self, spans: Iterable[tuple[int, int]]) -> bool:
        """Whether one of the spans covers it."""
        return any(start <= self.start and self.end <= end for start, end in spans)


class ValueReader(Protocol):
    """Finds values of one kind."""

    def find(self, text: str, today: date) -> list[FoundValue]:
        """Every value in the text; a date without a year is the one nearest to today."""
        ...


KeyBuilder = Callable[[re.Match[str], date], Key | None]


@dataclass(frozen=True, slots=True)
class PatternReader:
    """Finds values by a pattern; a match without a key only blocks its place."""

    pattern: re.Pattern[str]
    make: KeyBuilder
    is_telling: bool = False
    """Whether the value is recognisable without the words that name it."""

    def find(self, text: str, today: date) -> list[FoundValue]:
        """Every value in the text, from left to right."""
        found = []
        for match in self.pattern.finditer(text):
            key = self.make(match, today)
            if key is not None:
                found.append(FoundValue(key, match[0], match.start(), match.end()))
        return found


_MONTHS = (
    "January February March April May June July August September October November December".split()
)
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_WEEKDAY = (
    r"(?:(?:Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:r(?:s(?:day)?)?)?|Fri(?:day)?"
    r"|Sat(?:urday)?|Sun(?:day)?)\b\.?,?\s+)?"
)
_YEAR = r"(?:,?\s+(?P<y{0}>[12]\d{{3}})(?!\d))?"
_DATE = (
    rf"\b{_WEEKDAY}(?:the\s+)?(?<![\d.,:/$£€-])(?:"
    r"(?P<iso>\d{4}-\d{2}-\d{2})(?![\d-])"
    rf"|(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m1>{_MONTH}){_YEAR.format(1)}"
    rf"|(?P<m2>{_MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%-]|[.,]\d){_YEAR.format(2)})"
)
_MONTH_AND_YEAR = rf"\b{_MONTH}\s+[12]\d{{3}}\b"
_TIME = r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?![\d:])(?:\s?(?P<half>[ap]m)\b)?"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_NUMBER = rf"(?<![\w$£€¥₹.,:/#-])[-−]?{_DIGITS}"
_MONEY = (
    rf"(?P<currency>[$£€¥₹]|\bAED\b)\s?(?P<sum>{_DIGITS})(?![.,]?\d)"
    r"(?:(?P<short>k|K|m|M|bn|Bn|b|B)(?!\w)|[\s-](?P<long>thousand|million|billion)(?!\w))?"
)
_PERCENT = rf"(?P<share>{_NUMBER})(?:\s?%|\s?per\s?cent\b)"
_SCALES = {
    "k": 3,
    "thousand": 3,
    "m": 6,
    "million": 6,
    "b": 9,
    "bn": 9,
    "billion": 9,
}
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_ELSEWHERE = rf"{_MONEY}|{_PERCENT}|{_TIME}|{_DATE}|{_MONTH_AND_YEAR}"
"""Text with digits that is neither a bare number nor a code."""


def build_number_reader(unit: str | None = None) -> PatternReader:
    """Numbers with the unit; without a unit, numbers that are not part of anything else."""
    if unit:
        edge = r"(?![\w/])" if unit[-1].isalnum() else ""
        pattern = rf"(?P<number>{_NUMBER})[\s-]?{re.escape(unit)}{edge}"
    else:
        pattern = rf"{_ELSEWHERE}|(?P<number>{_NUMBER})(?![\w%:/]|[.,]\d|-\w)"

    def make(match: re.Match[str], _today: date) -> Key | None:
        return Amount(unit or "", _parse_decimal(match["number"])) if match["number"] else None

    return PatternReader(re.compile(pattern), make, is_telling=bool(unit))


def build_money_reader() -> PatternReader:
    """Sums of money, by currency and amount."""
    return PatternReader(re.compile(_MONEY), _parse_money, is_telling=True)


def build_percent_reader() -> PatternReader:
    """Percentages."""
    return PatternReader(
        re.compile(_PERCENT), lambda m, _: Amount("%", _parse_decimal(m["share"])), is_telling=True
    )


def build_time_reader() -> PatternReader:
    """Times of day, on a 24-hour or 12-hour clock."""
    return PatternReader(re.compile(_TIME), lambda m, _: _parse_time(m))


def _parse_time(match: re.Match[str]) -> str:
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] == "pm" else 0)
    return f"{hour:02}:{match['minute']}"


def build_date_reader() -> PatternReader:
    """Dates with day and month, in any of the three orders."""
    return PatternReader(re.compile(_DATE), _parse_date)


def build_person_reader(people: Mapping[str, Sequence[str]]) -> PatternReader:
    """People by any of their names; the key is the full name."""
    full = {fold_text(name): person for person, names in people.items() for name in names}
    pattern = _match_any([name for names in people.values() for name in names])
    return PatternReader(re.compile(pattern), lambda m, _: full[fold_text(m[0])])


def build_choice_reader(options: Sequence[str]) -> PatternReader:
    """Phrases of a closed list, the longest match first; case is ignored."""
    whole = {fold_text(option): option for option in options}
    pattern = re.compile(_match_any(options), re.IGNORECASE)
    return PatternReader(pattern, lambda m, _: whole.get(fold_text(m[0])))


def build_code_reader(shape: str | None = None) -> PatternReader:
    """Codes of the shape; without a shape, words with a digit that are nothing else."""
    if shape is None:
        word = r"(?<![\w-])(?P<code>\w+(?:[./-]\w+)*)"
        return PatternReader(re.compile(f"{_ELSEWHERE}|{word}"), _parse_code)
    spelled = "".join({"#": r"\d", "?": "[A-Z]"}.get(sign, re.escape(sign)) for sign in shape)
    pattern = re.compile(rf"(?<![\w-]){spelled}(?!\w|-\w)")
    return PatternReader(pattern, lambda m, _: m[0], is_telling=True)


def build_yes_no_reader() -> PatternReader:
    """The yes or no at the start of a text."""
    return PatternReader(re.compile(r"\A\W*(yes|no)\b", re.IGNORECASE), lambda m, _: m[1].lower())


def fold_text(text: str) -> str:
    """The text in the form used for comparison: case, spaces and apostrophes unified."""
    return " ".join(text.replace("’", "'").casefold().split())


def build_words_pattern(phrase: str) -> str:
    """A pattern for the words of a phrase with any white space between them."""
    return r"\s+".join(re.escape(word).replace("'", "['’]") for word in phrase.split())


def match_whole_words(pattern: str) -> str:
    """The pattern, restricted to whole words."""
    return rf"(?<!\w)(?:{pattern})(?!\w)"


def _match_any(phrases: Iterable[str]) -> str:
    ordered = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return (
        match_whole_words("|".join(build_words_pattern(phrase) for phrase in ordered))
        if ordered
        else r"(?!)"
    )


def _parse_decimal(digits: str) -> Decimal:
    return Decimal(digits.replace(",", "").replace("−", "-"))


def _parse_money(match: re.Match[str], _today: date) -> Key:
    word = match["short"] or match["long"]
    scale = _SCALES[word.lower()] if word else 0
    return Amount(match["currency"], _parse_decimal(match["sum"]).scaleb(scale))


def _parse_code(match: re.Match[str], _today: date) -> Key | None:
    word = match["code"]
    is_code = word and any(sign.isdigit() for sign in word) and not _ORDINAL.fullmatch(word)
    return word if is_code else None


def _parse_date(match: re.Match[str], today: date) -> Key | None:
    if match["iso"]:
        return _make_date(*map(int, match["iso"].split("-")))
    name = match["m1"] or match["m2"]
    month = next(i for i, full in enumerate(_MONTHS, start=1) if full.startswith(name[:3]))
    day = int(match["d1"] or match["d2"])
    year = match["y1"] or match["y2"]
    if year:
        return _make_date(int(year), month, day)
    near = (_make_date(today.year + step, month, day) for step in (0, -1, 1))
    return min((d for d in near if d), key=lambda d: abs(d - today), default=None)


def _make_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


_WORD = re.compile(r"\w+")


class NameIndex:
    """Finds names literally, the longest match first; the first letter may be a capital."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Map each name to the key of what it names."""
        self._named: dict[str, str] = {}
        widths: dict[str, set[tuple[int, int]]] = {}
        for name, thread in names.items():
            for spelling in {name, name[:1].upper() + name[1:]}:
                first = _WORD.search(spelling)
                if first:
                    self._named[spelling] = thread
                    widths.setdefault(first[0], set()).add((len(spelling), first.start()))
        # A thousand names with the same first word have few lengths: one look-up for each.
        self._widths = {word: sorted(sizes, reverse=True) for word, sizes in widths.items()}

    def find(self, text: str, today: date | None = None) -> list[FoundValue]:  # noqa: ARG002
        """Every name in the text; the key is what it names."""
        return self.find_between(text, 0, len(text))

    def find_between(self, text: str, start: int, end: int) -> list[FoundValue]:
        """Every name between two offsets."""
        found: list[FoundValue] = []
        widths = self._widths
        reached = start
        for word in _WORD.finditer(text, start, end):
            sizes = widths.get(word[0])
            if sizes and word.start() >= reached:
                value = self._find_at(text, word.start(), sizes)
                if value is not None and reached <= value.start and value.end <= end:
                    found.append(value)
                    reached = value.end
        return found

    def _find_at(self, text: str, place: int, sizes: list[tuple[int, int]]) -> FoundValue | None:
        for length, lead in sizes:
            start = place - lead
            thread = self._named.get(text[start : start + length]) if start >= 0 else None
            if thread is not None and _is_alone(text, start, start + length):
                return FoundValue(thread, text[start : start + length], start, start + length)
        return None


@dataclass(frozen=True, slots=True)
class UnnamedValueReader:
    """Finds the values of another reader that are not part of a thread's name."""

    reader: ValueReader
    names: NameIndex

    def find(self, text: str, today: date) -> list[FoundValue]:
        """Every such value in the text."""
        found = self.reader.find(text, today)
        taken = [(name.start, name.end) for name in self.names.find(text)] if found else []
        return [value for value in found if not value.is_within(taken)]


def _is_alone(text: str, start: int, end: int) -> bool:
    return not (_is_inner(text, start - 1, start) or _is_inner(text, end - 1, end))


def _is_inner(text: str, left: int, right: int) -> bool:
    """Whether both characters belong to one word."""
    return left >= 0 and right < len(text) and _is_word(text[left]) and _is_word(text[right])


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"
