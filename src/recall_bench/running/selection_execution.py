"""A suite put to a selector, from the first test to the files it leaves behind."""

from dataclasses import dataclass

from recall_bench.reporting.selection_report import SelectionReport, build_report, write_json
from recall_bench.running.execution import Finished, execute
from recall_bench.running.job import Observer
from recall_bench.running.selection_run import SelectionJob


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRun:
    """A run of a suite that came to a stop, and how."""

    finished: Finished
    report: SelectionReport

    @property
    def exit_code(self) -> int:
        """As the table in `recall_bench.core.errors` has it."""
        return self.finished.exit_code


def run_selection(assembled: SelectionJob, observe: Observer | None = None) -> SelectionRun:
    """Put every test that is owed, class them all, and write `select.json` beside the journal."""
    try:
        finished = execute(assembled.job, observe)
    finally:
        assembled.place.close()
    report = build_report(assembled, finished)
    write_json(report, finished.folder.path)
    return SelectionRun(finished=finished, report=report)
