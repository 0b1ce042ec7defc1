"""What a gate comes to, as it is written down."""

from enum import StrEnum

from recall_bench.analysis.gate.rules import Rules
from recall_bench.core.diagnosis import Health
from recall_bench.core.history import WallTime
from recall_bench.core.record import Record
from recall_bench.reporting.summary import Status
from recall_bench.statistics.estimate import Estimate


class Outcome(StrEnum):
    """What became of one check, and of all of them."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    """What it takes to decide is not there: it does not pass, and nothing is held against the
    run."""

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return {Outcome.PASSED: 0, Outcome.FAILED: 11, Outcome.UNDECIDED: 12}[self]


class Check(Record, frozen=True, kw_only=True):
    """One rule as it applied to one figure. Figures are in points of 100, or % of answers."""

    rule: str
    """As its flag is called; `run`, `baseline` and `alike` for what comes before all rules."""
    of: str
    """What it is about: all questions, or a category by name."""
    outcome: Outcome
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


class Subject(Record, frozen=True, kw_only=True):
    """One of the two runs."""

    folder: str
    system: str
    judge: str
    started: WallTime
    status: Status
    reason: str | None
    """Why its scores may not be quoted, if they may not."""
    health: Health | None
    """What `doctor` said of the system before the run; None if it was never asked."""
    score: Estimate | None
    """Points of 100; None where nothing counts."""


class Gate(Record, frozen=True, kw_only=True):
    """The verdict on a run, and everything it is made of."""

    verdict: Outcome
    sentence: str
    run: Subject
    baseline: Subject | None
    rules: Rules
    checks: tuple[Check, ...]
    strength: str | None
    """What a loss would have had to be to be noticed; None without a baseline."""
    warnings: tuple[str, ...]
    seed: int


def verdict_on(checks: tuple[Check, ...]) -> Outcome:
    """Failed if one check is, else undecided if one is."""
    found = {check.outcome for check in checks}
    for outcome in (Outcome.FAILED, Outcome.UNDECIDED):
        if outcome in found:
            return outcome
    return Outcome.PASSED


def in_words(checks: tuple[Check, ...]) -> str:
    """The verdict in a sentence."""
    verdict = verdict_on(checks)
    if verdict is Outcome.PASSED:
        return f"all {len(checks)} checks passed"
    named = [f"{each.rule} ({each.of})" for each in checks if each.outcome is verdict]
    shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    word = "failed" if verdict is Outcome.FAILED else "could not be decided"
    return f"{len(named)} of {len(checks)} checks {word}: {shown}"
