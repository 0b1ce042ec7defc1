"""Records of generating a suite: the request, a draft, random draws, the result."""

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
from recall_bench.features.selection.memory_file import MemoryFile

OFFLINE = "offline"
"""The writer that needs no model."""

MAX_PICKED = 5
"""Most memories picked for a sample if the request gives no number."""

_NAME = re.compile(r"[^\W_](?:[\w .-]*\w)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """The memories, and how many tests of which kind to generate."""

    memories: Path
    out: Path
    """The output folder; tests that are there already are not repeated."""
    samples: int = 1
    amount: int | None = None
    """Memories picked per sample: 0 makes no-recall tests, None draws 1 to MAX_PICKED per
    sample."""
    name: str | None = None
    """Base name of the files; None names each by a digest of its content."""
    model: str = OFFLINE
    """The writer: `offline`, or a model as for `--judge`."""
    pool: bool = False
    """Whether relevance is judged for all memories, not only the picked ones."""
    seed: int = 42
    max_cost_usd: float | None = None

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise UsageError(f"--samples: {self.samples} makes no test; give 1 or more")
        if self.amount is not None and self.amount < 0:
            raise UsageError(f"--amount: {self.amount} is not a count; give 0 for no-recall tests")
        if self.name is not None and not _NAME.fullmatch(self.name):
            raise UsageError(
                f"--name: {self.name!r:.60} is not a name for a file; use letters, "
                "digits and dashes"
            )
        cost = self.max_cost_usd
        if cost is not None and not (isfinite(cost) and cost >= 0):
            raise UsageError(f"--max-cost: {cost} is not an amount; give US dollars")


T = TypeVar("T")


class SampleRandom:
    """Seeded draws that depend only on their labels.

    Each sample and each attempt has its own stream, so a resumed batch draws what it would have
    drawn without the interruption.
    """

    def __init__(self, *labels: str | int) -> None:
        self._named = "\0".join(map(str, labels))
        self._drawn = 0

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different items in random order."""
        self._drawn += 1
        digest = sha256(f"{self._named}\0{self._drawn}".encode()).digest()
        # Odd, because seed 0 does not shuffle.
        return shuffle(items, int.from_bytes(digest[:4], "big") | 1)[:count]

    def choose(self, items: Sequence[T]) -> T:
        """One of the items."""
        return self.sample(items, 1)[0]

    def shuffle(self, items: Sequence[T]) -> list[T]:
        """All items in random order."""
        return self.sample(items, len(items))


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDraft:
    """A prompt and the memories it should recall."""

    prompt: str
    expected: tuple[str, ...]
    """Sorted by name."""


@dataclass(frozen=True, slots=True)
class DrawRefusal:
    """Why this draw gave no test; another draw may."""

    reason: str


class PromptWriter(Protocol):
    """Writes the prompts of tests."""

    @property
    def name(self) -> str:
        """The value of the header `Model`."""
        ...

    @property
    def usage(self) -> Usage:
        """Usage so far, failed samples included."""
        ...

    async def write(
        self, picked: Sequence[MemoryFile], rng: SampleRandom
    ) -> SuiteDraft | DrawRefusal:
        """A prompt that needs some of the picked memories; raises ModelFault or BudgetSpent."""
        ...

    async def chat(
        self, category: str, before: Sequence[str], rng: SampleRandom
    ) -> SuiteDraft | DrawRefusal:
        """A message that needs no memory and differs from those before it."""
        ...


class FailedSample(Record, frozen=True, kw_only=True):
    """A sample that gave no test in any draw."""

    sample: int
    """Counted from 1."""
    reason: str


class BatchStop(Record, frozen=True, kw_only=True):
    """Why a batch was stopped before its last sample."""

    reason: str
    exit_code: int


class GeneratedSuite(Record, frozen=True, kw_only=True):
    """The result of a batch.

    Every sample is in exactly one of the lists, or is unfinished because the batch was stopped.
    """

    folder: str
    samples: int
    """Number requested."""
    written: tuple[str, ...]
    """File names of the new tests, by sample."""
    kept: tuple[str, ...]
    """File names of this batch's tests that existed already."""
    failed: tuple[FailedSample, ...]
    redrawn: int
    """Draws without a test that were followed by another draw."""
    usage: Usage
    stopped: BatchStop | None

    @property
    def exit_code(self) -> int:
        """0 if every sample has its test, 1 if some failed, else the code of the stop."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if self.failed else 0

    @property
    def in_words(self) -> str:
        """The result in one sentence."""
        there = len(self.written) + len(self.kept)
        parts = [f"{there} of {self.samples} tests are in {self.folder}"]
        if self.kept:
            parts.append(f"{len(self.kept)} were there already")
        if self.failed:
            parts.append(
                f"{len(self.failed)} failed, first sample {self.failed[0].sample}: "
                f"{self.failed[0].reason}"
            )
        if self.stopped is not None:
            parts.append(self.stopped.reason)
        return "; ".join(parts)
