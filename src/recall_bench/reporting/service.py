"""How a system served: what it delivered, how quickly it answered, what it spent on models."""

from array import array
from dataclasses import dataclass, field
from math import ceil

from recall_bench.core.event import Answered, Event, Metered
from recall_bench.core.usage import Usage


@dataclass(slots=True)
class DeliveryCounts:
    """The passages of all answers together."""

    answers: int = 0
    """How many answers came with passages."""
    offered: int = 0
    kept: int = 0
    tokens: int = 0
    traced: int = 0

    @property
    def traced_share(self) -> float | None:
        """The part of the passages kept that could be traced to an episode."""
        return self.traced / self.kept if self.kept else None


@dataclass(slots=True)
class ServiceStats:
    """A fold over the journal. Feed it every event."""

    deliveries: DeliveryCounts = field(default_factory=DeliveryCounts)
    reader_usage: Usage = field(default_factory=Usage)
    """What the reader cost, if one answered for the system."""
    metered: dict[str, Usage] = field(default_factory=dict)
    """What it spent at our endpoint, by stage."""
    _seconds: "array[float]" = field(default_factory=lambda: array("f"))

    def note(self, event: Event) -> None:
        """Take one event into account."""
        match event:
            case Answered():
                self._note_answer(event)
            case Metered(stage=stage, usage=usage):
                self.metered[stage] = self.metered.get(stage, Usage()) + usage

    def compute_latency(self, share: float) -> float | None:
        """The seconds within which this share of the answers came; None before the first."""
        if not self._seconds:
            return None
        ranked = sorted(self._seconds)
        return ranked[max(0, ceil(share * len(ranked)) - 1)]

    @property
    def metered_total(self) -> Usage:
        """All that went through our endpoint."""
        total = Usage()
        for usage in self.metered.values():
            total = total + usage
        return total

    def _note_answer(self, event: Answered) -> None:
        self._seconds.append(event.seconds)
        if event.reading_usage is not None:
            self.reader_usage = self.reader_usage + event.reading_usage
        if event.delivery is not None:
            found = self.deliveries
            found.answers += 1
            found.offered += event.delivery.offered
            found.kept += event.delivery.kept
            found.tokens += event.delivery.tokens
            found.traced += event.delivery.traced
