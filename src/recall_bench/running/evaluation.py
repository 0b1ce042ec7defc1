"""An evaluation from its first question to its report."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from recall_bench.reporting.eval_page import write_report
from recall_bench.reporting.eval_report import EvalReport, build_eval_report
from recall_bench.running.eval_assembly import AssembledEval
from recall_bench.running.eval_controls import run_controls
from recall_bench.running.execution import execute
from recall_bench.running.executor import OnPool
from recall_bench.running.job import Observer
from recall_bench.runs.run_result import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalResult:
    """An evaluation that came to a stop, and how."""

    finished: RunResult
    report: EvalReport | None
    """None if it was stopped before everything was asked: the same command goes on."""
    place: Path | None
    """The folder of the report."""

    @property
    def exit_code(self) -> int:
        """As the table in `recall_bench.core.errors` has it."""
        return self.finished.exit_code


def _ignore_control(name: str) -> None:
    """Nobody wants to know which control is run."""


def evaluate(
    assembled: AssembledEval,
    observe: Observer | None = None,
    told: Callable[[str], None] = _ignore_control,
    on_pool: OnPool = lambda _: None,
) -> EvalResult:
    """Ask, run the controls, measure and write the report.

    `told` hears the name of each control before it is run, `joined` of the pool where there is
    one. A run that was stopped, itself or at
    one of its controls, or whose system could not be fed, has no report yet.
    """
    finished = execute(assembled.job, observe, on_pool)
    if finished.stopped_by is not None or finished.summary.overall.open:
        return EvalResult(finished=finished, report=None, place=None)
    controls = list(run_controls(assembled, told)) if assembled.request.floors else []
    last = controls[-1].finished if controls else None
    if last is not None and last.stopped_by is not None:
        stopped = replace(finished, stopped_by=last.stopped_by)
        return EvalResult(finished=stopped, report=None, place=None)
    report = build_eval_report(assembled.request, assembled.opened, finished, controls)
    place = write_report(report, assembled.request.reports)
    return EvalResult(finished=finished, report=report, place=place)
