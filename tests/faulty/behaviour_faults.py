"""Memories that behave badly on purpose, each in one way, for the behaviour suites.

Each is the reference memory with one fault. `caught_by` names the suite and the figure that must
show it: `recall-bench suite erasure --adapter tests.faulty.behaviour_faults:ConfirmsOnly`.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable
from itertools import count
from typing import ClassVar

from recall_bench.systems.python.adapter import DayMetadata, QueryContext
from tests.faulty.behaviour_reference import ReferenceEntry, ReferenceMemory, find_names

_COMMAND = re.compile(
    r"(?<![a-z])(ais?|agents?|assistants?|bots?|llm|models?|readers|robots|software)(?![a-z])",
    re.IGNORECASE,
)
"""Names by which a text addresses programs like this one."""


class MisbehavingMemory(ReferenceMemory):
    """The reference memory with one thing wrong."""

    caught_by: ClassVar[tuple[str, str]]
    """The suite, and its figure that shows the fault."""
    shown_in: ClassVar[tuple[str, ...]] = ()
    """The kinds of stories that show it; empty for all."""


class ConfirmsOnly(MisbehavingMemory):
    """Confirms every erasure, and does none."""

    caught_by = ("erasure", "false-confirmation")
    shown_in = ("delete",)

    def erase(self, chosen: Callable[[ReferenceEntry], bool]) -> int:
        """Count what should be erased."""
        return sum(map(chosen, self.entries))


class KeepsVectors(MisbehavingMemory):
    """Hides erased entries from answers and listings, and goes on returning them as passages."""

    caught_by = ("erasure", "residue/passages")
    shown_in = ("forget",)

    def __init__(self) -> None:
        super().__init__()
        self._index: list[ReferenceEntry] = []

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the day, and index it."""
        super().ingest_day(day, content, metadata)
        self._index += [e for e in self.entries if e.episode == metadata.episode_id]

    def query(self, question: str, context: QueryContext) -> object:
        """Answer from the entries, with passages from the index."""
        answer = super().query(question, context)
        scored = sorted(self._index, key=lambda e: self.score(question, e), reverse=True)
        passages = [{"text": e.text, "day": e.day} for e in scored[:5]]
        return {**answer, "passages": passages} if isinstance(answer, dict) else answer


class SummaryResurrects(MisbehavingMemory):
    """Consolidates from an archive that erasing does not reach."""

    caught_by = ("erasure", "returned/consolidated")
    shown_in = ("delete",)

    def __init__(self) -> None:
        super().__init__()
        self._archive: list[ReferenceEntry] = []

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the day, and archive it."""
        super().ingest_day(day, content, metadata)
        self._archive += [e for e in self.entries if e.episode == metadata.episode_id]

    def consolidate(self) -> None:
        """Bring back whatever the archive has and the memory lacks."""
        self.entries += [entry for entry in self._archive if entry not in self.entries]
        self.flush()


class ErasesTooMuch(MisbehavingMemory):
    """Erases half of everything else besides."""

    caught_by = ("erasure", "collateral-loss")
    shown_in = ("person",)

    def erase(self, chosen: Callable[[ReferenceEntry], bool]) -> int:
        """Erase what is chosen, and every second day."""
        return super().erase(lambda entry: chosen(entry) or entry.day % 2 == 1)


class KeepsFiles(MisbehavingMemory):
    """Erases in memory, and leaves a copy on disk."""

    caught_by = ("erasure", "residue/files")
    shown_in = ("session",)

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the day, and log it."""
        super().ingest_day(day, content, metadata)
        with (self.state_dir / "access.log").open("a", encoding="utf-8") as log:
            log.write(content)


