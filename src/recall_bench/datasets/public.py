"""What it takes to be a public dataset here. `catalogue.py` lists those there are."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TypeVar, overload

from recall_bench.core.question import Scenario
from recall_bench.errors import UsageError

Row = TypeVar("Row")

Load = Callable[[Path, Mapping[str, Path]], Sequence[Scenario]]
"""Reads the dataset's file, or the folder of its files, with optional corrections by name.

Scenarios come in file order and may be built one at a time, as they are asked for. What a system
gets to see of them (ids of scenarios, episodes and sessions) says nothing about the answers.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """Something about the published file that its loader knows and deals with."""

    name: str
    concerns: str
    """What is wrong, where and how often, and what is done about it: one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionLayer:
    """A correction of the gold that somebody published: laid over it only when asked for."""

    name: str
    """As `--errata` says it."""
    concerns: str
    """Who found what, and what laying it over changes: one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDataset:
    """One dataset in one of its sizes or views."""

    name: str
    """As `--dataset` says it: `longmemeval-s`."""
    family: str
    """Whose protocols it is measured by: `longmemeval`."""
    title: str
    load: Load
    has_dates: bool
    """Whether its times are real; if not, its sessions are dated a day apart, in their order."""
    notes: tuple[str, ...] = ()
    """What one should know before quoting a number, a sentence each."""
    errata: tuple[Erratum, ...] = ()
    layers: tuple[CorrectionLayer, ...] = ()


class LazyScenarios(Sequence[Scenario]):
    """Scenarios that are built when they are asked for, and not kept."""

    def __init__(self, size: int, build: Callable[[int], Scenario]) -> None:
        self._places = range(size)
        self._build = build

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Scenario: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Scenario]: ...

    def __getitem__(self, place: int | slice) -> Scenario | Sequence[Scenario]:
        """One scenario, built now; or some of them, built later."""
        chosen = self._places[place]
        if isinstance(chosen, int):
            return self._build(chosen)
        return LazyScenarios(len(chosen), lambda number: self._build(chosen[number]))

    def __iter__(self) -> Iterator[Scenario]:
        return map(self._build, self._places)


def load_file_by_file(
    files: Sequence[Path],
    read: Callable[[Path], Sequence[Row]],
    build: Callable[[Path, Row], Scenario],
) -> Sequence[Scenario]:
    """A scenario for each row of the files, which are used one after the other.

    Files are large: the rows of one at a time are in memory.
    """
    rows_of = lru_cache(maxsize=1)(read)
    ends = list(accumulate(len(rows_of(path)) for path in files))

    def build_row(number: int) -> Scenario:
        place = bisect_right(ends, number)
        return build(files[place], rows_of(files[place])[number - ends[place]])

    return LazyScenarios(ends[-1], build_row)


def refuse_corrections(name: str, layers: Mapping[str, Path]) -> None:
    """UsageError for a dataset that nobody has published corrections of."""
    if layers:
        raise UsageError(f"{name} has no corrections to lay over it; leave out {min(layers)!r}")
