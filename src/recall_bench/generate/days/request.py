"""What `generate` is asked for."""

from dataclasses import dataclass

from recall_bench.errors import UsageError
from recall_bench.generate.request import PassRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysRequest(PassRequest):
    """The request for the days of a story."""

    history_window: int = 3
    """How many earlier entries of a session its author sees."""
    lag: int = 8
    """A day looks back on days so many told days before it or more, so that days between are
    written side by side."""
    from_ledger: bool = False
    """Whether the world's facts are what is told, each day verified."""

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is another class than the one its methods close over.
        PassRequest.__post_init__(self)
        if self.history_window < 0:
            raise UsageError(f"--history-window: {self.history_window} is no number of entries")
        if self.lag < 1:
            raise UsageError(f"--lag: {self.lag} is no distance; the nearest is 1, the day before")
