"""The values that rows of trials take from the journal, as columns of numbers."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np

from recall_bench.core.memory import Delivery
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Finding

FRACTIONS = ("seconds", "reading_s", "score")
"""Numbers or None."""
COUNTS = ("evidence_found", "evidence_missing", "evidence_cut", "evidence_lost")
"""Whole numbers or None."""
FLAGS = (
    "is_evidence_exact",
    "is_silent",
    "tells_stale",
    "tells_others",
    "tells_other_people",
    "leaked",
)
"""True, False or None."""
_NONE = -1
_FRACTION, _WHOLE, _FLAG = "<f8", "<i4", "i1"

ValueT = TypeVar("ValueT", bound=Hashable)


class ReadValues(Protocol):
    """A row with the values that are named above, and those of `TrialColumns`."""

    @property
    def usage(self) -> Usage | None:
        """What answering cost."""

    @property
    def delivery(self) -> Delivery | None:
        """The passages counted."""

    @property
    def findings(self) -> tuple[Finding, ...] | None:
        """The judge's findings."""

    @property
    def fault(self) -> str | None:
        """Why it has no outcome."""


class TrialColumns(msgspec.Struct, kw_only=True):
    """All rows of a run. Values that are no numbers are listed once, and numbered in the rows."""

    rows: int
    fractions: dict[str, bytes]
    counts: dict[str, bytes]
    flags: dict[str, bytes]
    places: dict[str, bytes]
    usages: list[Usage | None]
    deliveries: list[Delivery | None]
    findings: list[tuple[Finding, ...] | None]
    faults: list[str | None]

    def iterate_values(self) -> Iterator[Mapping[str, object]]:
        """Yield the values of each row by name; ValueError or LookupError if they are not whole."""
        columns: dict[str, list[object]] = {}
        for name in FRACTIONS:
            numbers = self._read(self.fractions[name], _FRACTION)
            columns[name] = [None if value != value else value for value in numbers]  # noqa: PLR0124
        for name in COUNTS:
            numbers = self._read(self.counts[name], _WHOLE)
            columns[name] = [None if value == _NONE else value for value in numbers]
        for name in FLAGS:
            numbers = self._read(self.flags[name], _FLAG)
            columns[name] = [None if value == _NONE else bool(value) for value in numbers]
        for name, values in self._list_values().items():
            numbers = self._read(self.places[name], _WHOLE)
            columns[name] = [values[place] for place in numbers]
        for row in zip(*columns.values(), strict=True):
            yield dict(zip(columns, row, strict=True))

    def _list_values(self) -> dict[str, Sequence[object]]:
        return {
            "usage": self.usages,
            "delivery": self.deliveries,
            "findings": self.findings,
            "fault": self.faults,
        }

    def _read(self, column: bytes, kind: str) -> list[Any]:
        found = np.frombuffer(column, kind)
        if len(found) != self.rows:
            raise ValueError("a column has not one value a row")
        return list(found.tolist())


def make_columns(rows: Sequence[ReadValues]) -> TrialColumns:
    """Make the columns of all rows of a run."""
    usages, usage = _number_values([row.usage for row in rows])
    deliveries, delivery = _number_values([row.delivery for row in rows])
    findings, finding = _number_values([row.findings for row in rows])
    faults, fault = _number_values([row.fault for row in rows])
    return TrialColumns(
        rows=len(rows),
        fractions={name: _pack(rows, name, np.nan, _FRACTION) for name in FRACTIONS},
        counts={name: _pack(rows, name, _NONE, _WHOLE) for name in COUNTS},
        flags={name: _pack(rows, name, _NONE, _FLAG) for name in FLAGS},
        places={"usage": usage, "delivery": delivery, "findings": finding, "fault": fault},
        usages=usages,
        deliveries=deliveries,
        findings=findings,
        faults=faults,
    )


def _pack(rows: Sequence[ReadValues], name: str, none: float, kind: str) -> bytes:
    values = (getattr(row, name) for row in rows)
    return np.array([none if value is None else value for value in values], kind).tobytes()


def _number_values(values: Sequence[ValueT]) -> tuple[list[ValueT], bytes]:
    places: dict[ValueT, int] = {}
    numbers = [places.setdefault(value, len(places)) for value in values]
    return list(places), np.array(numbers, _WHOLE).tobytes()
