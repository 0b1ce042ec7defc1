"""An answer that follows from the text, with everything a right question must agree with."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from recall_bench.datasets.yaml_fields import describe_value, is_whole
from recall_bench.generate.verification.day_parser import DaySentence
from recall_bench.generate.verification.findings import VerificationCode, VerificationProblem
from recall_bench.generate.verification.lexicon import is_stale
from recall_bench.generate.verification.statements import About, Underivable
from recall_bench.generate.verification.value_readers import Key, ValueReader


@dataclass(frozen=True, slots=True, kw_only=True)
class AskContext:
    """Who asks, and when."""

    day: int
    """The story day on which it is asked."""
    session: str
    first: int
    """The first day on which it may be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedValues:
    """Values of one kind that an answer holds, and no others of that kind."""

    what: str
    """As messages name it: `p99 of RB-4113`."""
    reader: ValueReader
    keys: tuple[Key, ...]
    surfaces: tuple[str, ...]
    """The values as the text writes them, in the same order as the keys."""
    least: int | None = None
    """Where the order counts: how many of them, from the first, the reference must name."""
    fewest_atoms: int | None = None
    """The same for the atoms; as many as the reference names unless given."""

    def read(self, text: str, today: date, *, forgiven: Iterable[Key] = ()) -> tuple[Key, ...]:
        """The values of this kind in a text; forgiven ones do not count where called stale."""
        former = set(forgiven)
        # Somebody who leaves out the year means the one it is about.
        today = next((key for key in self.keys if isinstance(key, date)), today)
        found = [
            value.key
            for value in self.reader.find(text, today)
            if not (value.key in former and is_stale(text, value))
        ]
        return tuple(key for key, _ in groupby(found))

    def is_met_by(self, found: tuple[Key, ...], *, least: int | None = None) -> bool:
        """Whether these values are the right ones and enough of them."""
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

    holdings: tuple[ExpectedValues, ...]
    needed: tuple[frozenset[DaySentence], ...]
    """The evidence holds at least one sentence of each of these."""
    allowed: frozenset[DaySentence]
    """The evidence holds no other sentence than these."""
    earlier: ExpectedValues | None = None
    """Values that were true before, if the question is about one that may change."""
    lists_earlier: bool = False
    """Whether all of them belong into `stale`."""
    secrets: tuple[ExpectedValues, ...] = ()
    """Values that must not be told, the present one last."""
    slots: tuple[About, ...] = ()
    """What the answer was read from: new statements of these may change it."""
    troubles: tuple[VerificationProblem, ...] = ()
    """What is wrong with the text although the answer can be derived."""

    @property
    def answer(self) -> tuple[object, ...]:
        """Equal for equal answers."""
        return tuple((holding.what, holding.keys) for holding in self.holdings)


def group_by_session(sentences: Iterable[DaySentence]) -> tuple[frozenset[DaySentence], ...]:
    """The sentences of each day and session: one of each group is evidence enough."""
    ordered = sorted(sentences, key=lambda s: (s.day, s.session, s.start))
    return tuple(
        frozenset(group) for _, group in groupby(ordered, key=lambda s: (s.day, s.session))
    )


_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class DerivationRecipe:
    """The keys of one `derive`, typed as they are asked for."""

    keys: Mapping[object, object]

    @property
    def op(self) -> str:
        """What to compute."""
        return self.get_text("op")

    def get_text(self, key: str) -> str:
        """A text that must be there."""
        value = self.keys.get(key)
        if not isinstance(value, str):
            raise _build_error(key, value)
        return value

    def get_day(self, key: str) -> int | None:
        """A story day that may be left out."""
        value = self.keys.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or not is_whole(value):
            raise _build_error(key, value)
        return value

    def parse_month(self) -> tuple[int, int]:
        """The year and the month asked about."""
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
        """Two or more lists of so many texts each."""
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
