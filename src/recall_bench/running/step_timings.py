"""How long a step takes and how that grows with the story, fitted to earlier runs.

One rule for every step. Its times are averaged over each checkpoint of each persona; a straight
line over the story day is put through these averages where there are three different days or more
and the line rises by more than twice its own error; else the step takes the same on every day.
"""

import math
from array import array
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from statistics import quantiles

from recall_bench.core.event import Answered, Ingested, NotAnswered, Settled
from recall_bench.core.record import Record

LEAST_DAYS = 3
"""The fewest days that show a trend: a line goes through any two points."""
ENOUGH_BLOCKS = 5
"""The fewest checkpoints whose spread predicts that of the next run."""

_TWICE = 2.0


class StepPace(Record, frozen=True, kw_only=True):
    """The seconds that a step takes on a story day."""

    base_s: float
    slope_s: float = 0.0
    """What each story day adds."""
    least_s: float = 0.0
    """It is never taken to be quicker than the quickest average there was."""
    low: float = 1.0
    high: float = 1.0
    """The fast and the slow tenth of the checkpoints, as a share of what the line says."""
    times: int = 0
    """How many were measured; 0 if the time was stated."""
    last_day: int = 0
    """The latest story day that was measured."""

    def estimate_at(self, day: float) -> float:
        """The seconds to expect on this day."""
        return max(self.least_s, self.base_s + self.slope_s * day)

    @property
    def slow(self) -> "StepPace":
        """As in the slow tenth of the checkpoints."""
        return self._scale(self.high)

    @property
    def fast(self) -> "StepPace":
        """As in the fast tenth."""
        return self._scale(self.low)

    def _scale(self, factor: float) -> "StepPace":
        return self.replace(
            base_s=factor * self.base_s,
            slope_s=factor * self.slope_s,
            least_s=factor * self.least_s,
        )


def make_fixed_pace(seconds: float) -> StepPace:
    """Make a pace that is the same every time, as stated."""
    return StepPace(base_s=seconds, least_s=seconds)


@dataclass(slots=True)
class TimingBlock:
    """The times of one step at one checkpoint of one persona, added up."""

    times: int = 0
    seconds: float = 0.0
    days: float = 0.0

    @property
    def mean_s(self) -> float:
        """The average time."""
        return self.seconds / self.times

    @property
    def mean_day(self) -> float:
        """The average story day."""
        return self.days / self.times


@dataclass(slots=True)
class Timings:
    """Every time a step took. Feed it, then ask for the pace."""

    blocks: dict[tuple[str, ...], TimingBlock] = field(default_factory=dict)
    single: "array[float]" = field(default_factory=lambda: array("f"))
    last_day: int = 0

    def note(self, place: tuple[str, ...], day: int, seconds: float) -> None:
        """Take one time into account, of the checkpoint that `place` names."""
        block = self.blocks.setdefault(place, TimingBlock())
        block.times += 1
        block.seconds += seconds
        block.days += day
        self.single.append(seconds)
        self.last_day = max(self.last_day, day)

    def add(self, others: "Timings") -> None:
        """Take the times of another run into account, whose places are others."""
        self.blocks.update(others.blocks)
        self.single.extend(others.single)
        self.last_day = max(self.last_day, others.last_day)

    @property
    def total_s(self) -> float:
        """All of it together."""
        return sum(block.seconds for block in self.blocks.values())

    def fit_pace(self) -> StepPace | None:
        """By the rule above; None if it never happened."""
        if not self.single:
            return None
        blocks = list(self.blocks.values())
        base, slope = _fit_line(blocks)
        pace = StepPace(
            base_s=base,
            slope_s=slope,
            least_s=min(block.mean_s for block in blocks) if slope else base,
            times=len(self.single),
            last_day=self.last_day,
        )
        low, high = self._spread(blocks, pace)
        return pace.replace(low=low, high=high)

    def _spread(self, blocks: list[TimingBlock], pace: StepPace) -> tuple[float, float]:
        """The 10th and the 90th percentile: of checkpoints, or of single times if these are few."""
        if len(blocks) >= ENOUGH_BLOCKS:
            shares = [
                block.mean_s / due
                for block in blocks
                if (due := pace.estimate_at(block.mean_day)) > 0
            ]
        else:
            mean = self.total_s / len(self.single)
            shares = [each / mean for each in self.single] if mean > 0 else []
        if len(shares) < 2:
            return 1.0, 1.0
        tenths = quantiles(shares, n=10, method="inclusive")
        # A single slow time lifts the average above nine tenths of the others.
        return min(1.0, tenths[0]), max(1.0, tenths[-1])


def _fit_line(blocks: Iterable[TimingBlock]) -> tuple[float, float]:
    """Base and slope by weighted least squares, or the average and no slope."""
    known = [(block.mean_day, block.mean_s, block.times) for block in blocks]
    total = sum(times for _, _, times in known)
    day = sum(times * each for each, _, times in known) / total
    mean = sum(times * seconds for _, seconds, times in known) / total
    if len({each for each, _, _ in known}) < LEAST_DAYS:
        return mean, 0.0
    wide = sum(times * (each - day) ** 2 for each, _, times in known)
    slope = sum(times * (each - day) * (seconds - mean) for each, seconds, times in known) / wide
    off = sum(
        times * (seconds - mean - slope * (each - day)) ** 2 for each, seconds, times in known
    )
    error = math.sqrt(off / (len(known) - 2) / wide)
    if slope <= _TWICE * error:
        return mean, 0.0
    return mean - slope * day, slope


_SAME_S = 0.002
"""A step is timed by another clock than the one that dates it: they may differ by this."""


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
