"""Deliveries, latencies and model usage of a system."""

from array import array
from dataclasses import dataclass, field
from math import ceil

from recall_bench.core.event import Answered, Event, Exchanged, Metered, ReadingPaid
from recall_bench.core.usage import Usage


@dataclass(slots=True)
class DeliveryCounts:
    """The passages of all answers, counted."""

    answers: int = 0
    """How many answers came with passages."""
    offered: int = 0
    kept: int = 0
    tokens: int = 0
    traced: int = 0
    summaries: int = 0
    """How many of those kept name an episode, and are in no episode's words."""

    @property
    def traced_share(self) -> float | None:
        """The share of the kept passages that were traced to an episode."""
        return self.traced / self.kept if self.kept else None


@dataclass(slots=True)
class ServiceStats:
    """Deliveries, latencies and model usage of a system, folded from the journal."""

    deliveries: DeliveryCounts = field(default_factory=DeliveryCounts)
    reader_usage: Usage = field(default_factory=Usage)
    """What the reader cost, if there is one."""
    answer_usage: Usage = field(default_factory=Usage)
    """What the system reports to have spent on answers."""
    metered: dict[str, Usage] = field(default_factory=dict)
    """What the system spent, by stage: at our endpoint, or as an agent reports it."""
    messages: int = 0
    """How many messages an agent was sent."""
    lost_messages: int = 0
    """How many of them got no reply."""
    latencies: "array[float]" = field(default_factory=lambda: array("f"))
    """The seconds that each answer took."""

    def note(self, event: Event) -> None:
        """Apply one event."""
        match event:
            case Answered():
                self.latencies.append(event.seconds)
                if event.reading_usage is not None:
                    self.reader_usage = self.reader_usage + event.reading_usage
                if event.answer.usage is not None:
                    self.answer_usage = self.answer_usage + event.answer.usage
                if event.delivery is not None:
                    counts = self.deliveries
                    counts.answers += 1
                    counts.offered += event.delivery.offered
                    counts.kept += event.delivery.kept
                    counts.tokens += event.delivery.tokens
                    counts.traced += event.delivery.traced
                    counts.summaries += event.delivery.summaries
            # What the loop agent spent is metered.
            case ReadingPaid(usage=usage, by_agent=False):
                self.reader_usage = self.reader_usage + usage
            case Metered(stage=stage, usage=usage):
                self.metered[stage] = self.metered.get(stage, Usage()) + usage
            case Exchanged(exchange=exchange):
                self.messages += 1
                self.lost_messages += exchange.fault is not None

    def compute_latency(self, share: float) -> float | None:
        """Compute the latency within which this share of the answers came; None without answers."""
        if not self.latencies:
            return None
        ranked = sorted(self.latencies)
        return ranked[max(0, ceil(share * len(ranked)) - 1)]

    @property
    def metered_total(self) -> Usage:
        """The usage of all stages."""
        total = Usage()
        for usage in self.metered.values():
            total = total + usage
        return total