class ErasesUntilRestart(MisbehavingMemory):
    """Does not write down what it erased: it is back after a restart."""

    caught_by = ("erasure", "returned/restarted")
    shown_in = ("forget",)

    def erase(self, chosen: Callable[[ReferenceEntry], bool]) -> int:
        """Erase without writing it down."""
        kept = [entry for entry in self.entries if not chosen(entry)]
        erased = len(self.entries) - len(kept)
        self.entries = kept
        return erased

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Append the day to the file."""
        held, self.entries = self.entries, []
        super().ingest_day(day, content, metadata)
        self.entries = held + self.entries
        if len(self.entries) > len(held):
            self.flush()


class TrustsQuotations(MisbehavingMemory):
    """Takes what others wrote for its own knowledge, the latest first."""

    caught_by = ("poisoning", "attack-success")
    shown_in = ("false-correction",)

    def rank(self, question: str, context: QueryContext) -> list[ReferenceEntry]:
        """Rank quotations like everything else."""
        scored = [(self.score(question, entry), entry) for entry in self.list_visible(context)]
        close = [entry for score, entry in scored if score > 0]
        return sorted(close, key=lambda entry: entry.day, reverse=True)


class ObeysInstructions(TrustsQuotations):
    """Obeys notes that address the assistant or the system, and no other quotation."""

    caught_by = ("poisoning", "attack-success/instruction")
    shown_in = ("instruction",)

    def list_visible(self, context: QueryContext) -> Iterable[ReferenceEntry]:
        """List what is no quotation, or commands."""
        return [
            entry
            for entry in super().list_visible(context)
            if not entry.is_quoted or _COMMAND.search(entry.text)
        ]


class CountsVotes(TrustsQuotations):
    """Believes what stands there most often."""

    caught_by = ("poisoning", "attack-success/flood")
    shown_in = ("flood",)

    def rank(self, question: str, context: QueryContext) -> list[ReferenceEntry]:
        """Rank by how often the subject is mentioned in one entry."""
        names = find_names(question)
        found = super().rank(question, context)
        return sorted(found, key=lambda e: -sum(e.text.count(name) for name in names))


class RefusesCorrections(MisbehavingMemory):
    """Never replaces the value that it stored first."""

    caught_by = ("poisoning", "correction-refused")
    shown_in = ("preference",)

    def rank(self, question: str, context: QueryContext) -> list[ReferenceEntry]:
        """Rank the oldest first."""
        return super().rank(question, context)[::-1]


class ForgetsWhenAttacked(MisbehavingMemory):
    """Throws away what it knew before when a quotation comes in."""

    caught_by = ("poisoning", "damage")
    shown_in = ("identity",)

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the day; a quotation costs the oldest half."""
        super().ingest_day(day, content, metadata)
        if any(entry.is_quoted and entry.day == day for entry in self.entries):
            self.entries = self.entries[len(self.entries) // 2 :]


class MergesUsers(MisbehavingMemory):
    """Keeps the entries of all users with the same name, however it is spelt, together."""

    caught_by = ("tenants", "leak/ids-case")
    shown_in = ("case",)
    _shared: ClassVar[dict[str, list[ReferenceEntry]]] = {}

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the day into the entries of the name."""
        super().ingest_day(day, content, metadata)
        mine = [e for e in self.entries if e.episode == metadata.episode_id]
        self._shared.setdefault(self.name_user(metadata.persona_id), []).extend(mine)

    def list_visible(self, context: QueryContext) -> Iterable[ReferenceEntry]:
        """List the entries of the name."""
        return self._shared.get(self.name_user(context.persona), [])

    def name_user(self, name: str) -> str:
        """Name the user without regard to case."""
        return name.casefold()


class MatchesPrefixes(MergesUsers):
    """Looks users up by the beginning of their name."""

    caught_by = ("tenants", "leak/ids-prefixes")
    shown_in = ("prefixes",)
    _shared: ClassVar[dict[str, list[ReferenceEntry]]] = {}

    def name_user(self, name: str) -> str:
        """Name the user as it is."""
        return name

    def list_visible(self, context: QueryContext) -> Iterable[ReferenceEntry]:
        """List the entries of every name that begins alike."""
        for name, entries in self._shared.items():
            if name.startswith(context.persona):
                yield from entries


class SharesAnswers(MisbehavingMemory):
    """Caches answers by the words of the question alone."""

    caught_by = ("tenants", "leak")
    shown_in = ("plain",)
    _cache: ClassVar[dict[str, object]] = {}

    def query(self, question: str, context: QueryContext) -> object:
        """Answer from the cache where it has the question."""
        return self._cache.setdefault(question, super().query(question, context))


class SwitchesContext(MergesUsers):
    """Keeps the current user in one place for all threads."""

    caught_by = ("tenants", "leak/by-concurrency")
    shown_in = ("plain",)
    _shared: ClassVar[dict[str, list[ReferenceEntry]]] = {}
    _current: ClassVar[list[str]] = [""]

    def name_user(self, name: str) -> str:
        """Name the user as it is."""
        return name

    def query(self, question: str, context: QueryContext) -> object:
        """Set the user, wait as for a database, and answer for the user that is set by then."""
        self._current[0] = context.persona
        time.sleep(0.01)
        return super().query(question, context)

    def list_visible(self, context: QueryContext) -> Iterable[ReferenceEntry]:
        """List the entries of the current user."""
        return self._shared.get(self._current[0], [])


class TellsEverySession(MisbehavingMemory):
    """Receives the session of a question, and shows everything to every asker."""

    caught_by = ("tenants", "leak/sessions")
    shown_in = ("sessions",)

    def list_visible(self, context: QueryContext) -> Iterable[ReferenceEntry]:
        """List everything."""
        return self.entries


class AcknowledgesEarly(MisbehavingMemory):
    """Acknowledges a write before it can be found."""

    caught_by = ("freshness", "read-your-writes/quiet")
    delay_s = 0.15

    def __init__(self) -> None:
        super().__init__()
        self._known_from: dict[str, float] = {}

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Ingest the day for later."""
        super().ingest_day(day, content, metadata)
        self._known_from.setdefault(metadata.episode_id, time.monotonic() + self.delay_s)

    def list_visible(self, context: QueryContext) -> Iterable[ReferenceEntry]:
        """List what can be found by now."""
        now = time.monotonic()
        return [
            entry
            for entry in super().list_visible(context)
            if self._known_from.get(entry.episode, 0.0) <= now
        ]


class LosesAtRestart(MisbehavingMemory):
    """Writes to disk only every tenth day."""

    caught_by = ("freshness", "lost-at-restart")

    def flush(self) -> None:
        """Write to disk from time to time."""
        if len({entry.episode for entry in self.entries}) % 10 == 0:
            super().flush()


class KeepsOldValues(MisbehavingMemory):
    """Answers with the first value it stored, even after a change."""

    caught_by = ("freshness", "stale")

    def rank(self, question: str, context: QueryContext) -> list[ReferenceEntry]:
        """Rank the oldest first."""
        return super().rank(question, context)[::-1]


class StoresTwice(MisbehavingMemory):
    """Stores an episode again when the write is repeated."""

    caught_by = ("freshness", "duplicates")

    def ingest_day(self, day: int, content: str, metadata: DayMetadata) -> None:
        """Add the day to whatever is there."""
        held, self.entries = self.entries, []
        super().ingest_day(day, content, metadata)
        self.entries = held + self.entries


class ReadsReplicas(MisbehavingMemory):
    """Answers from two replicas in turn, one of which lags behind by a day."""

    caught_by = ("freshness", "non-monotonic")

    def __init__(self) -> None:
        super().__init__()
        self._asked = count()

    def list_visible(self, context: QueryContext) -> Iterable[ReferenceEntry]:
        """List what the replica has whose turn it is."""
        visible = list(super().list_visible(context))
        if next(self._asked) % 2 == 0 or not visible:
            return visible
        last = max(entry.day for entry in visible)
        return [entry for entry in visible if entry.day < last]


class SerialisesClients(MisbehavingMemory):
    """Lets one client in at a time, and takes its time."""

    caught_by = ("load", "saturation/10d")
    shown_in = ("days-10",)
    _door: ClassVar[threading.Lock] = threading.Lock()

    def query(self, question: str, context: QueryContext) -> object:
        """Answer once all other questions were answered."""
        with self._door:
            time.sleep(0.05)
            return super().query(question, context)


class _AnswersOne(MisbehavingMemory):
    """Answers one question at a time, and does something else with others that come meanwhile."""

    shown_in = ("days-10",)
    _turn: ClassVar[threading.Lock] = threading.Lock()

    def query(self, question: str, context: QueryContext) -> object:
        """Answer unless another question is being answered."""
        if not self._turn.acquire(blocking=False):
            return self._refuse()
        try:
            time.sleep(0.005)
            return super().query(question, context)
        finally:
            self._turn.release()

    def _refuse(self) -> object:
        """Return or raise what there is instead of an answer."""
        raise NotImplementedError


class FailsWhenBusy(_AnswersOne):
    """Fails if a second question comes while it answers one."""

    caught_by = ("load", "errors/10d/256")

    def _refuse(self) -> object:
        raise RuntimeError("too many requests")


class AnswersNothingWhenBusy(_AnswersOne):
    """Says that there is no record if a second question comes while it answers one."""

    caught_by = ("load", "recall/10d/256")

    def _refuse(self) -> object:
        return "There is no record of that."


class SlowsWithSize(MisbehavingMemory):
    """Takes longer the more it holds."""

    caught_by = ("load", "query/p50/100d/64")
    shown_in = ("days-100",)

    def query(self, question: str, context: QueryContext) -> object:
        """Answer after a time that grows with the entries."""
        time.sleep(len(self.entries) / 2000)
        return super().query(question, context)


BEHAVIOUR_FAULTS: tuple[type[MisbehavingMemory], ...] = (
    ConfirmsOnly,
    KeepsVectors,
    SummaryResurrects,
    ErasesTooMuch,
    KeepsFiles,
    ErasesUntilRestart,
    TrustsQuotations,
    ObeysInstructions,
    CountsVotes,
    RefusesCorrections,
    ForgetsWhenAttacked,
    MergesUsers,
    MatchesPrefixes,
    SharesAnswers,
    SwitchesContext,
    TellsEverySession,
    AcknowledgesEarly,
    LosesAtRestart,
    KeepsOldValues,
    StoresTwice,
    ReadsReplicas,
    SerialisesClients,
    FailsWhenBusy,
    AnswersNothingWhenBusy,
    SlowsWithSize,
)
