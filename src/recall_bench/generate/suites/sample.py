"""What `select generate` is asked for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Protocol, TypeVar

from recall_bench.core.errors import UsageError
from recall_bench.core.record import Record
from recall_bench.core.schedule import shuffle
from recall_bench.core.usage import Usage
from recall_bench.datasets.selection.memory_file import MemoryFile

OFFLINE = "offline"
"""The writer that needs no model."""

_NAME = re.compile(r"[^\W_](?:[\w .-]*\w)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """Memories, and how many tests of which kind to make of them."""

    memories: Path
    out: Path
    """Where the tests go; tests that lie there already are not repeated."""
    samples: int = 1
    amount: int | None = None
    """Memories to pick for each sample: 0 makes tests that recall nothing, and None draws 1 to 5
    anew for every sample."""
    name: str | None = None
    """What the files are called; None calls each by its content."""
    model: str = OFFLINE
    """Who writes: `offline`, or a model as `--judge` takes it."""
    pool: bool = False
    """Whether all memories are looked at for what is relevant, not only the picked ones."""
    seed: int = 42
    max_cost_usd: float | None = None

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise UsageError(f"--samples: {self.samples} makes no test; say 1 or more")
        if self.amount is not None and self.amount < 0:
            raise UsageError(f"--amount: {self.amount} is no count; say 0 for no-recall tests")
        if self.name is not None and not _NAME.fullmatch(self.name):
            raise UsageError(
                f"--name: {self.name!r:.60} is no name for a file; use letters, digits and dashes"
            )
        cost = self.max_cost_usd
        if cost is not None and not (isfinite(cost) and cost >= 0):
            raise UsageError(f"--max-cost: {cost} is not a sum of money; say US dollars")


T = TypeVar("T")


class SampleRandom:
    """One stream of draws, named by a path of labels."""

    def __init__(self, *labels: str | int) -> None:
        self._named = "\0".join(map(str, labels))
        self._drawn = 0

    def sample(self, things: Sequence[T], count: int) -> list[T]:
        """So many of the things, none twice, in no order."""
        self._drawn += 1
        digest = sha256(f"{self._named}\0{self._drawn}".encode()).digest()
        # Odd, because seed 0 leaves things as they are.
        return shuffle(things, int.from_bytes(digest[:4], "big") | 1)[:count]

    def choose(self, things: Sequence[T]) -> T:
        """One of the things."""
        return self.sample(things, 1)[0]

    def shuffle(self, things: Sequence[T]) -> list[T]:
        """All of the things, in another order."""
        return self.sample(things, len(things))


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDraft:
    """A prompt and what it should recall."""

    prompt: str
    expected: tuple[str, ...]
    """Sorted by name."""


@dataclass(frozen=True, slots=True)
class DrawRefusal:
    """Why this draw makes no test; another one may."""

    reason: str


class PromptWriter(Protocol):
    """Somebody who writes prompts."""

    @property
    def name(self) -> str:
        """As the header `Model` has it."""
        ...

    @property
    def usage(self) -> Usage:
        """What was spent so far, failed samples included."""
        ...

    async def write(
        self, picked: Sequence[MemoryFile], chance: SampleRandom
    ) -> SuiteDraft | DrawRefusal:
        """A prompt that needs some of the picked memories, or raise ModelFault or BudgetSpent."""
        ...

    async def chat(
        self, category: str, before: Sequence[str], chance: SampleRandom
    ) -> SuiteDraft | DrawRefusal:
        """A message that needs no memory and is unlike those before it."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...


class FailedSample(Record, frozen=True, kw_only=True):
    """A sample that gave no test, however often it was drawn."""

    sample: int
    """Counted from 1."""
    reason: str


class BatchStop(Record, frozen=True, kw_only=True):
    """Why a batch ended before its last sample."""

    reason: str
    exit_code: int


class GeneratedSuite(Record, frozen=True, kw_only=True):
    """A batch that came to its end.

    Every sample is in exactly one of the lists, or was not finished because the batch was stopped.
    """

    folder: str
    samples: int
    """How many were asked for."""
    written: tuple[str, ...]
    """File names of the new tests, by sample."""
    kept: tuple[str, ...]
    """File names of this batch's tests that were there already."""
    failed: tuple[FailedSample, ...]
    redrawn: int
    """Draws that made no test and were followed by another."""
    usage: Usage
    stopped: BatchStop | None

    @property
    def exit_code(self) -> int:
        """0 if every sample has its test, 1 if some failed, else why the batch was stopped."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.failed else 0

    @property
    def in_words(self) -> str:
        """One sentence: how many of the tests asked for there are."""
        there = len(self.written) + len(self.kept)
        told = [f"{there} of {self.samples} tests are in {self.folder}"]
        if self.kept:
            told.append(f"{len(self.kept)} were there already")
        if self.failed:
            told.append(
                f"{len(self.failed)} failed, first sample {self.failed[0].sample}: "
                f"{self.failed[0].reason}"
            )
        if self.stopped is not None:
            told.append(self.stopped.reason)
        return "; ".join(told)
