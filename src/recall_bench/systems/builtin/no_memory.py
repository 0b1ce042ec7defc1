"""A system without a memory: the floor of every comparison."""

from itertools import count
from pathlib import Path

from recall_bench.core.errors import DataError, SystemFault
from recall_bench.core.memory import (
    Answer,
    EraseReply,
    EraseScope,
    Holdings,
    Memory,
    Offer,
    StoredEntry,
    SystemCard,
    parse_kept_days,
)
from recall_bench.core.scenario import Episode, Question

NO_RECORD = "There is no record of that."
"""What the built-ins say if nothing that was found is good enough."""

ERASING = frozenset({*(scope.offer for scope in EraseScope), Offer.STORED})
"""What the memories of built-ins offer."""

_PACKED_FILE = "memory.empty"


class NoMemory:
    """Forgets everything at once."""

    async def ingest(self, episode: Episode) -> None:
        """Forget the episode."""

    async def settle(self) -> None:
        """There is nothing to settle."""

    async def answer(self, question: Question) -> Answer:  # noqa: ARG002 - all get the same
        """Say that there is no record."""
        return Answer(text=NO_RECORD)

    async def erase(self, scope: EraseScope, value: str) -> EraseReply:
        """Erase nothing; a rule for later days is kept by itself."""
        if scope is EraseScope.DAYS:
            parse_kept_days(value)
        return EraseReply(confirmed=scope is EraseScope.DAYS, count=0)

    async def list_stored(self) -> tuple[StoredEntry, ...]:
        """Nothing is stored."""
        return ()

    async def holdings(self) -> Holdings:
        """No day, and no byte."""
        return Holdings(days=(), bytes=0)

    async def close(self) -> None:
        """There is nothing to release."""


class _NoSnapshots:
    """Snapshots of nothing, by name."""

    def __init__(self) -> None:
        self._names = count(1)
        self._saved: set[str] = set()

    async def save(self, memory: Memory) -> str:
        if not isinstance(memory, NoMemory):
            raise SystemFault(f"a {type(memory).__name__} is not a memory of this system")
        return self._keep()

    async def open(self, token: str) -> Memory:
        self._require(token)
        return NoMemory()

    async def drop(self, token: str) -> None:
        self._saved.discard(token)

    async def pack(self, token: str, place: Path) -> None:
        self._require(token)
        (place / _PACKED_FILE).touch()

    async def unpack(self, place: Path) -> str:
        if not (place / _PACKED_FILE).exists():
            raise DataError(f"{place / _PACKED_FILE} holds no packed memory; pack the state again")
        return self._keep()

    async def discard(self, place: Path) -> None:
        """Nothing is kept outside the folder."""

    def _keep(self) -> str:
        token = str(next(self._names))
        self._saved.add(token)
        return token

    def _require(self, token: str) -> None:
        if token not in self._saved:
            raise SystemFault(f"no state is saved as {token!r}; it was dropped or never saved")


class NoMemorySystem:
    """Opens memories that forget."""

    offers = ERASING

    def __init__(self, card: SystemCard) -> None:
        self.card = card
        self.snapshots = _NoSnapshots()

    async def open(self, scenario: str) -> NoMemory:  # noqa: ARG002 - the same for all
        """An empty memory."""
        return NoMemory()

    async def close(self) -> None:
        """Nothing is held here."""
