"""One thing that a right answer states, and where a sentence states it or another in its place.

It is a value (an amount, a date, a time), a count of something, or words. A value is compared by
meaning, a count by its number, a name by its spelling, and a phrase by the stems of its words.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recall_bench.judging.encoder.value_hints import NOT_NAMES
from recall_bench.judging.offline.contents import ContentReader, TextContents, level_text
from recall_bench.text.text import STOPWORDS, normalise, split_words
from recall_bench.text.value_patterns import is_denied_before, normalise_clock
from recall_bench.text.values import (
    DATE,
    FRACTION,
    IDENTIFIER,
    MONTH,
    QUANTITY,
    TIME,
    YEAR,
    ValueAtom,
    is_metres_or_millions,
    locate_values,
)

TITLES = frozenset("mr mrs ms miss dr prof professor sir lord lady dame frau herr captain".split())
SHORTEST_SURNAME = 3
WORDS_PER_MISSING_WORD = 5
"""A phrase may lack one word in this many."""
LOOSE = 2
"""Of a whole reference, every second word may be missing."""
_TIMES = "x"
_DIGIT = re.compile(r"\d")
_ARTICLE = re.compile(r"\A(?:an?|the|that|our|its)\s+", re.IGNORECASE)
_PIECE = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+(?:[.,:]\d+)*")
_BETWEEN = r"[^\w]{0,3}"
"""What may stand between two words of a spelling."""


class Statement:
    """One sentence of an answer, compared with its question."""

    def __init__(
        self,
        text: str,
        contents: TextContents,
        question: frozenset[str],
        truth: frozenset[str] = frozenset(),
        dated: str = "",
    ) -> None:
        self.text = text
        self.levelled = level_text(text)
        self.contents = contents
        self.dated = dated
        """The date of the quotation that it belongs to; blank if to none."""
        self.relevance = len(contents.stems & question)
        """The number of stems shared with the question."""
        self.is_direct = len(contents.stems - question - truth) <= max(1, self.relevance)
        """Whether it says little beside what question and truth say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPart:
    """A thing in all its spellings."""

    text: str
    value: ValueAtom | None = None
    """Set where it is a value or a count."""
    is_count: bool = False
    spellings: tuple[str, ...] = ()
    """Texts that state it; empty where only the value decides."""
    surname: str = ""
    """The last name alone, which tells who it is."""
    stems: frozenset[str] = frozenset()
    """The stems of a phrase; empty for a name, which is not reworded."""
    given: frozenset[str] = frozenset()
    """The stems of the question: they need no repetition, unless there are no others."""
    figures: tuple[ValueAtom, ...] = ()
    """The values among the words of a phrase."""
    leeway: int = WORDS_PER_MISSING_WORD
    """Of this many words one may be missing."""

    def is_in(self, sentence: Statement) -> bool:
        """Whether a sentence states it."""
        if self.value is not None:
            return any(map(self.is_value, sentence.contents.values))
        return self.find_place(sentence.text) is not None or self._is_reworded(sentence.contents)

    def _is_reworded(self, contents: TextContents) -> bool:
        if not all(map(contents.holds, self.figures)):
            return False
        needed = self.stems - self.given or self.stems
        missing = needed - contents.stems
        return bool(self.stems) and len(missing) * self.leeway <= len(needed)

    def measure_likeness(self, contents: TextContents) -> float:
        """The share of the words that a text states, from 0 to 1."""
        if not self.stems or not all(map(contents.holds, self.figures)):
            return 0.0
        return len(self.stems & contents.stems) / len(self.stems)

    def find_place(self, text: str) -> tuple[int, int] | None:
        """Where a text states it first, other than to deny it."""
        return next(self.find_places(text), None)

    def find_places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where a text states it, other than to deny it."""
        if self.value is not None:
            yield from (
                (start, end) for atom, start, end in locate_values(text) if self.is_value(atom)
            )
            return
        lower = text.lower()
        for spelling in self.spellings:
            pieces = _PIECE.findall(_ARTICLE.sub("", spelling.lower(), count=1))
            if not pieces or pieces[0] not in lower:
                continue
            joined = _BETWEEN.join(map(re.escape, pieces))
            for match in re.finditer(rf"(?<![\w-]){joined}(?![\w])(?![.,:]\d)(?!-\w)", lower):
                if not is_denied_before(text, match.start()):
                    yield match.span()
        if self.surname and self.surname in text:
            for match in re.finditer(rf"(?:([\w'-]+)\.?\s)?\b({self.surname})\b(?![-\w])", text):
                before = match[1]
                is_alone = not before or not before[0].isupper()
                is_alone = is_alone or before.lower() in STOPWORDS | TITLES
                if is_alone and not is_denied_before(text, match.start(2)):
                    yield match.span(2)

    def is_value(self, value: ValueAtom) -> bool:
        """Whether a value is the wanted one."""
        if self.value is None:
            return False
        if self.is_count or (self.value.kind == QUANTITY and self.value.is_bare):
            if is_metres_or_millions(value):
                return self.value.matches(value)
            return is_plain_number(value) and value.core == self.value.core
        return (
            self.value.matches(value)
            or _is_short_date_or_time(value, self.value)
            or is_day_of_month(value, self.value)
        )

    def find_rivals(self, sentence: Statement, *, is_stated: bool) -> list[str]:
        """Other values of the same kind in a sentence.

        If the right value is stated too, only those in the unit that it is stated in.
        """
        if self.value is None:
            return self._find_series(sentence.levelled) if _DIGIT.search(self.text) else []
        own = {find_unit(self.value)}
        if any(self.is_value(value) and value.is_bare for value in sentence.contents.values):
            own.add("")
        return [
            value.value
            for value in sentence.contents.values
            if not self.is_value(value)
            and self.value.is_rival_of(value)
            and (not is_stated or find_unit(value) in own)
        ]

    def _find_series(self, levelled: str) -> list[str]:
        """Other members of its series in a levelled text: `bay 9` for `bay 8`."""
        parts = level_text(_ARTICLE.sub("", self.text, count=1)).split()
        words = levelled.split()
        if parts[0][0].isdigit() or parts[0] not in words:
            return []
        rows = (words[at : at + len(parts)] for at in range(len(words) - len(parts) + 1))
        return [
            " ".join(row)
            for row in rows
            if row != parts
            and all(
                one == other or (one[0].isdigit() and other[0].isdigit())
                for one, other in zip(row, parts, strict=True)
            )
        ]


def make_wanted_part(
    text: str, aliases: Iterable[str], reader: ContentReader, question: str = ""
) -> WantedPart:
    """The wanted part of a normalised text."""
    values, rest = reader.split_parts(text)
    is_value = len(values) == 1 and not rest and values[0].kind != IDENTIFIER
    is_count = len(values) == 1 and text[:1].isdigit() and bool(rest) and text.islower()
    if is_value or (is_count and values[0].kind in (QUANTITY, YEAR)):
        return WantedPart(text=text, value=values[0], is_count=is_count and values[0].is_bare)
    is_phrase = any(word[:1].islower() and word not in STOPWORDS for word in text.split())
    return WantedPart(
        text=text,
        spellings=(text, *map(normalise, aliases)),
        surname=_find_surname(text),
        stems=reader.stem(split_words(text)) if is_phrase else frozenset(),
        given=reader.read(question).stems if question else frozenset(),
        figures=tuple(values) if is_phrase else (),
    )


_NAME = re.compile(r"(?<!\w)[A-Z][\w'-]+(?:\s(?:(?:of|de|van|der|the)\s)?[A-Z][\w'-]+)*")
_OPENING = re.compile(r"(?:^|[.!?:;]\s)\W*$")


def derive_parts(reference: str, question: str, reader: ContentReader) -> tuple[WantedPart, ...]:
    """What a reference tells beside the question: its values and names, or else half its words."""
    asked = reader.read(question)
    located = [
        (start, end) for atom, start, end in locate_values(reference) if not asked.holds(atom)
    ]
    spans = [
        *located,
        *(
            match.span()
            for match in _NAME.finditer(reference)
            if not any(start < match.end() and match.start() < end for start, end in located)
            and not asked.words.issuperset(split_words(match[0]))
            and (" " in match[0] or not _OPENING.search(reference[: match.start()]))
            and match[0].lower() not in NOT_NAMES
        ),
    ]
    texts = dict.fromkeys(reference[start:end].removesuffix("'s") for start, end in sorted(spans))
    if texts:
        return tuple(
            make_wanted_part(text, _list_short_names(text), reader, question) for text in texts
        )
    stems = reader.read(reference).stems
    if not stems - asked.stems:
        return ()
    whole = WantedPart(
        text=reference, spellings=(reference,), stems=stems, given=asked.stems, leeway=LOOSE
    )
    return (whole,)


def _list_short_names(text: str) -> tuple[str, ...]:
    """The first name of a person, or the title: a log seldom gives the whole name."""
    return (text.split(maxsplit=1)[0],) if _find_surname(text) else ()


def _find_surname(text: str) -> str:
    """The surname of a person; blank where a text does not look like a name."""
    parts = [part for part in text.split() if part.lower().strip(".") not in TITLES]
    if not 2 <= len(text.split()) <= 4 or not parts:
        return ""
    if not all(part.istitle() and part.replace("-", "").isalpha() for part in parts):
        return ""
    return parts[-1] if len(parts[-1]) >= SHORTEST_SURNAME else ""


def is_day_of_month(value: ValueAtom, wanted: ValueAtom) -> bool:
    """Whether a date is a day of the wanted month."""
    if wanted.kind != MONTH or value.kind != DATE or value.is_bare:
        return False
    return wanted.value == f"{value.core[:2]}/{value.value[6:]}"


def _is_short_date_or_time(value: ValueAtom, wanted: ValueAtom) -> bool:
    """Whether `4/15` is the wanted day, or `1430` the wanted time."""
    if value.kind == FRACTION and wanted.kind == DATE:
        one, other = map(int, value.core.split("/"))
        return wanted.core in (f"{one:02}-{other:02}", f"{other:02}-{one:02}")
    if wanted.kind == TIME and value.is_bare and re.fullmatch(r"[12]\d[0-5]\d", value.core):
        clock = normalise_clock(value.core[:2], value.core[2:], None)
        return wanted.value in clock or wanted.core == clock[1]
    return False


def find_unit(value: ValueAtom) -> str:
    """What makes two values answers of one kind: the unit of an amount, or the kind."""
    return value.value.removeprefix(value.core) if value.kind == QUANTITY else value.kind


def is_plain_number(value: ValueAtom) -> bool:
    """Whether it has no unit: a number like 2024 may be a count."""
    if value.kind == YEAR:
        return True
    return value.kind == QUANTITY and (value.is_bare or value.value == f"{value.core} {_TIMES}")
