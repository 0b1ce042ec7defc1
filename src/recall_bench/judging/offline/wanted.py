"""One thing that a right answer contains, and whether a sentence contains it.

What is wanted is a value (an amount, a date, a time), a count of something, or words. A value
matches by what it means; a count by its number, where the sentence counts nothing else; words by
their spelling, and a phrase also by being nearly said.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from recall_bench.judging.offline.answering import Sentence
from recall_bench.judging.offline.atoms import IDENTIFIER, QUANTITY, YEAR, Atom
from recall_bench.judging.offline.contents import Reader
from recall_bench.judging.offline.literal import is_claimed, literal_of, places_of, series_in
from recall_bench.judging.offline.phrasing import Phrase
from recall_bench.judging.offline.values import located
from recall_bench.judging.offline.wording import STOPWORDS, plain, words

NEARLY_SAID, NEARLY_QUOTED = 0.5, 0.75
"""A sentence that is direct or short must say more than this of a phrase, another still more."""
BEARS = 1 / 3
"""A bare number that neither opens the answer nor is told directly must stand among this share of
the question's words."""
_TIMES = "x"
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One wanted thing in all its spellings."""

    text: str
    value: Atom | None = None
    """Set where it is a value or a count."""
    is_count: bool = False
    spellings: tuple[str, ...] = ()
    """Texts that tell it; empty where only the value decides."""
    literals: tuple[str, ...] = ()
    """The same, to be looked for in a levelled sentence."""
    phrase: Phrase | None = None
    """Its words; None where they may not be others, or where there is none."""
    initials: str = ""
    """A person's name with an initial for the first."""
    asked: int = 0
    """How many content words the question has."""
    stems: frozenset[str] = field(default=frozenset())

    def told_in(self, sentence: Sentence, reader: Reader) -> bool:
        """Whether a sentence tells it."""
        if self.value is not None:
            told = [value for value in sentence.contents.values if self._is_value(value)]
            is_sure = any(map(self._is_unmistakable, told))
            return bool(told) and (is_sure or self._is_near(sentence, reader))
        is_short = len(sentence.contents.stems) <= 2 * len(self.stems)
        bar = NEARLY_SAID if sentence.is_direct or is_short else NEARLY_QUOTED
        return self.likeness(sentence, reader) > bar

    def likeness(self, sentence: Sentence, reader: Reader) -> float:
        """How much of the wanted words a sentence says, from 0 to 1."""
        if any(is_claimed(literal, sentence.levelled) for literal in self.literals):
            return 1.0
        if self.initials and self.initials in sentence.text:
            return 1.0
        if (
            self.value
            or self.phrase is None
            or len(self.stems & sentence.contents.stems) * 3 < len(self.stems)
        ):
            return 0.0
        return self.phrase.likeness(reader.phrase(sentence.text))

    @property
    def told_as(self) -> str:
        """How it is named where it is told: by its value if it is one."""
        return self.value.value if self.value is not None else self.text

    def rivals_in(self, sentence: Sentence, *, is_told: bool = False) -> list[str]:
        """Values and numbers of the same kind that a sentence tells and that are not this one.

        Beside the right value only values in its own unit are.
        """
        if self.value is not None:
            rivals = [value for value in sentence.contents.values if self._is_rival(value)]
            own = _unit(self.value)
            return [rival.value for rival in rivals if not is_told or _unit(rival) == own]
        if not self.has_number:
            return []
        return list(series_in(self.literals[0], sentence.levelled))

    @property
    def has_number(self) -> bool:
        """Whether it is one of a series: words with a number among them."""
        return bool(self.literals) and _DIGIT.search(self.literals[0]) is not None

    def place_in(self, text: str) -> tuple[int, int] | None:
        """Where a plain text first tells it, in figures or in its own words."""
        if self.value is not None:
            spans = ((s, e) for atom, s, e in located(text) if self._is_value(atom))
            return next(spans, None)
        return next((place for one in self.spellings for place in places_of(one, text)), None)

    def _is_value(self, value: Atom) -> bool:
        if self.value is None:
            return False
        if self.is_count or (self.value.kind == QUANTITY and self.value.is_bare):
            return _is_plain_number(value) and value.core == self.value.core
        return self.value.matches(value)

    def _is_unmistakable(self, value: Atom) -> bool:
        """Whether a value that is right can hardly be meant for something else."""
        if value.kind not in (QUANTITY, YEAR):
            return True
        return not _is_plain_number(value) and self.value is not None and value == self.value

    def _is_rival(self, value: Atom) -> bool:
        if self.value is None or self._is_value(value):
            return False
        return self.value.rivals(value)

    def _is_near(self, sentence: Sentence, reader: Reader) -> bool:
        """Whether a bare number in the sentence may be meant."""
        is_near = sentence.is_direct or sentence.is_opening
        if is_near or sentence.relevance >= max(1, BEARS * self.asked):
            return True
        # Among other things it must count what is wanted: the row of words must be the same.
        return self.phrase is not None and self.phrase.is_within(reader.phrase(sentence.text))


def wanted(
    text: str, aliases: Iterable[str], hints: Iterable[Atom], reader: Reader, asked: int = 0
) -> Wanted:
    """What a plain text wants; hints are values that may say in full what it only says in part."""
    found, rest = reader.parts(text)
    others = [plain(alias) for alias in aliases]
    is_value = len(found) == 1 and not rest and found[0].kind != IDENTIFIER
    is_count = len(found) == 1 and text[:1].isdigit() and bool(rest) and text.islower()
    if is_value or (is_count and found[0].kind in (QUANTITY, YEAR)):
        spelled = [reader.parts(other)[0] for other in others]
        value = _in_full(found[0], [*hints, *(atoms[0] for atoms in spelled if len(atoms) == 1)])
        return Wanted(
            text=text,
            value=value,
            is_count=is_count and value.is_bare,
            phrase=reader.phrase(text) if is_count else None,
            asked=asked,
            stems=reader.stems_of(rest),
        )
    first, last = _name(text)
    spellings = (text, *others, *([f"{last}, {first}"] if first else []))
    return Wanted(
        text=text,
        spellings=spellings,
        literals=tuple(literal for one in spellings if (literal := literal_of(one)).strip()),
        initials=f"{first[0]}. {last}" if first else "",
        phrase=reader.phrase(text) if _is_phrase(text) else None,
        asked=asked,
        stems=reader.stems_of(words(text)),
    )


def _in_full(value: Atom, hints: list[Atom]) -> Atom:
    """The value with the part that people leave out, where a hint has it."""
    if not value.is_bare:
        return value
    return next((hint for hint in hints if not hint.is_bare and value.matches(hint)), value)


def _unit(value: Atom) -> str:
    return value.value.removeprefix(value.core) if value.kind == QUANTITY else ""


def _is_plain_number(value: Atom) -> bool:
    # What looks like a year may be a count.
    if value.kind == YEAR:
        return True
    return value.kind == QUANTITY and (value.is_bare or value.value == f"{value.core} {_TIMES}")


def _name(text: str) -> tuple[str, str]:
    """The first names and the last of what may be a person's name; blanks if it is none."""
    parts = text.split()
    is_name = len(parts) in (2, 3) and all(part[:1].isupper() and part.isalpha() for part in parts)
    return (" ".join(parts[:-1]), parts[-1]) if is_name else ("", "")


def _is_phrase(text: str) -> bool:
    """Whether it is more than a name: people do not put names into other words."""
    content = [word for word in text.split() if word.lower() not in STOPWORDS]
    return len(content) > 1 and any(word[:1].islower() for word in content)
