"""Whether a run of a behaviour suite passes: its figures against limits."""

from collections.abc import Iterator

from recall_bench.core.errors import UsageError
from recall_bench.core.suggestion import suggest_or_list
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import RunStatus, summarise
from recall_bench.features.comparison.gate.gate_checks import (
    CheckOutcome,
    GateCheck,
    GateReport,
    GateRun,
    check_limit,
    check_status,
    decide_verdict,
    describe_verdict,
)
from recall_bench.features.comparison.gate.gate_rules import GateRules
from recall_bench.metrics.bootstrap import SEED
from recall_bench.reporting.formats import format_card
from recall_bench.reporting.suites.figures import BehaviourReport, Figure
from recall_bench.reporting.suites.report_text import format_ends, format_figure
from recall_bench.reporting.suites.suite_report import build_behaviour_report

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
        check_status("run", status.status, status.reason),
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


def _check_figures(
    report: BehaviourReport, rules: GateRules, *, is_sound: bool
) -> Iterator[GateCheck]:
    limits = [("max-figure", name, limit) for name, limit in rules.max_figure.items()]
    limits += [("min-figure", name, limit) for name, limit in rules.min_figure.items()]
    for rule, name, limit in limits:
        figure = report.get_figure(name)
        if figure is None:
            known = [figure.name for figure in report.figures]
            hint = suggest_or_list(name, known, f"it has {', '.join(known)}")
            raise UsageError(f"--{rule}: {report.suite} has no figure {name[:60]!r}; {hint}")
        check = _check_figure(rule, figure, limit, rules)
        if is_sound:
            yield check
        else:
            yield check.replace(outcome=CheckOutcome.UNDECIDED, said="the run does not hold")


def _check_figure(rule: str, figure: Figure, limit: float, rules: GateRules) -> GateCheck:
    estimate = figure.estimate if figure.is_offered else None
    scale = _SCALES.get(figure.unit, 1.0)
    ends = (None if estimate is None else estimate.low, None if estimate is None else estimate.high)
    low, high = (None if end is None else scale * end for end in ends)
    return check_limit(
        rules,
        rule,
        limit,
        None
        if estimate is None
        else estimate.replace(value=scale * estimate.value, low=low, high=high),
        of=figure.name,
        label=figure.label,
        why="nothing was measured" if figure.is_offered else "not offered by this system",
        unit=_UNITS.get(figure.unit, ""),
        said=f"{figure.label}: {format_figure(figure)} {format_ends(figure)}".rstrip(),
    )
