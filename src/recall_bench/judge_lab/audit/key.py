"""What an answer to a question has to say: the shape of it, and its values."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from recall_bench.core.question import Disclosure, Expects, Item
from recall_bench.judge_lab.audit.values import MONTHS, Kind, Value, read

_MONTH = "|".join(MONTHS)
_ID = re.compile(
    rf"\b(?:[A-Z]{{1,5}}-\d[\w-]*|(?!(?:{_MONTH}) )[A-Z][a-z]+ \d{{2,}}|\d{{2}}-\d{{3,}})\b"
)
_PROPER = re.compile(r"(?<=[a-z] )[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})?")


_WEIGHTY = re.compile(r"[A-Za-z]{4,}|\d[\d.,:]*\d|\d")


class Shape(StrEnum):
    """What kind of thing is asked for."""

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
    """Something longer that the dataset does not take apart."""


@dataclass(frozen=True, slots=True)
class Key:
    """The shape of the answer and the values in it, the ones every right answer contains first."""

    shape: Shape
    values: tuple[Value, ...] = ()

    @property
    def value(self) -> Value:
        """The first value, where there is one."""
        return self.values[0]


def key_of(item: Item) -> Key:
    """What the item asks for."""
    truth = item.truth
    shape = _shape(item)
    if shape in {Shape.NO, Shape.WITHHOLD, Shape.TEXT, Shape.SEVERAL}:
        return Key(shape)
    if shape is Shape.PARTIAL and len(truth.atoms) != 1:
        return Key(shape)
    if not truth.atoms:
        return Key(shape, (read(_bare(truth.reference)),))
    if shape is Shape.YES:
        return Key(shape, tuple(read(atom) for atom in truth.atoms[1:]))
    return Key(shape, tuple(read(_whole(item, atom), truth.aliases) for atom in truth.atoms))


def told(item: Item) -> tuple[str, ...]:
    """Every string that gives the answer, or a part of it, away."""
    truth = item.truth
    return tuple(dict.fromkeys((*truth.atoms, *truth.aliases, _bare(truth.reference))))


def traces(item: Item) -> tuple[str, ...]:
    """What no sentence may hold that is to have no bearing on the question.

    Where the dataset does not say what the answer's parts are, every word of weight is one.
    """
    truth = item.truth
    words = () if truth.atoms else _WEIGHTY.findall(truth.reference)
    values = (*truth.stale, *truth.distractors, *truth.withheld, *truth.canaries)
    return tuple(dict.fromkeys((*told(item), *values, *words)))


def holds(text: str, words: str) -> bool:
    """Whether the words stand in the text by themselves: the 2 of `2 days`, not that of `2024`."""
    return _pattern(words).search(text) is not None


def holds_any(text: str, words: Iterable[str]) -> bool:
    """Whether any of them does."""
    together = tuple(words)
    return bool(together) and _pattern(*together).search(text) is not None


def topic(question: str) -> str | None:
    """What the question is about, where it says so by a number or a name."""
    found = _ID.findall(question) or _PROPER.findall(question)
    return next((name for name in found if name not in MONTHS), None)


@lru_cache(maxsize=4096)
def _pattern(*words: str) -> re.Pattern[str]:
    either = "|".join(re.escape(one) for one in words)
    source = rf"(?<![\w-])(?<!\d[.,:])(?:{either})(?![\w-])(?![.,:]\d)"
    return re.compile(source, re.IGNORECASE)


def _shape(item: Item) -> Shape:  # noqa: PLR0911 - one line a shape
    truth = item.truth
    if truth.expects is Expects.WITHHOLD:
        return Shape.WITHHOLD
    if truth.expects is Expects.ABSTAIN:
        return Shape.NO
    if truth.disclosure is Disclosure.PARTIAL:
        return Shape.PARTIAL
    if truth.category == "negative-recall":
        return Shape.YES if len(truth.atoms) == 2 else Shape.TEXT
    if not truth.atoms:
        return Shape.VALUE if _is_one_value(truth.reference) else Shape.TEXT
    if truth.category == "temporal-reasoning" and holds(item.text, truth.atoms[0]):
        return Shape.PAIR if len(truth.atoms) == 1 else Shape.TRIPLE
    return {1: Shape.VALUE, 2: Shape.EXTREME}.get(len(truth.atoms), Shape.TEXT)


def _is_one_value(reference: str) -> bool:
    """Whether a bare reference is one value of a make we know."""
    return read(_bare(reference)).kind not in {Kind.PHRASE, Kind.NAME}


def _whole(item: Item, atom: str) -> str:
    """The atom with its unit, where the reference gives one: `19` is `19 days`."""
    bare = _bare(item.truth.reference)
    is_number_of = atom.isdigit() and bare.startswith(f"{atom} ") and len(bare.split()) == 2
    return bare if is_number_of else atom


def _bare(reference: str) -> str:
    return reference.strip().rstrip(".")
