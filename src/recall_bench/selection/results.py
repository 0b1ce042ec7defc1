"""A report as the `.result` file people know, one for each time the suite was put."""

from pathlib import Path

from recall_bench.replacement import replace_file
from recall_bench.selection.files.result_file import (
    PresearchResult,
    ResultEntry,
    ResultForm,
    SuiteResult,
    write_result,
)
from recall_bench.selection.outcomes import ScoredTest
from recall_bench.selection.report import SelectionReport
from recall_bench.selection.scoring import SelectionOutcome

ENDING = ".result"


def write_results(
    report: SelectionReport, folder: Path, name: str, *, is_compat: bool
) -> tuple[Path, ...]:
    """Write `<name>.result`, and `<name>-2.result` and so on for repeats; their paths.

    The compatible form is that of the scripts: the later layout where something was ruled out
    beforehand or could have been, the earlier one elsewhere.
    """
    paths = []
    for repeat in range(report.repeats):
        number = f"-{repeat + 1}" if repeat else ""
        path = folder / f"{name}{number}{ENDING}"
        replace_file(path, _render_result(report, repeat, is_compat=is_compat).encode())
        paths.append(path)
    return tuple(paths)


def _render_result(report: SelectionReport, repeat: int, *, is_compat: bool) -> str:
    # A test that is skipped has no repeats, and is skipped every time.
    rows = [
        row for row in report.tests if row.repeat == repeat or row.outcome is SelectionOutcome.SKIP
    ]
    presearch = report.selector.config.get("presearch")
    is_searched = presearch if isinstance(presearch, bool) else None
    headers = (
        ("Selector", f"{report.selector.name} {report.selector.version}"),
        ("Corpus", report.corpus_digest),
        ("Plan", report.plan_digest),
    )
    result = SuiteResult(
        date=report.at.replace(microsecond=0),
        tests=len(rows),
        entries=tuple(_build_entry(row, report.memories) for row in rows),
        presearch=is_searched,
        headers=() if is_compat else headers,
    )
    if not is_compat:
        return write_result(result, form=ResultForm.RIGHT)
    form = ResultForm.AGENT if is_searched is None else ResultForm.KIT
    return write_result(result, form=form)


def _build_entry(row: ScoredTest, memories: int) -> ResultEntry:
    presearch = None
    if row.presearched is not None:
        presearch = PresearchResult(names=row.presearched, total=memories)
    return ResultEntry(
        name=f"{row.test}.bench",
        expected=row.expected,
        outcome=row.outcome,
        recalled=row.recalled,
        missing=row.missing,
        extra=row.extra,
        prompt=row.prompt,
        presearch=presearch,
        problem=None if row.message is None else " ".join(row.message.split()),
    )
