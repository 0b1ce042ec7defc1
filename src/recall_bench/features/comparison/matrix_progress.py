"""The progress of every cell: counts, rates and an estimated end; on a screen, or in a log."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from recall_bench.core.event import Answered, Event, Judged, NotAnswered, NotJudged
from recall_bench.core.trial_states import ScenarioStates, TrialStates
from recall_bench.core.usage import Usage, format_dollars
from recall_bench.engine.experiment import CellOutcome, CellStage, ExperimentCell
from recall_bench.features.comparison.matrix_cells import MatrixCell
from recall_bench.reporting.formats import format_round_duration

if TYPE_CHECKING:
    from rich.live import Live

NOTHING = "–"
_QUARTERS = 4
"""Progress lines per cell in a log."""


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
        seconds = self.until - self.since
        return self.fresh / seconds if self.fresh and seconds > 0 else None

    def format(self) -> str:
        """Name, trials, rate, errors, cost and state."""
        counts = NOTHING if self.owed is None else f"{self.done:,}/{self.owed:,}"
        rate = NOTHING if self.rate is None else f"{self.rate:,.1f}/s"
        cost = format_dollars(self.cost) if self.cost.cost_usd else NOTHING
        return (
            f"{self.label:<32} {counts:>15} {rate:>9} {self.errors:>5} errors {cost:>9} "
            f" {self.stage.value}"
        )


class MatrixBoard:
    """Follows all cells; `clock` tells seconds."""

    def __init__(self, labels: Sequence[str], clock: Callable[[], float] = monotonic) -> None:
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
            line.owed = sum(scenario.owed_count for scenario in states.scenarios.values())
            for scenario, trials in states.scenarios.items():
                line.count(scenario, trials)
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

    @property
    def left_s(self) -> float | None:
        """Seconds to the end at the rate so far; None before there is one.

        Cells that are not begun are taken to owe as much as those that are, on average.
        """
        owed = [line.owed for line in self.lines.values() if line.owed is not None]
        fresh = sum(line.fresh for line in self.lines.values())
        seconds = self._clock() - self._began
        if not owed or not fresh or seconds <= 0:
            return None
        mean = sum(owed) / len(owed)
        missing = sum(
            (mean if line.owed is None else line.owed) - line.done
            for line in self.lines.values()
            if line.stage in (CellStage.WAITING, CellStage.RUNNING)
        )
        return max(0.0, missing * seconds / fresh)

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
        left_s = self.left_s
        if left_s is not None and over < len(self.lines):
            words.append(f"about {format_round_duration(left_s)} left")
        return " · ".join(words)


class _MatrixLog(MatrixBoard):
    """Plain lines at the start, each quarter and the end of a cell."""

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__(labels)
        self._quarters: dict[str, int] = {}

    def begin(self, cell: ExperimentCell) -> None:
        super().begin(cell)
        click.echo(f"{cell.label}: started", err=True)

    def note(self, cell: ExperimentCell, event: Event, states: TrialStates) -> None:
        super().note(cell, event, states)
        line = self.lines[cell.label]
        quarters = _QUARTERS * line.done // line.owed if line.owed else 0
        if _QUARTERS > quarters > self._quarters.setdefault(cell.label, quarters):
            self._quarters[cell.label] = quarters
            counts = f"{line.label}: {line.done:,} of {line.owed:,}"
            click.echo(f"{counts} | {self.format_total()}", err=True)

    def end(self, outcome: CellOutcome) -> None:
        super().end(outcome)
        stage = "finished before" if outcome.was_finished else outcome.stage.value
        if outcome.reason is not None:
            stage = f"{stage} ({outcome.reason})" if outcome.was_begun else outcome.reason
        click.echo(f"{outcome.cell.label}: {stage}", err=True)


class _MatrixScreen(MatrixBoard):
    """A screen with a line per cell and a total."""

    def __init__(self, labels: Sequence[str], live: "Live") -> None:
        super().__init__(labels)
        self._live = live

    def render_screen(self) -> str:
        """The lines of the cells; without room, waiting and then finished cells are left out."""
        lines = list(self.lines.values())
        room = max(1, self._live.console.size.height - 3)
        for stage in (CellStage.WAITING, CellStage.DONE):
            over = [line for line in reversed(lines) if line.stage == stage]
            for line in over[: max(0, len(lines) - room)]:
                lines.remove(line)
        hidden = len(self.lines) - len(lines)
        more = [f"… {hidden} more"] if hidden else []
        return "\n".join([*(line.format() for line in lines), *more, self.format_total()])

    def begin(self, cell: ExperimentCell) -> None:
        super().begin(cell)
        self._refresh()

    def note(self, cell: ExperimentCell, event: Event, states: TrialStates) -> None:
        super().note(cell, event, states)
        self._refresh()

    def end(self, outcome: CellOutcome) -> None:
        super().end(outcome)
        self._refresh()

    def _refresh(self) -> None:
        from rich.text import Text

        self._live.update(Text(self.render_screen()))


@contextmanager
def watch_cells() -> Iterator[Any]:
    """A function that makes a watcher of cells: a screen at a terminal, lines in a log."""

    def make_log(cells: Sequence[MatrixCell], warnings: Sequence[str]) -> _MatrixLog:
        for warning in warnings:
            click.echo(f"note: {warning}", err=True)
        return _MatrixLog([cell.label for cell in cells])

    if not sys.stderr.isatty():
        yield make_log
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), refresh_per_second=4) as live:

        def make_screen(cells: Sequence[MatrixCell], warnings: Sequence[str]) -> _MatrixScreen:
            for warning in warnings:
                live.console.print(f"note: {warning}", markup=False, highlight=False)
            return _MatrixScreen([cell.label for cell in cells], live)

        yield make_screen
