"""The progress of every cell: counts, rates and an estimated end."""

from collections.abc import Callable
from dataclasses import dataclass, field

from recall_bench.core.event import Answered, Event, Judged, NotAnswered, NotJudged
from recall_bench.core.trial_states import ScenarioStates, TrialStates
from recall_bench.core.usage import Usage, format_dollars
from recall_bench.engine.experiment import CellOutcome, CellStage, ExperimentCell
from recall_bench.reporting.formats import format_round_duration


@dataclass(slots=True)
class CellLine:
    """One cell."""

    label: str
    stage: CellStage = CellStage.WAITING
    owed: int | None = None
    """None before the cell is begun."""
    done: int = 0
    fresh: int = 0
    """Trials finished since the cell was started or continued."""
    errors: int = 0
    cost: Usage = field(default_factory=Usage)
    since: float = 0.0
    until: float = 0.0
    reason: str | None = None
    _counted: dict[str, tuple[int, int]] = field(default_factory=dict)

    def count(self, scenario: str, trials: ScenarioStates) -> None:
        """Count one scenario anew: a trial may have several events."""
        done, errors = self._counted.get(scenario, (0, 0))
        self._counted[scenario] = now = (trials.done_count, trials.error_count)
        self.done += now[0] - done
        self.errors += now[1] - errors

    @property
    def rate(self) -> float | None:
        """Trials a second; None before the first."""
        took = self.until - self.since
        return self.fresh / took if self.fresh and took > 0 else None

    def format(self) -> str:
        """Name, trials, rate, errors, cost and state."""
        counts = NOTHING if self.owed is None else f"{self.done:,}/{self.owed:,}"
        rate = NOTHING if self.rate is None else f"{self.rate:,.1f}/s"
        cost = format_dollars(self.cost) if self.cost.cost_usd else NOTHING
        return (
            f"{self.label:<32} {counts:>15} {rate:>9} {self.errors:>5} errors {cost:>9} "
            f" {self.stage.value}"
        )


NOTHING = "–"


class MatrixBoard:
    """Follows all cells; `clock` tells seconds."""

    def __init__(self, labels: list[str], clock: Callable[[], float]) -> None:
        self.lines = {label: CellLine(label) for label in labels}
        self._clock = clock
        self._began = clock()

    def begin(self, cell: ExperimentCell) -> None:
        """A cell is started or continued."""
        line = self.lines[cell.label]
        line.stage, line.since, line.until = CellStage.RUNNING, self._clock(), self._clock()

    def note(self, cell: ExperimentCell, event: Event, states: TrialStates) -> None:
        """Count what came of the event, which the states know already."""
        line = self.lines[cell.label]
        if line.owed is None:
            self._start_line(line, states)
        elif isinstance(event, Answered | NotAnswered | Judged | NotJudged):
            scenario, done = event.trial.scenario, line.done
            line.count(scenario, states.scenarios[scenario])
            line.fresh += line.done - done
        line.cost = states.usage + states.reading_usage
        line.until = self._clock()

    def end(self, outcome: CellOutcome) -> None:
        """A cell came to a stop."""
        line = self.lines[outcome.cell.label]
        line.stage, line.reason = outcome.stage, outcome.reason

    def _start_line(self, line: CellLine, states: TrialStates) -> None:
        line.owed = sum(scenario.owed_count for scenario in states.scenarios.values())
        for scenario, trials in states.scenarios.items():
            line.count(scenario, trials)

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
            if line.stage in (CellStage.WAITING, CellStage.RUNNING)
        )
        return max(0.0, left * took / fresh)

    def format_total(self) -> str:
        """All cells together."""
        lines = self.lines.values()
        over = sum(line.stage in (CellStage.DONE, CellStage.FAILED) for line in lines)
        done = sum(line.done for line in lines)
        words = [f"{over} of {len(self.lines)} cells", f"{done:,} trials"]
        if errors := sum(line.errors for line in lines):
            words.append(f"{errors:,} errors")
        cost = sum((line.cost for line in lines), start=Usage())
        if cost.cost_usd:
            words.append(format_dollars(cost))
        left = self.left_s
        if left is not None and over < len(self.lines):
            words.append(f"about {format_round_duration(left)} left")
        return " · ".join(words)
