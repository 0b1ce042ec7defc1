"""An answer that follows from the text, with everything a right question must agree with."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from recall_bench.proof.finding import VerificationProblem
from recall_bench.proof.grammar import is_stale
from recall_bench.proof.passages import DaySentence
from recall_bench.proof.statements import About
from recall_bench.proof.values import Key, ValueReader


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
