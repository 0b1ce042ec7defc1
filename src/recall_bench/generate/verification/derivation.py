"""How an answer is derived from the text, and what a correct question must agree with."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from recall_bench.datasets.yaml_fields import describe_value, is_whole
from recall_bench.generate.verification.day_parser import DaySentence
from recall_bench.generate.verification.findings import VerificationCode, VerificationProblem
from recall_bench.generate.verification.lexicon import is_stale
from recall_bench.generate.verification.statements import About, StatementLookup, Underivable
from recall_bench.generate.verification.value_readers import Key, ValueReader


@dataclass(frozen=True, slots=True, kw_only=True)
class AskContext:
    """Who asks, and when."""

    day: int
    """The story day of the question."""
    session: str
    first: int
    """The first day it may be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedValues:
    """The values of one kind that an answer must contain, and no others of that kind."""

    what: str
    """Its name in messages: `p99 of RB-4113`."""
    reader: ValueReader
    keys: tuple[Key, ...]
    surfaces: tuple[str, ...]
    """The values as the text writes them, in the order of the keys."""
    least: int | None = None
    """If the order counts: how many of them, from the first, the reference must contain."""
    fewest_atoms: int | None = None
    """The same for the atoms; `least` unless given."""

    def read(self, text: str, today: date, *, forgiven: Iterable[Key] = ()) -> tuple[Key, ...]:
        """The values of this kind in a text; `forgiven` ones are ignored where called stale."""
        former = set(forgiven)
        # A date without a year means the year of the expected date.
        today = next((key for key in self.keys if isinstance(key, date)), today)
        found = [
            value.key
            for value in self.reader.find(text, today)
            if not (value.key in former and is_stale(text, value))
        ]
        return tuple(key for key, _ in groupby(found))

    def is_met_by(self, found: tuple[Key, ...], *, least: int | None = None) -> bool:
        """Whether these are the right values, and enough of them."""
        least = least or self.least
        if least is None:
            return set(found) == set(self.keys)
        return len(found) >= least and found == self.keys[: len(found)]

    def format_values(self) -> str:
        """The values for messages."""
        return ", ".join(f"“{surface}”" for surface in self.surfaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedAnswer:
    """An answer and what supports it."""

    expected: tuple[ExpectedValues, ...]
    needed: tuple[frozenset[DaySentence], ...]
    """The evidence must contain at least one sentence of each group."""
    allowed: frozenset[DaySentence]
    """The evidence may contain no other sentences."""
    earlier: ExpectedValues | None = None
    """Former values, if the value may change."""
    lists_earlier: bool = False
    """Whether all former values belong into `stale`."""
    secrets: tuple[ExpectedValues, ...] = ()
    """Values that must be withheld, the current one last."""
    slots: tuple[About, ...] = ()
    """The slots the answer depends on."""
    problems: tuple[VerificationProblem, ...] = ()
    """Problems of the text that do not prevent the derivation."""

    @property
    def answer(self) -> tuple[object, ...]:
        """Equal for equal answers."""
        return tuple((values.what, values.keys) for values in self.expected)


@dataclass(frozen=True)
class AnswerDerivation:
    """Derives the answer of one question; subclasses have a method for each operation."""

    lookup: StatementLookup
    recipe: "DerivationRecipe"
    ask: AskContext


def group_by_session(sentences: Iterable[DaySentence]) -> tuple[frozenset[DaySentence], ...]:
    """Group the sentences by day and session: one of each group is enough evidence."""
    ordered = sorted(sentences, key=lambda s: (s.day, s.session, s.start))
    return tuple(
        frozenset(group) for _, group in groupby(ordered, key=lambda s: (s.day, s.session))
    )


_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class DerivationRecipe:
    """The keys of the `derive` of a question, checked on access."""

    keys: Mapping[object, object]

    @property
    def op(self) -> str:
        """The operation."""
        return self.get_text("op")

    def get_text(self, key: str) -> str:
        """A required text."""
        value = self.keys.get(key)
        if not isinstance(value, str):
            raise _build_error(key, value)
        return value

    def get_day(self, key: str) -> int | None:
        """A story day; None if absent."""
        value = self.keys.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or not is_whole(value):
            raise _build_error(key, value)
        return value

    def parse_month(self) -> tuple[int, int]:
        """The year and month."""
        value = self.get_text("month")
        match = _MONTH.fullmatch(value)
        if match is None:
            raise _build_error("month", value)
        return int(match[1]), int(match[2])

    def get_pair(self, key: str) -> tuple[str, str]:
        """A thread and one of its slots."""
        thread, slot = _require_texts(key, self.keys.get(key), 2)
        return thread, slot

    def list_rows(self, key: str, width: int) -> list[tuple[str, ...]]:
        """Two or more lists of `width` texts each."""
        value = self.keys.get(key)
        if not isinstance(value, list) or len(value) < 2:
            raise _build_error(key, value)
        return [_require_texts(key, row, width) for row in value]


def _require_texts(key: str, value: object, width: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) != width:
        raise _build_error(key, value)
    if not all(isinstance(part, str) for part in value):
        raise _build_error(key, value)
    return tuple(value)


def _build_error(key: str, value: object) -> Underivable:
    problem = "derive has no" if value is None else f"derive has {describe_value(value)} as"
    return Underivable(VerificationCode.DERIVE, f"{problem} {key}")
