"""Numbers, dates, times and other values in the answers of systems, in any spelling."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate, compress, pairwise
from typing import NamedTuple

from recall_bench.text.number_words import (
    A_HUNDRED_PATTERN,
    GROUP_WORDS,
    NUMBER_WORDS,
    NUMBER_WORDS_PATTERN,
    NUMBER_WORDS_START,
    POWER_PATTERN,
    POWER_WORDS,
    SMALL_NUMBERS,
    SPELLED_ONES,
    TEN_WORDS,
    parse_number_words,
)
from recall_bench.text.units import (
    COINS,
    CONVERSION_TOLERANCE,
    DEGREES_TOLERANCE,
    IMPERIAL,
    MEASURES,
    POUND_GRAMS,
    UNITS,
)
from recall_bench.text.value_patterns import (
    CURRENCY_CODES,
    MONTH_PATTERN,
    MONTHS,
    NUMBER_PATTERN,
    ORDINAL_ENDING,
    RANGE_SCALE_PATTERN,
    SCALE_PATTERN,
    is_denied_before,
    normalise_clock,
    parse_month,
    scale_number,
)
from recall_bench.text.word_cache import WordCache

QUANTITY, DATE, MONTH, YEAR, TIME = "quantity", "date", "month", "year", "time"
IDENTIFIER, FRACTION = "identifier", "fraction"

_DIGIT_RUN = re.compile(r"\d+")


class ValueAtom(NamedTuple):
    """One value. Its `core` is the value without the part that is often left out."""

    kind: str
    value: str
    core: str
    measure: str = ""
    """The amount in one unit of its dimension, so that two weeks equal fourteen days."""

    @property
    def is_bare(self) -> bool:
        """Whether the part that is often left out is missing."""
        return self.value == self.core

    def matches(self, other: "ValueAtom") -> bool:
        """Whether the two may be the same value.

        The tolerances are these and no others: an amount matches the same amount without its unit,
        a date the same day without its year, a time the same time without am or pm, an amount the
        same in other units, a share its percentage, and `19m` both 19 metres and 19 million.
        """
        if self.kind == other.kind:
            if self.core == other.core:
                return (
                    self.value == other.value
                    or self.is_bare
                    or other.is_bare
                    or (is_metres_or_millions(self) and _get_unit(other) == "metre")
                    or (is_metres_or_millions(other) and _get_unit(self) == "metre")
                )
            if self.measure and self.measure == other.measure:
                return True
            if self.kind == QUANTITY and (_is_converted(self, other) or _is_coin_of(self, other)):
                return True
            return _is_million_of(self, other) or _is_million_of(other, self)
        if FRACTION in (self.kind, other.kind):
            return _is_same_share(self, other)
        return False

    def is_rival_of(self, other: "ValueAtom") -> bool:
        """Whether the two are different answers to one question: same kind, same unit, no match."""
        if self.kind != other.kind or self.matches(other):
            return False
        if self.kind == IDENTIFIER:
            return _find_series(self.value) == _find_series(other.value)
        return self.kind != QUANTITY or _find_dimension(self) == _find_dimension(other)


def _get_unit(quantity: ValueAtom) -> str:
    return quantity.value.removeprefix(quantity.core).strip()


def is_metres_or_millions(quantity: ValueAtom) -> bool:
    """Whether it is written like `19m`, which may be either."""
    return quantity.value.endswith(_METRES_OR_MILLIONS)


def _is_million_of(short: ValueAtom, full: ValueAtom) -> bool:
    """Whether the first is `19m` and the second 19 million of anything."""
    if not is_metres_or_millions(short) or full.measure:
        return False
    return float(short.core) * 1e6 == float(full.core)


def _is_converted(one: ValueAtom, other: ValueAtom) -> bool:
    """Whether an imperial amount is a metric one, as near as people round it."""
    units = _get_unit(one), _get_unit(other)
    if set(units) == {"°c", "°f"}:
        celsius, fahrenheit = (one, other) if units[0] == "°c" else (other, one)
        degrees = (float(fahrenheit.core) - 32) / 1.8
        return abs(degrees - float(celsius.core)) <= DEGREES_TOLERANCE
    if units[0] == units[1]:
        return False
    if (units[0] in IMPERIAL) is (units[1] in IMPERIAL) and "gbp" not in units:
        return False
    amounts = [_measure_amount(atom, unit) for atom, unit in zip((one, other), units, strict=True)]
    (first, dimension), (second, other_dimension) = amounts
    if dimension != other_dimension or not dimension:
        return False
    return abs(first - second) <= CONVERSION_TOLERANCE * abs(second)


def _measure_amount(atom: ValueAtom, unit: str) -> tuple[float, str]:
    """An amount in the unit of its dimension; pounds are taken for a weight."""
    if unit == "gbp":
        return float(atom.core) * POUND_GRAMS, "g"
    amount, _, dimension = atom.measure.partition(" ")
    return (float(amount), dimension) if dimension else (0.0, "")


def _is_coin_of(one: ValueAtom, other: ValueAtom) -> bool:
    """Whether one is in pence or cents, and the other the same in pounds, dollars or euros."""
    if _get_unit(one) not in COINS:
        one, other = other, one
    coin, unit = _get_unit(one), _get_unit(other)
    return unit in COINS.get(coin, ()) and float(one.core) == 100 * float(other.core)


def _is_same_share(one: ValueAtom, other: ValueAtom) -> bool:
    """Whether two shares are equal, a percentage within what rounding leaves open."""
    if one.kind != FRACTION:
        one, other = other, one
    top, bottom = map(float, one.core.split("/"))
    if other.kind != QUANTITY or not bottom:
        return False
    amount = float(other.core)
    if _get_unit(other) == "%":
        return abs(100 * top / bottom - amount) <= (0.5 if amount.is_integer() else 0.05)
    return other.is_bare and top / bottom == amount


def _find_dimension(quantity: ValueAtom) -> str:
    if quantity.measure:
        return quantity.measure.partition(" ")[2]
    return quantity.value.removeprefix(quantity.core)


def _find_series(identifier: str) -> str:
    """What identifiers of one series share: `inc-204` and `inc-31` do, `inc-204` and `v2` not."""
    return "@" if identifier.startswith("@") else _DIGIT_RUN.sub("0", identifier)


_METRES_OR_MILLIONS = "m?"
"""The unit of `19m`, which is one or the other."""

_UNIT = (
    r"(?:%|°\s?[cf]\b|°|(?:(?:kilomet(?:re|er)|mile)s?\s(?:per|an)\shour|km/h|kph|mph)\b|(?:percentage\spoint|basis\spoint|dollar|euro|pound|(?:swiss\s)?franc"
    r"|(?:milli)?second|sec|min(?:ute)?|hr|hour|day|week|wk|month|year|yr|(?:kilo|milli)?gram(?:me)?"
    r"|kilo|tonne|(?:kilo|mega|giga|tera)byte|fortnight|decade|gallon|pint|mile|inch|ounce|yard|acre|hectare|cubic\smet(?:re|er)|(?:kilo|centi|milli|micro)?met(?:re|er)|micron|microgram|(?:milli|centi|deci|micro)?lit(?:re|er))s?\b|feet\b|foot\b|inches\b|pence\b|cents?\b"
    r"|degrees?\s(?:celsius|fahrenheit|[cf])\b"
    r"|(?:per\s?cent|pct|bps?|times|usd|eur|gbp|chf|x|st|nd|rd|th|kg|mg|mcg|[µμu]g|ml|[cd]l|[µμu]l|[µμ]m|km|cm|mm|ms|kb|mb|gb|tb|lbs?|oz|ft|(?-i:(?<=\d)p)|h"
    r"|(?<=\s)s|(?<=\s)g|(?<=\d)g|(?<=\s)l|(?<=\d)l)\b|[€£])"
)
_DURATION_UNIT = r"(?:minute|hour|day|week|month|year)"
_HALVED = (
    rf"{_DURATION_UNIT}|(?:milli)?lit(?:re|er)|(?:kilo)?met(?:re|er)|kilo(?:gram)?"
    rf"|{'|'.join(POWER_WORDS)}"
)
_NUMBER = (
    r"(?:\d{1,3}(?:\.\d{3})+,\d\d?(?!\d)|[1-9]\d{0,2}(?:['\s]\d{3})+(?:[.,]\d\d?)?(?![\d:])"
    rf"|{NUMBER_PATTERN})"
)
"""A number in figures, with any thousands separator: `1,250.50`, `1.250,50`, `1 250`, `4'800`."""
_PART_OF_DAY = r"\s(?:in\sthe|at)\s(morning|afternoon|evening|night)\b"
_HOUR_WORD = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|1[0-2]|[1-9])\b"
_MINUTES_WORD = r"(?:five|ten|twenty(?:[\s-]five)?|[1-5]?\d)"
_SHARE_WORDS = "half third quarter fifth sixth seventh eighth ninth tenth".split()
_SHARES = {word: number for number, word in enumerate(_SHARE_WORDS, start=2)} | {
    "twentieth": 20, "hundredth": 100, "twenty-fifth": 25
}  # fmt: skip
_SHARE = rf"(?:{'|'.join(_SHARES)})"
_CURRENCY_WORD = r"(?=\s(?:dollar|euro|pound|franc|crown|kron|yen|rupee|people|user|inhabitant))"
# The first letter decides which alternatives are tried: most words are none of them, and a history
# has millions. Repetitions before something optional are bounded, or a hostile answer would take
# forever.
_VALUES = re.compile(
    rf"""(?<![\w.])(?:
      (?=\d)(?i:
          (?P<iso>(\d{{4}})-(\d\d)-(\d\d)(?!\d))
        | (?P<slashed>(\d\d?)/(\d\d?)/(\d{{4}}|\d\d)(?![\d/]))
        | (?P<ratio>(?<!/)(\d\d?)/(\d\d?)(?![\d/]))
        | (?P<dotted>(\d\d?)\.\s?(\d\d?)\.\s?(\d{{4}})(?!\d))
        | (?P<day_month>(\d\d?){ORDINAL_ENDING}\s(?:of\s)?({MONTH_PATTERN})(?:,?\s(\d{{4}})\b)?)
        | (?P<clock>(\d\d?):(\d\d)(?::\d\d)?(?!\d)(?:\s?([ap])\.?m\b\.?|{_PART_OF_DAY})?)
        | (?P<point_clock>(\d\d?)\.([0-5]\d)\s?([ap])\.?m\b\.?)
        | (?P<at_clock>(?<=at\s)(\d\d?)\.([0-5]\d)(?![\d%])(?!\s?{_UNIT}))
        | (?P<military>([01]\d|2[0-3])([0-5]\d)\s?(?:hours|hrs|h)\b)
        | (?P<zero_clock>(?<!-)(0\d)([0-5]\d)(?![\w.,:/-])(?!\s\d))
        | (?P<hours_minutes>(\d\d?)\s?h\s?([0-5]?\d)\s?m(?:in)?\b)
        | (?P<h_clock>([01]?\d|2[0-3])h([0-5]\d)\b)
        | (?P<o_clock>(\d\d?)\so'?clock\b(?:{_PART_OF_DAY})?)
        | (?P<oclock>(\d\d?)\s?([ap])\.?m\b\.?)
        | (?P<day_part>([1-9]|1[0-2]){_PART_OF_DAY})
        | (?P<metres>({NUMBER_PATTERN})(?-i:\s?m)\b(?!{_CURRENCY_WORD}))
        | (?P<serial>(\d+(?:\.\d+){{2,}}(?!,\d)|\d+-[a-z]+\d\w*
            |(?!{_NUMBER}(?:{SCALE_PATTERN}|{_UNIT}))\d\w{{0,64}}[a-z_]\w*(?:\.\w+)*))
        | (?P<number>({_NUMBER})({SCALE_PATTERN})?(\sand\sa\shalf\b)?(?:[\s-]?({_UNIT}))?))
    | (?=[$€£@\#])(?i:
          (?P<money>([$€£])\s?({_NUMBER}){RANGE_SCALE_PATTERN})
        | (?P<handle>(@\w[\w-]*|\#\d+)))
    | (?=[JFMASONDjfmasond])(?i:
          (?P<month_day>({MONTH_PATTERN})\s(\d\d?){ORDINAL_ENDING}(?![\w:])(?:,?\s(\d{{4}})\b)?)
        | (?P<month_year>({MONTH_PATTERN}),?\s(\d{{4}})\b)
        | (?P<midday>(noon|midnight)\b))
    | (?=[UEGCuegc])(?i:(?P<currency>((?:usd|eur|gbp|chf)\s)({_NUMBER}){RANGE_SCALE_PATTERN}))
    | (?=[\w.+-]{{0,64}}[\d_@])
          (?P<identifier>([A-Z][A-Z0-9]*-\d+\b|[\w.+-]{{1,64}}@[\w-]+(?:\.\w+)+
            |(?=\w{{0,64}}[\d_])[A-Za-z_]\w*(?:\.\w+)*))
    | (?=(?:[Aa]n?|[Oo]ne|[Hh]alf|[Qq]uarter)\s)(?i:
          (?P<past>(half(?=\spast)|(?:a\s)?quarter)\s(past|to)\s({_HOUR_WORD})(?:\so'?clock\b)?(?:{_PART_OF_DAY})?)
        | (?P<half_hour>half\s({_HOUR_WORD})(?!\s?(?:{_UNIT}|%))(?:{_PART_OF_DAY})?)
        | (?P<one_half>one\sand\sa\shalf[\s-]({_UNIT}))
        | (?P<fortnight>(?:an?|one)\s(fortnight|decade)\b)
        | (?P<quarter_of>(?:a\s)?quarter\sof\san?\s({_UNIT}))
        | (?P<half_dozen>half\sa\sdozen\b)
        | (?P<half_of>half\san?\s((?:{_HALVED})\b))
        | (?P<a_hundred>(?=a\s[htmb])(?<!of\s)a\s({A_HUNDRED_PATTERN})(?:[\s-]({_UNIT}))?)
        | (?P<one_and_half>(?:an?|one)\s({_DURATION_UNIT})\sand\sa\shalf\b)
        | (?P<share>(an?|one|half)\s({_SHARE})\b(?=\sof\b|[^\w]*$|[.,;:)]))
        | (?P<half_share>half(?=\sof\b|\sthe\b)))
    | (?={NUMBER_WORDS_START})(?i:
          (?P<spelled_clock>(?=[a-z]{{3,6}}\s(?:o|in|at))({_HOUR_WORD})(?:\so'?clock\b(?:{_PART_OF_DAY})?
            |(?={_PART_OF_DAY}){_PART_OF_DAY}))
        | (?P<minutes>({_MINUTES_WORD})\s(?:minutes\s)?(past|to)\s({_HOUR_WORD})
            (?:\so'?clock\b)?(?:{_PART_OF_DAY})?)
        | (?P<quarters_of>three[\s-]quarters\sof\san?\s({_UNIT}))
        | (?P<half_power>({NUMBER_WORDS_PATTERN})\sand\sa\shalf\s({POWER_PATTERN})(?:\s({_UNIT}))?)
        | (?P<shares>(two|three|four|five|six|seven|eight|nine)[\s-]({_SHARE})s\b)
        | (?P<spelled>({NUMBER_WORDS_PATTERN})(\sand\sa\shalf\b)?(?:\s\({NUMBER_PATTERN}\))?
            (?:[\s-]({_UNIT}))?))
    )""",
    re.VERBOSE,
)
_JOINT = re.compile(r"(?:,?\sand\s|,\s|\s)", re.IGNORECASE)


def find_values(text: str) -> Iterator[ValueAtom]:
    """All values of a normalised text, in order, repeats included."""
    return (atom for atom, _, _ in locate_values(text))


LONGEST_KEPT_TEXT = 400
"""The characters of a text whose values are kept: a sentence or a line, not a day."""
TEXT_CACHE = 16384
"""Texts kept with their values."""

LocatedValue = tuple[ValueAtom, int, int]


def locate_values(text: str) -> tuple[LocatedValue, ...]:
    """Each value with its start and end.

    A duration in falling units, as in "3 weeks and 1 day", is one value.
    """
    return _locate_kept(text) if len(text) <= LONGEST_KEPT_TEXT else _locate_anew(text)


def _locate_anew(text: str) -> tuple[LocatedValue, ...]:
    pieces = text.split(" ")
    starts = list(map(_STARTS.__getitem__, pieces))
    if not any(starts):
        return ()
    located: list[LocatedValue] = []
    for atom, start, end in _find_atoms(text, pieces, starts):
        if located and atom.measure and located[-1][0].measure:
            earlier, first, last = located[-1]
            whole = _join_durations(earlier, atom)
            if whole is not None and _JOINT.fullmatch(text, last, start):
                located[-1] = (whole, first, end)
                continue
        located.append((atom, start, end))
    return tuple(located)


_locate_kept = lru_cache(maxsize=TEXT_CACHE)(_locate_anew)
"""The index of a history, its evidence days and the answers that quote it have lines in common."""

_TOKEN = re.compile(r"[$€£@]|#(?=\d)|\w+")
_VALUE_STARTS = frozenset(
    (
        *SPELLED_ONES, *TEN_WORDS, *GROUP_WORDS, *"a an half quarter noon midnight".split(),
        *"usd eur gbp chf sept".split(),
        *(m.lower() for m in MONTHS), *(m[:3].lower() for m in MONTHS),
    )
)  # fmt: skip
"""The words that a value may start with, other than those with a digit in them."""
_IDENTIFIER_START = re.compile(r"[\w.+-]{0,64}[\d_@]")
"""How an identifier or an address starts that has other words before its first digit."""
_PLAIN_END = re.compile(r'$|[,;:!?)\]"](?!\d)|\.(?=$|\s\D)| ([A-Za-z]+)(?!\w)')
"""What may follow a number that is nothing but its figures."""
_CONTINUATIONS = frozenset(
    """
    thousand million billion mm mn bn k m b and a an am p pm o in at of cubic swiss basis percentage
    per percent pct bp times oclock usd eur gbp chf x st nd rd th kg mg mcg µg μg ug
    ml cl dl µl μl ul µm μm km cm mm ms mb gb tb h hrs s g l
    degree degrees feet inches pence lb lbs oz ft kb kph mph min mins sec secs hr wk wks
    yr yrs kilo kilos
    """.split()
) | frozenset(
    form
    for word in (
        *(name.partition(" ")[0] for name in (*UNITS, *MEASURES)),
        *(month for month in (*MONTHS, *(month[:3] for month in MONTHS), "Sept")),
        *"gallon pint mile inch ounce yard acre hectare".split(),
    )
    for form in (word.lower(), f"{word.lower()}s")
)
"""The words after a number that may belong to it."""
_AFTER_WORD = frozenset(
    (
        *"hundred point past to".split(), *GROUP_WORDS,
        *(form for share in _SHARES for form in (share.partition("-")[0], f"{share}s")),
    )
)  # fmt: skip
"""The same after a number in words."""
_SMALL_WORDS = frozenset(form for word in SMALL_NUMBERS for form in (word, word.capitalize()))
_DECIMALS = re.compile(r"\.\d+")
_ARTICLES = frozenset("a A an An one One".split())
_AFTER_ARTICLE = frozenset(
    (
        *(word[:3] for word in (*_SHARES, *POWER_WORDS, "hundred", "fortnight", "decade")),
        *(unit[:3] for unit in "minute hour day week month year".split()),
        *("poi", "and", "o'c", "ocl", "in ", "at "),
    )
)
"""The first letters of what makes a value of "a", "an" or "one" before it."""


def _find_atoms(
    text: str, pieces: list[str], found: list[tuple[tuple[int, str], ...]]
) -> Iterator[LocatedValue]:
    """The values, each unit by itself; looked for only where one can start.

    The pieces are the text between two blanks, each with the places where one can.
    """
    end = 0
    lengths = list(accumulate(map(len, pieces), initial=0))
    for blanks, starts in compress(enumerate(found), found):
        for offset, word in starts:
            start = lengths[blanks] + blanks + offset
            if start < end or (word in _ARTICLES and _is_article(text, word, start)):
                continue
            if past := _find_plain_end(text, word, start):
                atom, end = _make_plain(text[start:past]), past
            elif match := _VALUES.match(text, start):
                atom, end = _parse_match(match), match.end()
            else:
                continue
            if atom.kind == QUANTITY:
                atom, start = _apply_sign(atom, text, start, end)
            yield atom, start, end


def _find_starts(piece: str) -> tuple[tuple[int, str], ...]:
    """The places in the text between two blanks where a value may start, each with its word.

    Most pieces are a word that no value starts with.
    """
    return tuple(
        (token.start(), token[0])
        for token in _TOKEN.finditer(piece)
        if not token[0].isalpha()
        or token[0].lower() in _VALUE_STARTS
        or _IDENTIFIER_START.match(piece, token.start())
    )


_STARTS = WordCache(_find_starts, most=32768)


def _is_article(text: str, word: str, start: int) -> bool:
    """Whether "a", "an" or "one" starts no value: nearly all are so, and the pattern is slow."""
    end = start + len(word)
    following, before = text[end : end + 4], text[max(0, start - 2) : start]
    if not (following.isascii() and before.isascii()):
        return False
    if following[:1] != " " or following[1:].lower() in _AFTER_ARTICLE:
        return False
    # A "one" after "only", "just", "exactly", "minus" or "plus" is a number.
    is_counted = before[-1:].isspace() and before[0] in "ytsYTS"
    return len(word) < len("one") or (following[1:2].isalpha() and not is_counted)


def _find_plain_end(text: str, word: str, start: int) -> int:
    """The end of a plain number, in figures or a small one's word; 0 if the pattern must decide.

    Most numbers are plain, and the pattern is slow.
    """
    end = start + len(word)
    if start and text[start - 1] == ".":
        return 0
    is_spelled = word in _SMALL_WORDS
    if not is_spelled:
        if not word.isdecimal():
            return 0
        decimals = _DECIMALS.match(text, end)
        if decimals is not None and text[max(0, start - 3) : start - 1].lower() != "at":
            end = decimals.end()
        if word[0] == "0" and (len(word) > 1 or end == start + 1):
            return 0
    match = _PLAIN_END.match(text, end)
    if match is None or match[1] is None:
        return end if match else 0
    following = match[1].lower()
    return 0 if following in _CONTINUATIONS or (is_spelled and following in _AFTER_WORD) else end


@lru_cache(maxsize=4096)
def _make_plain(number: str) -> ValueAtom:
    if number.isalpha():
        return _make_quantity(parse_number_words(number), None)
    return _make_number(number, None, None, None)


_SIGN = re.compile(r"(?:(?<![\w.)\]%-])-|\b(?:minus|negative)\s)$", re.IGNORECASE)
_MINUEND = re.compile(r"\d[^.;:!?\n]{0,30}$")
_BELOW_ZERO = re.compile(r"(?:\sdegrees?)?\sbelow\s(?:zero|freezing)\b", re.IGNORECASE)
_SIGN_REACH = 9
_SIGN_ENDS = ("-", "\n")
_SIGN_WORD_ENDS = "sSeE\u017f"
"""The last letters of the words above, in any spelling that a pattern takes for the same."""


def _apply_sign(atom: ValueAtom, text: str, start: int, end: int) -> tuple[ValueAtom, int]:
    """The quantity with the sign that stands before or after it, and where it then starts.

    The word minus between two numbers is a subtraction, and the second of them has no sign.
    """
    before = text[max(0, start - 2) : start]
    sign = (
        _SIGN.search(text, max(0, start - _SIGN_REACH), start)
        if before[-1:] in _SIGN_ENDS or (before[-1:].isspace() and before[0] in _SIGN_WORD_ENDS)
        else None
    )
    if sign is not None and (sign[0] == "-" or not _MINUEND.search(text, 0, sign.start())):
        return negate(atom), sign.start()
    return (negate(atom) if _BELOW_ZERO.match(text, end) else atom), start


def negate(atom: ValueAtom) -> ValueAtom:
    """The quantity with the other sign."""
    signed = [
        part.removeprefix("-") if part.startswith("-") else f"-{part}" if part else ""
        for part in atom[1:]
    ]
    return ValueAtom(atom.kind, *signed)


def _join_durations(larger: ValueAtom, smaller: ValueAtom) -> ValueAtom | None:
    """Two durations as one, if the second has a smaller unit of the same dimension."""
    amount, _, dimension = larger.measure.partition(" ")
    rest, _, other = smaller.measure.partition(" ")
    unit = smaller.value.removeprefix(smaller.core).strip()
    if dimension != other or _measure_unit(smaller) >= _measure_unit(larger):
        return None
    factor = MEASURES[unit][0]
    return _make_quantity((float(amount) + float(rest)) / factor, unit)


def _measure_unit(duration: ValueAtom) -> float:
    return MEASURES[duration.value.removeprefix(duration.core).strip()][0]


def split_values(text: str) -> tuple[list[ValueAtom], str]:
    """The values that a normalised text claims, and the text without any value.

    A denied value, as in "not $40 but $50", is not claimed.
    """
    located = locate_values(text)
    if not located:
        return [], text
    claimed: list[ValueAtom] = []
    rest: list[str] = []
    end = 0
    for atom, start, past in located:
        rest.append(text[end:start])
        end = past
        if not is_denied_before(text, start):
            claimed.append(atom)
    rest.append(text[end:])
    return claimed, " ".join(rest)


def _parse_match(match: re.Match[str]) -> ValueAtom:
    reader = str(match.lastgroup)
    return _read_groups(reader, match.group(0, *_GROUPS[reader])[1:])


@lru_cache(maxsize=8192)
def _read_groups(reader: str, groups: "_Groups") -> ValueAtom:
    return _READERS[reader](groups)


def _make_date(year: str | None, month: int, day: int) -> ValueAtom:
    core = f"{month:02}-{day:02}"
    return ValueAtom(DATE, f"{core}/{year}" if year else core, core)


def _make_slash_date(first: int, second: int, year: str) -> ValueAtom:
    # With slashes, the month comes first unless it cannot be a month.
    year = year if len(year) == 4 else f"20{year}"
    return _make_date(year, second, first) if first > 12 else _make_date(year, first, second)


def _make_month(name: str, year: str) -> ValueAtom:
    value = f"{parse_month(name):02}/{year}"
    return ValueAtom(MONTH, value, value)


def _make_clock(hour: str, minute: str, half: str | None) -> ValueAtom:
    return ValueAtom(TIME, *normalise_clock(hour, minute, half))


def _make_full_clock(hour: str, minute: str) -> ValueAtom:
    return _make_clock(hour, minute, "p" if int(hour) >= 12 else "a")


def _parse_half_of_day(part: str | None) -> str | None:
    return {"morning": "a", "afternoon": "p", "evening": "p"}.get((part or "").lower())


def _parse_hour(word: str) -> str:
    return word if word.isdigit() else f"{parse_number_words(word):.0f}"


def _make_past_clock(minutes: str, side: str, word: str, part: str | None) -> ValueAtom:
    hour = int(_parse_hour(word))
    if side.lower() == "to":
        return _make_clock(str((hour - 2) % 12 + 1), "45", _parse_half_of_day(part))
    return _make_clock(
        str(hour), "30" if minutes.lower() == "half" else "15", _parse_half_of_day(part)
    )


def _make_minutes_clock(minutes: str, side: str, word: str, part: str | None) -> ValueAtom:
    hour, count = int(_parse_hour(word)), int(_parse_hour(minutes.lower()))
    if side.lower() == "to":
        hour, count = (hour - 2) % 12 + 1, 60 - count
    return _make_clock(str(hour), f"{count:02}", _parse_half_of_day(part))


def _make_share(count: str, share: str) -> ValueAtom:
    # Half a quarter is an eighth.
    bottom = _SHARES[share.lower()] * (2 if count.lower() == "half" else 1)
    top = NUMBER_WORDS.get(count.lower(), 1)
    return _make_ratio(str(top), str(bottom))


def _make_ratio(top: str, bottom: str) -> ValueAtom:
    value = f"{int(top)}/{int(bottom)}"
    return ValueAtom(FRACTION, value, value)


def _make_half(of: str) -> ValueAtom:
    power = POWER_WORDS.get(of.lower())
    return _make_quantity(power / 2, None) if power else _make_quantity(0.5, of)


def _make_quantity(number: float, unit: str | None) -> ValueAtom:
    core = f"{number:.12g}"
    if not unit or unit == "°":
        return ValueAtom(QUANTITY, core, core)
    name = CURRENCY_CODES.get(unit) or " ".join(unit.lower().split()).replace("° ", "°")
    name = "pence" if name == "p" else name
    name = UNITS.get(name) or UNITS.get(name.removesuffix("s")) or name.removesuffix("s")
    factor, dimension = MEASURES.get(name, (0, ""))
    measure = f"{number * factor:.12g} {dimension}" if factor else ""
    return ValueAtom(QUANTITY, f"{core} {name}", core, measure)


_Groups = tuple[str, ...]
_YEAR_FIGURES = re.compile(r"(?:19|20)\d\d")
_DECIMAL_COMMA = re.compile(r"[.']\d{3},|\d\s\d{3},\d\d?$")
_THOUSANDS_MARK = re.compile(r"['\s]")


def _make_money(groups: _Groups) -> ValueAtom:
    sign, number, own_scale, range_scale, *_ = groups
    code = CURRENCY_CODES.get(sign, sign.strip().lower())
    return _make_quantity(_scale_figures(number, own_scale or range_scale), code)


def _make_number(digits: str, scale: str | None, half: str | None, unit: str | None) -> ValueAtom:
    if half:
        return _make_quantity(_scale_figures(digits, scale) + 0.5, unit)
    if scale is None and unit is None and _YEAR_FIGURES.fullmatch(digits):
        return ValueAtom(YEAR, digits, digits)
    return _make_quantity(_scale_figures(digits, scale), unit)


def _scale_figures(digits: str, scale: str | None) -> float:
    """A number in figures, with its scale applied, whatever separates the thousands."""
    if _DECIMAL_COMMA.search(digits):
        digits = digits.replace(".", "").replace(",", ".")
    return scale_number(_THOUSANDS_MARK.sub("", digits), scale)


def _make_identifier(groups: _Groups) -> ValueAtom:
    name = groups[0].lower().rstrip(".")
    return ValueAtom(IDENTIFIER, name, name)


_READERS: dict[str, Callable[[_Groups], ValueAtom]] = {
    "iso": lambda g: _make_date(g[0], int(g[1]), int(g[2])),
    "slashed": lambda g: _make_slash_date(int(g[0]), int(g[1]), g[2]),
    "dotted": lambda g: _make_date(g[2], int(g[1]), int(g[0])),
    "month_day": lambda g: _make_date(g[2], parse_month(g[0]), int(g[1])),
    "day_month": lambda g: _make_date(g[2], parse_month(g[1]), int(g[0])),
    "month_year": lambda g: _make_month(g[0], g[1]),
    "clock": lambda g: _make_clock(g[0], g[1], g[2] or _parse_half_of_day(g[3])),
    "military": lambda g: _make_full_clock(g[0], g[1]),
    "h_clock": lambda g: _make_full_clock(g[0], g[1]),
    "o_clock": lambda g: _make_clock(g[0], "00", _parse_half_of_day(g[1])),
    "spelled_clock": lambda g: _make_clock(
        _parse_hour(g[0]), "00", _parse_half_of_day(g[1] or g[3])
    ),
    "past": lambda g: _make_past_clock(g[0], g[1], g[2], g[3]),
    "one_half": lambda g: _make_quantity(1.5, g[0]),
    "fortnight": lambda g: _make_quantity(1, g[0]),
    "quarter_of": lambda g: _make_quantity(0.25, g[0]),
    "quarters_of": lambda g: _make_quantity(0.75, g[0]),
    "half_power": lambda g: _make_quantity(
        (parse_number_words(g[0]) + 0.5) * POWER_WORDS[g[1].lower()], g[2]
    ),
    "hours_minutes": lambda g: _make_quantity(60 * float(g[0]) + float(g[1]), "minute"),
    "half_of": lambda g: _make_half(g[0]),
    "a_hundred": lambda g: _make_quantity(parse_number_words(f"one {g[0]}"), g[1]),
    "one_and_half": lambda g: _make_quantity(1.5, g[0]),
    "oclock": lambda g: _make_clock(g[0], "00", g[1]),
    "point_clock": lambda g: _make_clock(g[0], g[1], g[2]),
    "at_clock": lambda g: _make_clock(g[0], g[1], None),
    "zero_clock": lambda g: _make_full_clock(g[0], g[1]),
    "day_part": lambda g: _make_clock(g[0], "00", _parse_half_of_day(g[1])),
    "half_hour": lambda g: _make_clock(_parse_hour(g[0]), "30", _parse_half_of_day(g[1])),
    "minutes": lambda g: _make_minutes_clock(g[0], g[1], g[2], g[3]),
    "ratio": lambda g: _make_ratio(g[0], g[1]),
    "share": lambda g: _make_share(g[0], g[1]),
    "shares": lambda g: _make_share(g[0], g[1]),
    "half_share": lambda _: _make_ratio("1", "2"),
    "half_dozen": lambda _: _make_quantity(6, None),
    "metres": lambda g: _make_quantity(_scale_figures(g[0], None), _METRES_OR_MILLIONS),
    "midday": lambda g: _make_clock("12", "00", "p" if g[0].lower() == "noon" else "a"),
    "money": _make_money,
    "currency": _make_money,
    "identifier": _make_identifier,
    "serial": _make_identifier,
    "handle": _make_identifier,
    "number": lambda g: _make_number(g[0], g[1], g[2], g[3]),
    "spelled": lambda g: _make_quantity(parse_number_words(g[0]) + (0.5 if g[1] else 0.0), g[2]),
}
_NAMED = [*_VALUES.groupindex.items(), ("", _VALUES.groups + 1)]
_GROUPS = {name: range(start + 1, end) for (name, start), (_, end) in pairwise(_NAMED)}
"""The groups within each form of a value, which are all that it is made from."""
