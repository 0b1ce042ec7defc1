"""A suite put to a selector, from the first test to the files it leaves behind."""

from dataclasses import dataclass

from recall_bench.ending import Finished, carry_out
from recall_bench.job import Observer
from recall_bench.selection.assembly import Assembled
from recall_bench.selection.report import Report, report_of, write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A run of a suite that came to a stop, and how."""

    finished: Finished
    report: Report

    @property
    def exit_code(self) -> int:
        """As the table in `recall_bench.errors` has it."""
        return self.finished.exit_code


def run_selection(assembled: Assembled, observe: Observer | None = None) -> Selected:
    """Put every test that is owed, class them all, and write `select.json` beside the journal."""
    try:
        finished = carry_out(assembled.job, observe)
    finally:
        assembled.place.close()
    report = report_of(assembled, finished)
    write_json(report, finished.folder.path)
    return Selected(finished=finished, report=report)
