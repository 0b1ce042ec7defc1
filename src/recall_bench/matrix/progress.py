"""How far every cell has come: counts, rates and an estimated end, with no clock of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field

from recall_bench.core.event import Answered, Event, Judged, NotAnswered
from recall_bench.core.standing import Standings
from recall_bench.core.standing import State as Trial
from recall_bench.core.usage import Usage
from recall_bench.matrix.carrying_out import Outcome, State
from recall_bench.matrix.cells import Cell
from recall_bench.reporting.money import dollars

_FINAL = (Trial.NOT_ANSWERED, Trial.JUDGED, Trial.MEASURED)


@dataclass(slots=True)
class Line:
    """One cell."""

    label: str
    state: State = State.WAITING
    owed: int | None = None
    """None before the cell is begun."""
    done: int = 0
    fresh: int = 0
    """Trials that came to their end since this command was started."""
    errors: int = 0
    cost: Usage = field(default_factory=Usage)
    since: float = 0.0
    until: float = 0.0
    reason: str | None = None

    @property
    def rate(self) -> float | None:
        """Trials a second, as far as that can be told."""
        took = self.until - self.since
        return self.fresh / took if self.fresh and took > 0 else None

    def words(self) -> str:
        """Name, trials, rate, errors, cost and state."""
        counts = NOTHING if self.owed is None else f"{self.done:,}/{self.owed:,}"
        rate = NOTHING if self.rate is None else f"{self.rate:,.1f}/s"
        cost = dollars(self.cost) if self.cost.cost_usd else NOTHING
        return (
            f"{self.label:<32} {counts:>15} {rate:>9} {self.errors:>5} errors {cost:>9} "
            f" {self.state.value}"
        )


NOTHING = "–"


class Board:
    """Follows all cells; `clock` tells seconds."""

    def __init__(self, labels: list[str], clock: Callable[[], float]) -> None:
        self.lines = {label: Line(label) for label in labels}
        self._clock = clock
        self._began = clock()

    def begin(self, cell: Cell) -> None:
        """A cell is started or continued."""
        line = self.lines[cell.label]
        line.state, line.since, line.until = State.RUNNING, self._clock(), self._clock()

    def note(self, cell: Cell, event: Event, standings: Standings) -> None:
        """Count what came of the event."""
        line = self.lines[cell.label]
        if line.owed is None:
            self._meet(line, standings)
        ends = isinstance(event, Judged) and event.primary is None
        ends = ends or (isinstance(event, Answered) and standings.plan.unjudged)
        if isinstance(event, NotAnswered):
            line.errors += 1
            ends = True
        # The event that made us count the cell was in the count already.
        if ends and line.done < (line.owed or 0):
            line.done += 1
            line.fresh += 1
        line.cost = standings.usage + standings.reading_usage
        line.until = self._clock()

    def end(self, outcome: Outcome) -> None:
        """A cell came to a stop."""
        line = self.lines[outcome.cell.label]
        line.state, line.reason = outcome.state, outcome.reason

    def _meet(self, line: Line, standings: Standings) -> None:
        scenarios = standings.scenarios.values()
        line.owed = sum(len(s.asked) * each.repeats for each in scenarios for s in each.sheets)
        line.done = sum(each.count(*_FINAL) for each in scenarios)
        line.errors = sum(each.count(Trial.NOT_ANSWERED) for each in scenarios)

    @property
    def left_s(self) -> float | None:
        """Seconds to the end at the rate so far; None before there is one.

        Cells that are not begun are taken to owe as much as those that are, on average.
        """
        known = [line.owed for line in self.lines.values() if line.owed is not None]
        fresh = sum(line.fresh for line in self.lines.values())
        took = self._clock() - self._began
        if not known or not fresh or took <= 0:
            return None
        mean = sum(known) / len(known)
        left = sum(
            (mean if line.owed is None else line.owed) - line.done
            for line in self.lines.values()
            if line.state in (State.WAITING, State.RUNNING)
        )
        return max(0.0, left * took / fresh)

    def whole(self) -> str:
        """All cells together."""
        lines = self.lines.values()
        over = sum(line.state in (State.DONE, State.FAILED) for line in lines)
        done = sum(line.done for line in lines)
        words = [f"{over} of {len(self.lines)} cells", f"{done:,} trials"]
        if errors := sum(line.errors for line in lines):
            words.append(f"{errors:,} errors")
        cost = sum((line.cost for line in lines), start=Usage())
        if cost.cost_usd:
            words.append(dollars(cost))
        left = self.left_s
        if left is not None and over < len(self.lines):
            words.append(f"about {_duration(left)} left")
        return " · ".join(words)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
