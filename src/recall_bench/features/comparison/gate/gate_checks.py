"""The checks of a gate, and the verdict that they come to."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from recall_bench.core.diagnosis import SystemHealth
from recall_bench.core.record import ComputedRecord, Record
from recall_bench.core.scenario import WallTime
from recall_bench.engine.runs.score_ranges import ScoreRange
from recall_bench.engine.runs.summary import RunStatus
from recall_bench.engine.runs.trials import ScoreScale
from recall_bench.features.comparison.gate.gate_rules import GateRules
from recall_bench.metrics.estimate import Estimate
from recall_bench.reporting.formats import format_bounds, format_number
from recall_bench.reporting.groups import PERSONA


class CheckOutcome(StrEnum):
    """The result of one check, and of all of them together."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    """It cannot be decided: the gate does not pass, and the run is not blamed."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return {CheckOutcome.PASSED: 0, CheckOutcome.FAILED: 11, CheckOutcome.UNDECIDED: 12}[self]


class GateCheck(ComputedRecord, frozen=True, kw_only=True):
    """One rule applied to one figure, in points of 100 or % of answers."""

    rule: str
    """The name of its flag; `run`, `baseline` and `alike` for the checks before all rules."""
    of: str
    """What it is about: `overall`, or a category."""
    outcome: CheckOutcome
    said: str
    """The finding in a sentence."""
    value: float | None = None
    """The score or rate; against a baseline, the difference of run and baseline."""
    limit: float | None = None
    """The least or the most that is allowed."""
    is_least: bool = True
    """Whether the limit is a minimum."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval of the value."""
    questions: int | None = None
    p_value: float | None = None
    """One-sided, against a baseline; adjusted if it is one of several categories."""
    noticed: float | None = None
    """The smallest true loss of whole questions that is detected with a power of 80 %."""
    power: float | None = None
    """The power to detect the loss to be caught, if it takes whole questions; of a proof, the power
    to give one for a run that lost nothing. None if unknown, because no question differs."""
    even_power: float | None = None
    """The power if every question loses the same."""
    judge: str | None = None
    """The judge it goes by, where every judge of the run is checked."""

    @property
    def subject(self) -> str:
        """What it is about, and by which judge if there are several."""
        return self.of if self.judge is None else f"{self.of}, {self.judge}"


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
    """The diagnosis of `doctor` before the run; None if there was none."""
    score: Estimate | None
    """Points of 100; None if no trial counts."""
    bounds: ScoreRange | None = None
    """The same between silence and ceiling, in points of 6; None where the run has neither."""
    scale: ScoreScale | None = None
    """What a dataset's protocol scores it by; None for marks."""


class GateReport(Record, frozen=True, kw_only=True):
    """The verdict on a run, with everything behind it."""

    verdict: CheckOutcome
    sentence: str
    run: GateRun
    baseline: GateRun | None
    rules: GateRules
    checks: tuple[GateCheck, ...]
    strength: str | None
    """Which losses would have been detected; None without a baseline."""
    warnings: tuple[str, ...]
    seed: int
    unit: str = PERSONA
    """What one history of the run is called."""
    judges: Mapping[str, CheckOutcome] = {}
    """The verdict by each judge of the run; empty if it has one."""

    def __repr__(self) -> str:
        return f"<GateReport: {self.verdict.value}, {self.sentence}>"


MARGIN_RULE, CATEGORY_RULE, HALLUCINATION_RULE = "margin", "category-margin", "hallucination-margin"


def is_difference(check: GateCheck) -> bool:
    """Whether the check is about the difference of run and baseline."""
    return check.rule in (MARGIN_RULE, CATEGORY_RULE, HALLUCINATION_RULE)


def is_insignificant(check: GateCheck) -> bool:
    """Whether the value exceeds its limit, but not significantly."""
    if check.outcome is not CheckOutcome.PASSED or not is_difference(check):
        return False
    if check.value is None or check.limit is None:
        return False
    return check.value < check.limit if check.is_least else check.value > check.limit


NOT_SIGNIFICANT: Final = "not significant"


