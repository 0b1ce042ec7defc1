"""The system under test, as the harness sees it."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import field

from recall_bench.core.record import Record
from recall_bench.core.scenario import Episode, Question
from recall_bench.core.usage import Usage


class Passage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Something the system looked at before answering."""

    text: str
    id: str | None = None
    """The episode it came from, by the id the episode was handed over with."""
    day: int | None = None
    """The story day it came from, as the system tells or as the harness could trace it."""
    turn: int | None = None
    """The utterance of that episode, where the harness could trace it."""
    turns: tuple[int, ...] = ()
    """All utterances that it holds whole, in a row, where it is of several."""
    source: str | None = None
    """Whatever the system calls the place: a path, a row, a node."""
    score: float | None = None


class Answer(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the system replied. Timing is not here: we measure it, they do not report it."""

    text: str
    passages: tuple[Passage, ...] = ()
    tool_calls: tuple[dict[str, object], ...] = ()
    """What the system did to find out, as it reports it."""
    usage: Usage | None = None
    """What the system says it spent on language models for this answer."""


class RetrievalReply(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a system replied that finds and does not answer: a reader answers from it."""

    passages: tuple[Passage, ...] = ()
    """Best first."""
    tool_calls: tuple[dict[str, object], ...] = ()
    usage: Usage | None = None


class Clock(StrEnum):
    """How a system comes to know when something happened."""

    NATIVE = "native"
    """It is told the date beside the text, and uses it."""
    IN_TEXT = "in-text"
    """Only as far as the text mentions dates."""
    NONE = "none"


class Asker(StrEnum):
    """What a system makes of the session a question is asked from."""

    HONOURED = "honoured"
    """It keeps what other sessions said from those who may not know."""
    TOLD = "told"
    """It is told who asks; whether it minds is for the answers to show."""
    UNTOLD = "untold"
    """It has no way to know, so questions about boundaries do not apply to it."""


UNDECLARED = "undeclared"
"""The version of a system that does not say one: a change to it cannot be noticed."""


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
    clock: Clock | None = None
    """None if it does not say."""
    asker: Asker = Asker.TOLD
    answers: bool = True
    """False if it only finds: a reader answers from what it found."""


class Memory(Protocol):
    """One isolated memory: it has lived one scenario and no other."""

    async def ingest(self, episode: Episode) -> None:
        """Take in one episode. Called in story order."""
        ...

    async def settle(self) -> None:
        """Return once everything ingested can be asked about. Called at every checkpoint."""
        ...

    async def answer(self, question: Question) -> Answer | RetrievalReply:
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


@runtime_checkable
class PortableSnapshots(Protocol):
    """Snapshots that can be opened in another process, on this machine or another."""

    async def pack(self, token: str, place: Path) -> None:
        """Leave all it takes to reopen the saved state in a folder, which exists and is empty.

        What was packed stays when the token is dropped.
        """
        ...

    async def unpack(self, place: Path) -> str:
        """A token for a state that was packed there, perhaps by another process.

        The folder is left as it is, and others may be reading from it. Dropping the token leaves
        what was packed as it is.
        """
        ...

    async def discard(self, place: Path) -> None:
        """Forget what was packed there, which nobody will unpack again; the folder stays."""
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
class WorkerLimitedSystem(Protocol):
    """A system that says how many workers it stands.

    It says so beside its card: it changes no answer, so a run goes on when it changes.
    """

    @property
    def max_shards(self) -> int | None:
        """How many workers may have memories open in it at a time; None is any number."""
        ...


def get_worker_limit(system: MemorySystem) -> int | None:
    """How many workers may have memories open in a system at a time; None is any number.

    Any number is what holds for a system of which every worker makes its own.
    """
    return system.max_shards if isinstance(system, WorkerLimitedSystem) else None


@runtime_checkable
class BulkIngestMemory(Protocol):
    """A memory that takes in many episodes faster than one after another."""

    async def ingest_all(
        self, episodes: Sequence[Episode], took: Callable[[Episode], None]
    ) -> None:
        """Take them in, in story order; `took` is called for each as soon as it is safe there."""
        ...


@runtime_checkable
class AttestingMemory(Protocol):
    """A memory that can say how much of the story it still holds."""

    async def attest(self) -> int | None:
        """How many days it has taken in; None if it does not say."""
        ...


class Holdings(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a memory says it holds; None where it does not say."""

    days: tuple[int, ...] | None = None
    """The story days of which it holds anything."""
    bytes: int | None = None
    """What it takes to keep them, index and all."""


@runtime_checkable
class MemoryWithHoldings(Protocol):
    """A memory that can be looked into: what it still holds, and how large it has become."""

    async def holdings(self) -> Holdings:
        """What is in it now. Called at every checkpoint, after `settle`."""
        ...


@runtime_checkable
class MeteringSystem(Protocol):
    """A system whose spending on language models is counted by us."""

    def drain(self) -> Usage:
        """What was spent since the last time."""
        ...


@runtime_checkable
class EvidenceControl(Protocol):
    """A control, never a contestant: it is told where the answers are."""

    def receive_evidence(self, scenario: str, evidence: Mapping[str, tuple[Passage, ...]]) -> None:
        """The supporting passages of each question of the scenario, by question id."""
        ...


class ReaderCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Who read, precisely enough to have the same passages read again."""

    name: str
    version: str
    model: str | None = None
    config: dict[str, object] = field(default_factory=dict)
    """The settings that can change an answer; for a model, the digest of its prompt."""


class Reader(Protocol):
    """Answers a question from passages and nothing else; the same for every system."""

    @property
    def card(self) -> ReaderCard:
        """Who this reader is; changes whenever an answer could."""
        ...

    async def read(self, question: Question, passages: Sequence[Passage]) -> Answer:
        """An answer with the reader's own usage, or ReaderFault. No passages is no record."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


class Delivery(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What became of the passages a system returned to one question."""

    offered: int
    """How many it returned."""
    kept: int
    """How many were within the budget; the others were cut off before anybody read them."""
    tokens: int
    """About how many tokens those are."""
    traced: int
    """How many of those kept could be traced to an episode."""
    cut_days: tuple[int, ...] = ()
    """The story days of the first hundred cut off, as far as they could be traced; each once,
    ascending."""
