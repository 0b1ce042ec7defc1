"""Whether one process can have written what a journal tells, or several must have.

One process feeds one memory at a time, puts one paper at a time (a checkpoint and a repeat of it),
and has begun no other scenario meanwhile. Where two steps overlap that cannot, several were at
work: workers of one run, or parts that were merged.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

from recall_bench.core.event import Answered, Ingested, NotAnswered, Settled

_SAME_S = 0.002
"""A step is timed by another clock than the one that dates it: so much they may disagree."""


@dataclass(slots=True)
class _LatestEnd:
    """The latest end of any step, and of any that is not of the same group as that one."""

    group: Hashable = None
    end: float = float("-inf")
    others: float = float("-inf")

    def check_overlap(self, group: Hashable, start: float, end: float) -> bool:
        """Take a step into account; whether one of another group was still under way."""
        before = self.others if group == self.group else self.end
        if group == self.group:
            self.end = max(self.end, end)
        else:
            self.group, self.end, self.others = group, end, self.end
        return before > start + _SAME_S


@dataclass(slots=True)
class SingleProcessCheck:
    """Feed it every step, in the order of the journal."""

    is_broken: bool = False
    """Whether more than one process must have been at work."""
    _steps: int = 0
    _feeding: _LatestEnd = field(default_factory=_LatestEnd)
    _asking: _LatestEnd = field(default_factory=_LatestEnd)
    _scenarios: _LatestEnd = field(default_factory=_LatestEnd)

    def note(self, event: Ingested | Settled | Answered | NotAnswered) -> None:
        """Take one step into account."""
        end = event.at.timestamp()
        start = end - event.seconds
        if isinstance(event, Answered):
            start -= event.reading_s or 0.0
        if isinstance(event, Ingested | Settled):
            scenario, self._steps = event.scenario, self._steps + 1
            overlaps = self._feeding.check_overlap(self._steps, start, end)
        else:
            scenario = event.trial.scenario
            paper = (scenario, event.trial.checkpoint, event.trial.repeat)
            overlaps = self._asking.check_overlap(paper, start, end)
        overlaps |= self._scenarios.check_overlap(scenario, start, end)
        self.is_broken |= overlaps
