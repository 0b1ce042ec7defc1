"""A system without a memory: the floor of every comparison."""

from recall_bench.core.memory import (
    Answer,
    EraseReply,
    EraseScope,
    Holdings,
    Offer,
    StoredEntry,
    SystemCard,
    parse_kept_days,
)
from recall_bench.core.scenario import Episode, Question
from recall_bench.systems.snapshots import PackedSnapshots

NO_RECORD = "There is no record of that."
"""What the built-ins say if nothing that was found is good enough."""

ERASING = frozenset({*(scope.offer for scope in EraseScope), Offer.STORED})
"""What the memories of built-ins offer."""


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


async def _copy(_: NoMemory) -> NoMemory:
    return NoMemory()


class NoMemorySystem:
    """Opens memories that forget."""

    offers = ERASING

    def __init__(self, card: SystemCard) -> None:
        self.card = card
        self.snapshots = PackedSnapshots(
            NoMemory, _copy, dump=lambda _: b"", load=lambda _: NoMemory()
        )

    async def open(self, scenario: str) -> NoMemory:  # noqa: ARG002 - the same for all
        """An empty memory."""
        return NoMemory()

    async def close(self) -> None:
        """Nothing is held here."""
