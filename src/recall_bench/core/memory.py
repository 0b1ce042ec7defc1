"""The system under test, as the harness sees it."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import field

from recall_bench.core.history import Episode
from recall_bench.core.question import Question
from recall_bench.core.record import Record


class Passage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Something the system looked at before answering."""

    text: str
    day: int | None = None
    """The story day it came from, if the system can tell. Retrieval metrics need this."""
    source: str | None = None
    """Whatever the system calls the place: a path, a row, a node."""
    score: float | None = None


class Answer(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the system replied. Timing is not here: we measure it, they do not report it."""

    text: str
    passages: tuple[Passage, ...] = ()
    tool_calls: tuple[dict[str, object], ...] = ()
    """What the system did to find out, as it reports it."""


class SystemCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a system says it is. Declared once, recorded in the plan, never sniffed."""

    name: str
    version: str
    config: dict[str, object] = field(default_factory=dict)
    """The settings that can change an answer."""
    max_concurrency: int = 1
    """How many questions one memory stands at once."""
    computes: bool = False
    """Answers by computation alone: it never waits, so there is nothing to time and cut off."""


class Memory(Protocol):
    """One isolated memory: it has lived one scenario and no other."""

    async def ingest(self, episode: Episode) -> None:
        """Take in one episode. Called in story order."""
        ...

    async def settle(self) -> None:
        """Return once everything ingested can be asked about. Called at every checkpoint."""
        ...

    async def answer(self, question: Question) -> Answer:
        """Reply, or raise SystemFault. Never apologise in prose: apologies get graded."""
        ...

    async def close(self) -> None:
        """Release this memory and whatever it holds."""
        ...


class Snapshots(Protocol):
    """For systems that can return to an earlier state."""

    async def save(self, memory: Memory) -> str:
        """A token for the memory's present state."""
        ...

    async def open(self, token: str) -> Memory:
        """A new memory in the saved state. What it is asked leaves no trace on the others."""
        ...

    async def drop(self, token: str) -> None:
        """Forget a saved state that nobody will return to."""
        ...


class MemorySystem(Protocol):
    """A source of isolated memories."""

    @property
    def card(self) -> SystemCard:
        """What the system says it is."""
        ...

    @property
    def snapshots(self) -> Snapshots | None:
        """None if the system cannot go back."""
        ...

    async def open(self, scenario: str) -> Memory:
        """A memory that has lived nothing yet."""
        ...

    async def close(self) -> None:
        """Release what the system itself holds. Called once, after the last memory."""
        ...


@runtime_checkable
class Attesting(Protocol):
    """A memory that can say how much of the story it still holds."""

    async def attest(self) -> int | None:
        """How many days it has taken in; None if it does not say."""
        ...


@runtime_checkable
class Confidant(Protocol):
    """A control, never a contestant: it is told where the answers are."""

    def confide(self, scenario: str, evidence: Mapping[str, tuple[Passage, ...]]) -> None:
        """The supporting passages of each question of the scenario, by question id."""
        ...
