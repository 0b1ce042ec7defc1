"""What a gate comes to, as it is written down."""

from enum import StrEnum

from recall_bench.analysis.gate.rules import GateRules
from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.history import WallTime
from recall_bench.core.record import Record
from recall_bench.reporting.summary import RunStatus
from recall_bench.statistics.estimate import Estimate


class CheckOutcome(StrEnum):
    """What became of one check, and of all of them."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    """What it takes to decide is not there: it does not pass, and nothing is held against the
    run."""

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return {CheckOutcome.PASSED: 0, CheckOutcome.FAILED: 11, CheckOutcome.UNDECIDED: 12}[self]


class GateCheck(Record, frozen=True, kw_only=True):
    """One rule as it applied to one figure. Figures are in points of 100, or % of answers."""

    rule: str
    """As its flag is called; `run`, `baseline` and `alike` for what comes before all rules."""
    of: str
    """What it is about: all questions, or a category by name."""
    outcome: CheckOutcome
    said: str
    """What was found, in a sentence."""
    value: float | None = None
    """The score or rate, or, against a baseline, how much more of it the run has."""
    limit: float | None = None
    """What the value may come to, at least or at most."""
    is_least: bool = True
    """Whether the limit is the least that is allowed, and not the most."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval of the value."""
    questions: int | None = None
    p_value: float | None = None
    """Against a baseline, one-sided, and adjusted where it is one of several categories."""
    noticed: float | None = None
    """The smallest true loss in whole questions that data like these show four times in five."""
    power: float | None = None
    """How often data like these show the loss that is to be caught, if it takes whole questions;
    of a proof, how often they give one of a run that lost nothing. None where that is not known,
    because no question differs from another."""
    even_power: float | None = None
    """How often they show it if every question loses as much."""


class GateRun(Record, frozen=True, kw_only=True):
    """One of the two runs."""

    folder: str
    system: str
    judge: str
    started: WallTime
    status: RunStatus
    reason: str | None
    """Why its scores may not be quoted, if they may not."""
    health: SystemHealth | None
    """What `doctor` said of the system before the run; None if it was never asked."""
    score: Estimate | None
    """Points of 100; None where nothing counts."""


class GateReport(Record, frozen=True, kw_only=True):
    """The verdict on a run, and everything it is made of."""

    verdict: CheckOutcome
    sentence: str
    run: GateRun
    baseline: GateRun | None
    rules: GateRules
    checks: tuple[GateCheck, ...]
    strength: str | None
    """What a loss would have had to be to be noticed; None without a baseline."""
    warnings: tuple[str, ...]
    seed: int


def decide_verdict(checks: tuple[GateCheck, ...]) -> CheckOutcome:
    """Failed if one check is, else undecided if one is."""
    found = {check.outcome for check in checks}
    for outcome in (CheckOutcome.FAILED, CheckOutcome.UNDECIDED):
        if outcome in found:
            return outcome
    return CheckOutcome.PASSED


def describe_verdict(checks: tuple[GateCheck, ...]) -> str:
    """The verdict in a sentence."""
    verdict = decide_verdict(checks)
    if verdict is CheckOutcome.PASSED:
        return f"all {len(checks)} checks passed"
    named = [f"{each.rule} ({each.of})" for each in checks if each.outcome is verdict]
    shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    word = "failed" if verdict is CheckOutcome.FAILED else "could not be decided"
    return f"{len(named)} of {len(checks)} checks {word}: {shown}"
