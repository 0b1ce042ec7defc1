"""What every pass is asked for: whose story, which days, by which model, within which limits."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from recall_bench.datasets.layout import Layout, list_persona_ids
from recall_bench.errors import UsageError

OFFLINE = "offline"
"""The writer that needs no model: the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRequest:
    """The request of a pass over the days of a story; passes add what is theirs."""

    persona: Path
    arcs: str | None = None
    """Which story, where the folder has several."""
    model: str = OFFLINE
    days: int | None = None
    """The first so many days; not together with `start` or `end`."""
    start: int | None = None
    end: int | None = None
    overwrite: bool = False
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_ms: int = 600_000
    """For one call of the model."""
    parallelism: int = 8
    """Calls at a time."""
    max_cost_usd: float | None = None
    again: str | None = None
    """The command that goes on where this one stopped, as its user would type it."""

    def __post_init__(self) -> None:
        if self.days is not None and (self.start is not None or self.end is not None):
            raise UsageError("--days is short for --start 1 --end N; give one or the other")
        for flag, number in (("days", self.days), ("start", self.start), ("end", self.end)):
            if number is not None and number < 1:
                raise UsageError(f"--{flag}: {number} is no story day; the first is 1")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise UsageError(f"--start: day {self.start} comes after --end {self.end}; swap them")
        cost = self.max_cost_usd
        if cost is not None and not (isfinite(cost) and cost >= 0):
            raise UsageError(f"--max-cost: {cost} is not a sum of money; say US dollars")

    @property
    def is_offline(self) -> bool:
        """Whether the world writes."""
        return self.model == OFFLINE

    def find_layout(self) -> Layout:
        """The files of the story that is meant; UsageError if that is unclear."""
        from recall_bench.resolve.personas import find_story

        if not self.persona.is_dir():
            raise UsageError(
                f"--persona: there is no folder {self.persona}; `recall-bench create-persona` "
                "makes one"
            )
        if not (self.persona / "persona.yaml").is_file():
            within = ", ".join(str(self.persona / name) for name in list_persona_ids(self.persona))
            instead = (
                f"name one of {within}" if within else "`recall-bench create-persona` makes one"
            )
            raise UsageError(f"--persona: {self.persona} holds no persona.yaml; {instead}")
        return Layout(self.persona, find_story(self.persona, self.arcs).arcs)

    def select_days(self, last: int) -> range:
        """The story days asked for, of a story that ends on day `last`."""
        first = self.start or 1
        end = min(self.days or self.end or last, last)
        if first > end:
            raise UsageError(f"--start: day {first} lies beyond the story's last day, {last}")
        return range(first, end + 1)
