"""Run an evaluation and its controls, and write the report."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from recall_bench.engine.executor import OnPool
from recall_bench.engine.experiment import RunResult, execute
from recall_bench.engine.job import Observer
from recall_bench.features.datasets.eval_assembly import AssembledEval
from recall_bench.features.datasets.eval_controls import run_controls
from recall_bench.features.datasets.eval_page import render_page, write_report
from recall_bench.features.datasets.eval_report import EvalReport, build_eval_report


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EvalResult:
    """The result of an evaluation."""

    finished: RunResult
    report: EvalReport | None
    """None if it was stopped before everything was asked; the same command continues."""
    place: Path | None
    """The folder of the report."""

    def __repr__(self) -> str:
        return f"<EvalResult: {self.finished!r}, report {str(self.place)!r}>"

    def _repr_markdown_(self) -> str:
        return repr(self) if self.report is None else render_page(self.report)

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return self.finished.exit_code


def evaluate(
    assembled: AssembledEval,
    observe: Observer | None = None,
    on_control: Callable[[str], None] = lambda _: None,
    on_pool: OnPool = lambda _: None,
) -> EvalResult:
    """Ask, run the controls, measure and write the report.

    `on_control` is called with the name of each control before it is run. An evaluation that was
    stopped, or whose system could not be fed, has no report yet.
    """
    finished = execute(assembled.job, observe, on_pool)
    if finished.stopped_by is not None or finished.summary.overall.open:
        return EvalResult(finished=finished, report=None, place=None)
    controls = run_controls(assembled, on_control) if assembled.request.floors else []
    last = controls[-1].finished if controls else None
    if last is not None and last.stopped_by is not None:
        stopped = replace(finished, stopped_by=last.stopped_by)
        return EvalResult(finished=stopped, report=None, place=None)
    report = build_eval_report(assembled.request, assembled.opened, finished, controls)
    place = write_report(report, assembled.request.reports)
    return EvalResult(finished=finished, report=report, place=place)
