"""Whoever answers for a system that only finds."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import field

from recall_bench.core.memory import Answer, Passage
from recall_bench.core.question import Question
from recall_bench.core.record import Record


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
