"""The system under test, as the harness sees it."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from msgspec import field

from recall_bench.core.errors import NotOffered, UsageError
from recall_bench.core.record import Record
from recall_bench.core.scenario import Episode, Question, StoryTime
from recall_bench.core.usage import Usage


class Passage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of the history that the system returned with its answer."""

    text: str
    id: str | None = None
    """The id of the episode it came from, if the system names it."""
    day: int | None = None
    """The story day it came from, as the system reports or the harness traced it."""
    turn: int | None = None
    """The turn of that episode, if it could be traced."""
    turns: tuple[int, ...] = ()
    """The consecutive turns that it contains whole, if there are several."""
    source: str | None = None
    """The system's own name of the place: a path, a row, a node."""
    score: float | None = None
    claimed: int | None = None
    """The story day that the system names for a text that stands in no day, such as a summary."""


class DatedPassage(Passage, frozen=True, kw_only=True, omit_defaults=True):
    """A passage as a reader sees it, with what the system itself named of its origin.

    It is not recorded. A day that only the harness traced is not in it.
    """

    at: StoryTime
    """When the episode happened that the system names."""
    session: str | None = None
    """The session of that episode, or the one in it that the system names as its source."""


class Answer(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the system replied. Timing is measured by us, not reported here."""

    text: str
    passages: tuple[Passage, ...] = ()
    tool_calls: tuple[dict[str, object], ...] = ()
    """The tool calls that the system reports."""
    usage: Usage | None = None
    """What the system reports to have spent on language models for this answer."""


class RetrievalReply(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The reply of a system that only retrieves: a reader answers from the passages."""

    passages: tuple[Passage, ...] = ()
    """Best first."""
    tool_calls: tuple[dict[str, object], ...] = ()
    usage: Usage | None = None


class Clock(StrEnum):
    """How a system knows when something happened."""

    NATIVE = "native"
    """It uses the date that comes with the text."""
    IN_TEXT = "in-text"
    """Only from dates in the text."""
    NONE = "none"


class Asker(StrEnum):
    """What a system does with the session a question is asked from."""

    HONOURED = "honoured"
    """It keeps the content of other sessions from askers who may not know it."""
    TOLD = "told"
    """It receives the session; the answers show whether it uses it."""
    UNTOLD = "untold"
    """It does not receive the session, so questions about boundaries do not apply to it."""


class Isolation(StrEnum):
    """How far a system's code is kept from the questions' truth, the judge and the journal."""

    IN_PROCESS = "in-process"
    """It runs in the process of the harness and can reach everything there."""
    PROCESS = "process"
    """It runs in processes of its own, which can read the files of this user."""
    SANDBOX = "sandbox"
    """It runs in processes of its own, which can read its own files and the installed software."""


class IsolationCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """How a system's code was isolated, and what it was given beyond days and questions."""

    kind: Isolation
    network: bool = True
    """Whether it could use the network."""
    env: tuple[str, ...] = ()
    """The names of the environment variables that the user passed to it."""
    reads: tuple[str, ...] = ()
    """The files and folders that the user opened to it."""


UNDECLARED = "undeclared"
"""The version of a system that declares none: a change to it cannot be noticed."""


class SystemCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A system's declaration of itself, recorded in the plan."""

    name: str
    version: str
    config: dict[str, object] = field(default_factory=dict)
    """The settings that can change an answer."""
    max_concurrency: int = 1
    """How many questions one memory can answer at once."""
    computes: bool = False
    """Whether it only computes: it never waits, so it needs no timeout."""
    clock: Clock | None = None
    """None if it does not say."""
    asker: Asker = Asker.TOLD
    answers: bool = True
    """False if it only retrieves: a reader answers from the passages."""
    isolation: IsolationCard | None = None
    """None for built-ins, which are part of the harness, and for servers that others started."""
    caveats: tuple[str, ...] = ()
    """What cannot be guaranteed of its memories, one sentence each."""


class Memory(Protocol):
    """One isolated memory of one scenario."""

    async def ingest(self, episode: Episode) -> None:
        """Ingest one episode. Called in story order."""

    async def settle(self) -> None:
        """Return once everything ingested can be queried. Called at every checkpoint."""

    async def answer(self, question: Question) -> Answer | RetrievalReply:
        """Reply, or raise SystemFault. An apology in prose would be graded as an answer."""

    async def close(self) -> None:
        """Release everything this memory holds."""


class Snapshots(Protocol):
    """Saved states of memories that can be reopened."""

    async def save(self, memory: Memory) -> str:
        """Save the present state of a memory and return a token for it."""

    async def open(self, token: str) -> Memory:
        """Open a new memory in the saved state; asking it changes no other memory."""

    async def drop(self, token: str) -> None:
        """Delete a saved state that is no longer needed."""


@runtime_checkable
class CopySnapshots(Protocol):
    """Snapshots that are memories themselves, so that the last use of one needs no copy."""

    async def open_last(self, token: str) -> Memory:
        """Open the saved state itself, which cannot be opened again; the token is still dropped."""


@runtime_checkable
class PortableSnapshots(Protocol):
    """Snapshots that can be opened in another process, on this machine or another."""

    async def pack(self, token: str, place: Path) -> None:
        """Write everything needed to reopen the saved state to an existing, empty folder.

        Dropping the token does not change the folder.
        """

    async def unpack(self, place: Path) -> str:
        """Return a token for a state that was packed there, perhaps by another process.

        Neither this nor dropping the token changes the folder; others may read from it.
        """

    async def discard(self, place: Path) -> None:
        """Delete what was packed there; the folder stays."""


class MemorySystem(Protocol):
    """A source of isolated memories."""

    @property
    def card(self) -> SystemCard:
        """The system's declaration of itself."""

    @property
    def snapshots(self) -> Snapshots | None:
        """None if the system has no snapshots."""

    async def open(self, scenario: str) -> Memory:
        """Open an empty memory."""

    async def close(self) -> None:
        """Release everything the system holds. Called once, after the last memory."""


def get_worker_limit(system: MemorySystem) -> int | None:
    """Return how many workers may have memories open in a system at once; None for no limit.

    A system says so by `max_shards`; one of which every worker makes its own has no limit. It is
    not on its card: it changes no answer, so a run can resume when it changes.
    """
    limit: int | None = getattr(system, "max_shards", None)
    return limit


def feeds_freely(system: MemorySystem) -> bool:
    """Return whether to feed one more memory costs only time, so that each worker may do it."""
    is_free: bool = getattr(system, "feeds_freely", False)
    return is_free


@runtime_checkable
class BulkIngestMemory(Protocol):
    """A memory that ingests many episodes faster together than one by one."""

    async def ingest_all(
        self, episodes: Sequence[Episode], on_ingested: Callable[[Episode], None]
    ) -> None:
        """Ingest them in story order; `on_ingested` is called for each once it is stored."""


@runtime_checkable
class AttestingMemory(Protocol):
    """A memory that can count its days."""

    async def attest(self) -> int | None:
        """Count the ingested days; None if it cannot."""


class Holdings(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a memory reports to hold; None where it does not report it."""

    days: tuple[int, ...] | None = None
    """The story days of which it holds anything."""
    bytes: int | None = None
    """The storage it uses, indexes included."""


@runtime_checkable
class MemoryWithHoldings(Protocol):
    """A memory that reports what it holds and how large it is."""

    async def holdings(self) -> Holdings:
        """Report its present content. Called at every checkpoint, after `settle`."""


class Offer(StrEnum):
    """An optional part of the contract. A system that lacks one has not failed at it."""

    FORGET = "forget"
    """Erases everything about a subject given in words."""
    DELETE = "delete"
    """Erases one episode by its id."""
    DELETE_SESSION = "delete-session"
    """Erases a whole session."""
    DELETE_PERSON = "delete-person"
    """Erases everything that a person said or that is about them."""
    RETAIN = "retain"
    """Keeps nothing older than a number of days before the latest day."""
    STORED = "stored"
    """Lists every entry that it holds."""
    CONSOLIDATE = "consolidate"
    """Does at once what it does from time to time: summaries, merging."""
    REOPEN = "reopen"
    """Goes on with what an earlier process left."""


class EraseScope(StrEnum):
    """What a request to erase names."""

    FORGET = "forget"
    """A subject, in words."""
    DELETE = "delete"
    """The id of an episode."""
    SESSION = "session"
    PERSON = "person"
    """A name."""
    DAYS = "days"
    """How many days before the latest one are kept; from then on, this is a rule."""

    @property
    def offer(self) -> Offer:
        """The optional part that such a request needs."""
        return _OFFER_OF_SCOPE[self]


_OFFER_OF_SCOPE = {
    EraseScope.FORGET: Offer.FORGET,
    EraseScope.DELETE: Offer.DELETE,
    EraseScope.SESSION: Offer.DELETE_SESSION,
    EraseScope.PERSON: Offer.DELETE_PERSON,
    EraseScope.DAYS: Offer.RETAIN,
}


def parse_kept_days(value: str) -> int:
    """Parse the number of days of a retention rule; UsageError if it is none."""
    if not (value.isascii() and value.isdecimal()):
        raise UsageError(f"{value!r} is not a number of days; keep 0 days or more")
    return int(value)


class EraseReply(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a memory says that it erased."""

    confirmed: bool | None = None
    """Whether it says that it erased something; None if it does not say."""
    count: int | None = None
    """How many entries it says it erased."""


class StoredEntry(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of a memory, as the memory lists it."""

    text: str
    id: str | None = None
    """The id of the episode it came from, if the memory names it."""
    day: int | None = None


def list_offers(system: MemorySystem) -> frozenset[Offer]:
    """Return the optional parts of the contract that a system has, by its `offers`.

    They are not on its card: they change no answer.
    """
    offers: frozenset[Offer] = getattr(system, "offers", frozenset())
    return offers


@runtime_checkable
class SupportsTasks(Protocol):
    """A system or a reader whose model can do tasks instead of answering questions."""

    def prepare_tasks(self) -> Self:
        """The same with the prompts for tasks."""


@runtime_checkable
class ErasingMemory(Protocol):
    """A memory that can erase on request."""

    async def erase(self, scope: EraseScope, value: str) -> EraseReply:
        """Erase what the value names; NotOffered if it cannot erase in this scope."""


@runtime_checkable
class ListingMemory(Protocol):
    """A memory that lists what it holds."""

    async def list_stored(self) -> tuple[StoredEntry, ...]:
        """List every entry; NotOffered if it cannot."""


@runtime_checkable
class ConsolidatingMemory(Protocol):
    """A memory that can consolidate on request."""

    async def consolidate(self) -> None:
        """Return once it has consolidated; NotOffered if it cannot."""


@runtime_checkable
class ReopeningSystem(Protocol):
    """A system that can go on with the state of a memory that ended."""

    async def reopen(self, memory: Memory) -> Memory:
        """Open a memory with the state of one that was closed or killed.

        NotOffered if the system cannot, SystemGone if the state is lost. The state of a memory that
        was closed may be removed with the memory object.
        """


@runtime_checkable
class FolderReopeningSystem(Protocol):
    """A system that can go on with a folder that a memory of another process left."""

    async def reopen_folder(self, folder: Path, scenario: str) -> Memory:
        """Open a memory with the state in the folder."""


async def reopen_state(system: MemorySystem, folder: Path, scenario: str) -> Memory:
    """Open a memory with what one of another process left; NotOffered if the system cannot."""
    if not isinstance(system, FolderReopeningSystem):
        raise NotOffered(f"{system.card.name} does not go on with the files of another process")
    return await system.reopen_folder(folder, scenario)


async def reopen_memory(system: MemorySystem, memory: Memory) -> Memory:
    """Reopen a memory of a system; NotOffered if the system cannot."""
    if Offer.REOPEN not in list_offers(system) or not isinstance(system, ReopeningSystem):
        raise NotOffered(f"{system.card.name} does not reopen memories")
    return await system.reopen(memory)


@runtime_checkable
class KillableMemory(Protocol):
    """A memory whose process we started, so that we may kill it."""

    async def kill(self) -> None:
        """Kill the process that serves this memory at once, and wait for its end.

        Other memories that it serves are lost too. NotOffered if we did not start it.
        """


@runtime_checkable
class MemoryWithFolder(Protocol):
    """A memory of which we may know where its state is on disk."""

    @property
    def state_folder(self) -> Path | None:
        """The folder with its state; None if there is none that we know."""


@runtime_checkable
class MeteringSystem(Protocol):
    """A system whose use of language models is metered by us."""

    def drain(self) -> Usage:
        """Return what was spent since the last call."""


class Exchange(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One message to an agent, and what came back."""

    scenario: str
    conversation: str
    """The id of the conversation it belongs to."""
    request: str
    """The start of the message."""
    seconds: float
    reply: str | None = None
    """The start of the reply; None if there was none."""
    day: int | None = None
    """The day that was ingested; None for a question."""
    question: str | None = None
    """The id of the question; None for a day."""
    tool_calls: int = 0
    """How many calls of tools the agent reports."""
    usage: Usage | None = None
    """What the agent reports to have spent."""
    cut: int = 0
    """How many characters of both texts were left out."""
    fault: str | None = None
    """Why there was no reply."""


@runtime_checkable
class TranscribingSystem(Protocol):
    """A system that keeps a transcript of what it was sent."""

    def drain_exchanges(self, scenario: str) -> tuple[Exchange, ...]:
        """Return the exchanges about this scenario since the last call, in order."""


@runtime_checkable
class EvidenceControl(Protocol):
    """A control, never a contestant: it receives the evidence of every answer."""

    def receive_evidence(self, scenario: str, evidence: Mapping[str, tuple[Passage, ...]]) -> None:
        """Receive the supporting passages of each question of the scenario, by question id."""


@runtime_checkable
class PassageControl(Protocol):
    """A control, never a contestant: it receives what a perfect search would find."""

    def receive_passages(self, scenario: str, passages: Mapping[str, tuple[Passage, ...]]) -> None:
        """Receive the evidence passages of each question of the scenario, by question id."""
        ...


class ReaderCard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A reader, described precisely enough to repeat its work."""

    name: str
    version: str
    model: str | None = None
    config: dict[str, object] = field(default_factory=dict)
    """The settings that can change an answer; for a model, the digest of its prompt."""


class Reader(Protocol):
    """Answers a question from passages and nothing else; the same for every system."""

    @property
    def card(self) -> ReaderCard:
        """The reader's identity; it changes whenever an answer could."""

    async def read(self, question: Question, passages: Sequence[Passage]) -> Answer:
        """Answer, with the reader's own usage, or raise ReaderFault.

        Without passages the answer says that there is no record.
        """

    async def close(self) -> None:
        """Release connections."""


@runtime_checkable
class ActingReader(Protocol):
    """A reader that does tasks, and also where a system found nothing for them."""

    @property
    def acts(self) -> bool:
        """Whether it does."""


class Delivery(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The passages a system returned for one question, counted."""

    offered: int
    """How many it returned."""
    kept: int
    """How many were within the budget; the others were not used."""
    tokens: int
    """The estimated tokens of those kept."""
    traced: int
    """How many of those kept could be traced to an episode."""
    summaries: int = 0
    """How many of those kept name an episode, and are in no episode's words."""
    cut_days: tuple[int, ...] = ()
    """The story days of the first hundred passages that were cut, where traced; each once,
    ascending."""
    spans: tuple[tuple[int, int] | None, ...] = ()
    """For each passage kept, its range in the text of its day; None if it is no quotation of it.
    Empty if the system is fed another form of the days, or none is a quotation."""