def count_outcomes(checks: Sequence[GateCheck]) -> str:
    """The number of checks with each outcome: `8 passed, 6 not significant, 0 failed`."""
    outcomes = [check.outcome for check in checks]
    doubtful = sum(map(is_insignificant, checks))
    words = [
        f"{outcomes.count(CheckOutcome.PASSED) - doubtful} passed",
        f"{doubtful} {NOT_SIGNIFICANT}",
        f"{outcomes.count(CheckOutcome.FAILED)} failed",
    ]
    if undecided := outcomes.count(CheckOutcome.UNDECIDED):
        words.append(f"{undecided} undecided")
    return ", ".join(words)


def decide_verdict(checks: tuple[GateCheck, ...]) -> CheckOutcome:
    """Failed if any check failed, else undecided if any is undecided."""
    outcomes = {check.outcome for check in checks}
    for outcome in (CheckOutcome.FAILED, CheckOutcome.UNDECIDED):
        if outcome in outcomes:
            return outcome
    return CheckOutcome.PASSED


def describe_verdict(checks: tuple[GateCheck, ...]) -> str:
    """The verdict in a sentence."""
    verdict = decide_verdict(checks)
    if verdict is CheckOutcome.PASSED:
        if any(map(is_insignificant, checks)):
            return f"none of {len(checks)} checks failed"
        return f"all {len(checks)} checks passed"
    named = [f"{check.rule} ({check.subject})" for check in checks if check.outcome is verdict]
    names = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    word = "failed" if verdict is CheckOutcome.FAILED else "could not be decided"
    return f"{len(named)} of {len(checks)} checks {word}: {names}"


OVERALL = "overall"

_SUM_TOLERANCE = 1e-9
"""Rounding of a sum of sixths."""


def check_limit(
    rules: GateRules,
    rule: str,
    limit: float,
    estimate: Estimate | None,
    *,
    of: str = OVERALL,
    label: str,
    why: str = "no question of it has a mark",
    unit: str = "",
    said: str | None = None,
) -> GateCheck:
    """Check an estimate against the least or the most it may be, by the name of the rule.

    `why` says why there is no estimate, `said` words the finding if the usual words do not fit.
    """
    is_least = rule.startswith("min-")
    if estimate is None:
        return make_undecided_check(rule, of, why, limit=limit, is_least=is_least)
    end = estimate.low if is_least else estimate.high
    value = end if rules.confident else estimate.value
    is_kept = value is not None and (
        value >= limit - _SUM_TOLERANCE if is_least else value <= limit + _SUM_TOLERANCE
    )
    number = format_number(estimate.value, 1)
    interval = format_bounds(estimate, digits=1, level="95 % ")
    is_rate = rule in ("max-invented", "max-hallucination")
    said = said or (
        f"{number} %{interval} {label}" if is_rate else f"{label} is {number}{interval} of 100"
    )
    bound = f"at {'least' if is_least else 'most'} {limit:g}{unit}"
    whole = "the whole interval " if rules.confident else ""
    return GateCheck(
        rule=rule,
        of=of,
        outcome=CheckOutcome.PASSED if is_kept else CheckOutcome.FAILED,
        said=f"{said}; {bound} is required" if is_kept else f"{said}; {whole}must be {bound}",
        value=estimate.value,
        limit=limit,
        is_least=is_least,
        low=estimate.low,
        high=estimate.high,
        questions=estimate.questions,
    )


def make_undecided_check(
    rule: str, of: str, why: str, *, limit: float | None = None, is_least: bool = True
) -> GateCheck:
    """A check that cannot be decided."""
    return GateCheck(
        rule=rule, of=of, outcome=CheckOutcome.UNDECIDED, said=why, limit=limit, is_least=is_least
    )


def check_status(
    role: str, status: RunStatus, reason: str | None, *, blames: bool = True
) -> GateCheck:
    """Whether a run holds: an invalid one fails, an unfinished one is undecided.

    A baseline is not blamed: that it does not hold decides nothing.
    """
    if status is RunStatus.VALID:
        outcome, said = CheckOutcome.PASSED, "finished, and it holds"
    else:
        is_failed = blames and status is RunStatus.INVALID
        outcome = CheckOutcome.FAILED if is_failed else CheckOutcome.UNDECIDED
        said = f"the {role} is {status.value} ({reason}); finish or repair it with its own command"
    return GateCheck(rule=role, of="valid", outcome=outcome, said=said)
