"""Whether a run of a behaviour suite passes: its figures against limits."""

from collections.abc import Iterator

from recall_bench.core.errors import UsageError
from recall_bench.core.suggestion import suggest_or_list
from recall_bench.metrics.bootstrap import SEED
from recall_bench.reporting.behaviour.figures import BehaviourReport, Figure
from recall_bench.reporting.behaviour.report_text import format_ends, format_figure
from recall_bench.reporting.behaviour.suite_report import build_behaviour_report
from recall_bench.reporting.formats import format_card
from recall_bench.reporting.gate.gate_checks import (
    CheckOutcome,
    GateCheck,
    GateReport,
    GateRun,
    decide_verdict,
    describe_verdict,
    make_undecided_check,
)
from recall_bench.reporting.gate.gate_rules import GateRules
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.summary import RunStatus, summarise

_SCALES = {"share": 100.0, "s": 1000.0}
"""Limits are in % and milliseconds, as figures are printed."""
_UNITS = {"share": " %", "s": " ms"}


def check_suite_run(run: RunFolder, baseline: RunFolder | None, rules: GateRules) -> GateReport:
    """Check the figures of a run; UsageError if a rule is not about figures."""
    if baseline is not None:
        raise UsageError("--baseline: a behaviour suite is held to limits; give --max-figure")
    if rules != GateRules(
        max_figure=rules.max_figure, min_figure=rules.min_figure, confident=rules.confident
    ):
        raise UsageError(
            f"{run.path} is a run of a behaviour suite, which has no marks; give --max-figure or "
            "--min-figure"
        )
    if not rules.has_figure_rules:
        raise UsageError("no rule is set; give --max-figure NAME=LIMIT or --min-figure NAME=LIMIT")
    report = build_behaviour_report(run)
    status = summarise(run).validity
    checks = (
        _check_status(status.status, status.reason),
        *_check_figures(report, rules, is_sound=status.status is RunStatus.VALID),
    )
    return GateReport(
        verdict=decide_verdict(checks),
        sentence=describe_verdict(checks),
        run=GateRun(
            folder=str(run.path),
            system=format_card(run.plan.system),
            judge=format_card(run.plan.judge),
            started=run.started,
            status=status.status,
            reason=status.reason,
            health=None if run.diagnosis is None else run.diagnosis.health,
            score=None,
        ),
        baseline=None,
        rules=rules,
        checks=checks,
        strength=None,
        warnings=(),
        seed=SEED,
    )


def _check_status(status: RunStatus, reason: str | None) -> GateCheck:
    if status is RunStatus.VALID:
        return GateCheck(
            rule="run", of="valid", outcome=CheckOutcome.PASSED, said="finished, and it holds"
        )
    is_failed = status is RunStatus.INVALID
    return GateCheck(
        rule="run",
        of="valid",
        outcome=CheckOutcome.FAILED if is_failed else CheckOutcome.UNDECIDED,
        said=f"the run is {status.value} ({reason}); finish or repair it with its own command",
    )


def _check_figures(
    report: BehaviourReport, rules: GateRules, *, is_sound: bool
) -> Iterator[GateCheck]:
    limits = [("max-figure", name, limit, False) for name, limit in rules.max_figure.items()]
    limits += [("min-figure", name, limit, True) for name, limit in rules.min_figure.items()]
    for rule, name, limit, is_least in limits:
        figure = report.get_figure(name)
        if figure is None:
            known = [each.name for each in report.figures]
            hint = suggest_or_list(name, known, f"it has {', '.join(known)}")
            raise UsageError(f"--{rule}: {report.suite} has no figure {name[:60]!r}; {hint}")
        check = _check_figure(rule, figure, limit, rules, is_least=is_least)
        if is_sound:
            yield check
        else:
            yield check.replace(outcome=CheckOutcome.UNDECIDED, said="the run does not hold")


def _check_figure(
    rule: str, figure: Figure, limit: float, rules: GateRules, *, is_least: bool
) -> GateCheck:
    found = figure.estimate
    if not figure.is_offered or found is None:
        why = "not offered by this system" if not figure.is_offered else "nothing was measured"
        return make_undecided_check(rule, figure.name, why, limit=limit, is_least=is_least)
    scale = _SCALES.get(figure.unit, 1.0)
    end = found.low if is_least else found.high
    reached = scale * (end if rules.confident and end is not None else found.value)
    is_kept = reached >= limit if is_least else reached <= limit
    words = f"at {'least' if is_least else 'most'} {limit:g}{_UNITS.get(figure.unit, '')}"
    said = f"{figure.label}: {format_figure(figure)} {format_ends(figure)}".rstrip()
    return GateCheck(
        rule=rule,
        of=figure.name,
        outcome=CheckOutcome.PASSED if is_kept else CheckOutcome.FAILED,
        said=f"{said}; {words} {'is required' if is_kept else 'was required'}",
        value=scale * found.value,
        limit=limit,
        is_least=is_least,
        low=None if found.low is None else scale * found.low,
        high=None if found.high is None else scale * found.high,
        questions=found.questions,
    )
