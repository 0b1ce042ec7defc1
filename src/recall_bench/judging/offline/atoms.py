"""Atoms: the parts of a text that are right or wrong and nothing in between.

An atom is an amount, a date, a clock time or an identifier. Two spellings of one thing give one
atom: `$420M` and `420 million dollars`, `5 March 2026` and `2026-03-05`, `6:30 AM` and `06:30`. The
tolerances are these and no others: an amount matches the same amount without its unit, a date
the same day without its year, a time the same time without its half of the day, and a duration
the same duration in other units.
"""

import re
from typing import NamedTuple

QUANTITY, DATE, MONTH, YEAR, TIME = "quantity", "date", "month", "year", "time"
IDENTIFIER = "identifier"

_DIGIT_RUN = re.compile(r"\d+")


class ValueAtom(NamedTuple):
    """One atom. Its `core` is its value without the part that people leave out."""

    kind: str
    value: str
    core: str
    measure: str = ""
    """A duration in the smallest unit of its kind, so that two weeks are fourteen days."""

    @property
    def is_bare(self) -> bool:
        """Whether the part that people leave out was left out."""
        return self.value == self.core

    def matches(self, other: "ValueAtom") -> bool:
        """Whether the two may spell the same thing."""
        if self.core == other.core and self.kind == other.kind:
            return self.value == other.value or self.is_bare or other.is_bare
        return self.measure != "" and self.measure == other.measure

    def is_rival_of(self, other: "ValueAtom") -> bool:
        """Whether the two are different answers to one question: one kind, one unit, no match."""
        if self.kind != other.kind or self.matches(other):
            return False
        if self.kind == IDENTIFIER:
            return _find_series(self.value) == _find_series(other.value)
        return self.kind != QUANTITY or _find_dimension(self) == _find_dimension(other)


def _find_dimension(quantity: ValueAtom) -> str:
    if quantity.measure:
        return quantity.measure.partition(" ")[2]
    return quantity.value.removeprefix(quantity.core)


def _find_series(identifier: str) -> str:
    """What identifiers of one series share: `inc-204` and `inc-31` do, `inc-204` and `v2` not."""
    return "@" if identifier.startswith("@") else _DIGIT_RUN.sub("0", identifier)
