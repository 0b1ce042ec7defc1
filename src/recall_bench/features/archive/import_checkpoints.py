"""Assign the evaluations of a run to its checkpoints.

Lines of the public question log do not name their checkpoint. They are written during it, and
`progress.jsonl` says when each checkpoint ended and when the harness was restarted: a line belongs
to the first checkpoint of its persona that ended after it. If the harness was restarted before
that, the checkpoint was never finished, and its questions were asked again.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from recall_bench.core.errors import DataError, UsageError
from recall_bench.core.plan import parse_range
from recall_bench.engine.runs.result_format import (
    CheckpointRow,
    HeaderRow,
    ProgressLine,
    QuestionRow,
    ReadLogRow,
    ResultDocument,
)
from recall_bench.features.archive.import_evaluations import (
    CheckpointVisit,
    Evaluation,
    FaultCounts,
    Place,
    add_log,
    add_reviews,
    make_visit,
    read_log_row,
    read_result_row,
)
from recall_bench.features.archive.import_files import RunFileKind, RunFiles


def find_last_records(
    progress: Iterable[ProgressLine], faults: FaultCounts
) -> dict[Place, CheckpointRow]:
    """Find the last record of each checkpoint: a continued run may repeat some."""
    rows: dict[Place, CheckpointRow] = {}
    headers, repeated, too_full = 0, set(), set()
    before: dict[str, int] = {}
    for line in progress:
        match line:
            case HeaderRow():
                headers += 1
                before = _find_furthest_days(rows)
            case CheckpointRow():
                place = line.persona_id, line.range.label
                if place in rows:
                    repeated.add(place)
                elif line.range.days < before.get(line.persona_id, 0):
                    too_full.add(place)
                rows[place] = line
    faults.note("repeated-headers", max(0, headers - 1))
    faults.note("repeated-checkpoints", len(repeated))
    faults.note("too-full", len(too_full))
    return rows


def _find_furthest_days(found: dict[Place, CheckpointRow]) -> dict[str, int]:
    """Find the last day that each persona reached."""
    days: dict[str, int] = {}
    for (persona, _), line in found.items():
        days[persona] = max(days.get(persona, 0), line.range.days)
    return days


def place_rows(
    rows: Sequence[ReadLogRow], progress: Sequence[ProgressLine], faults: FaultCounts
) -> dict[Place, list[ReadLogRow]]:
    """Group the rows by checkpoint, of its last attempt; rows without one are counted."""
    logs: dict[Place, list[ReadLogRow]] = {}
    courses = {
        persona: _PersonaProgress(persona, progress) for persona in {r.persona_id for r in rows}
    }
    for earlier, later in pairwise(rows):
        faults.note("clocks", int(later.timestamp < earlier.timestamp))
    for row in rows:
        if row.checkpoint is not None:
            logs.setdefault((row.persona_id, row.checkpoint), []).append(row)
            continue
        checkpoint = courses[row.persona_id].find_checkpoint(row)
        if checkpoint is None:
            faults.note("unfinished")
        elif not courses[row.persona_id].is_last(checkpoint):
            faults.note("superseded")
        else:
            faults.note("unlabeled")
            logs.setdefault((row.persona_id, checkpoint.range.label), []).append(row)
    return logs


class _PersonaProgress:
    """When one persona's checkpoints ended, and when the harness started."""

    def __init__(self, persona: str, progress: Iterable[ProgressLine]) -> None:
        self._stops = [
            line
            for line in progress
            if isinstance(line, HeaderRow)
            or (isinstance(line, CheckpointRow) and line.persona_id == persona and line.timestamp)
        ]
        self._times = [line.timestamp for line in self._stops if line.timestamp is not None]
        self._last = {
            line.range.label: line for line in self._stops if isinstance(line, CheckpointRow)
        }
        for earlier, later in pairwise(self._times):
            if later < earlier:
                raise DataError(
                    f"the progress of {persona!r} goes back from {earlier.isoformat()} to "
                    f"{later.isoformat()}, so the question log cannot be placed by time; import "
                    "the result.json alone"
                )

    def find_checkpoint(self, row: ReadLogRow) -> CheckpointRow | None:
        """Find the checkpoint at the time of the row; None if it was never finished."""
        place = bisect_left(self._times, row.timestamp)
        stop = self._stops[place] if place < len(self._stops) else None
        return stop if isinstance(stop, CheckpointRow) else None

    def is_last(self, reached: CheckpointRow) -> bool:
        """Whether its checkpoint was not repeated later."""
        return self._last[reached.range.label] is reached


def gather_visits(files: RunFiles, faults: FaultCounts) -> list[CheckpointVisit]:
    """Gather every checkpoint that has evaluations, by days."""
    last_records = find_last_records(files.progress, faults)
    if files.result is None:
        visits = _read_log_visits(files, last_records, faults)
    else:
        visits = _read_result_visits(files.result, files.paths[RunFileKind.RESULT], faults)
        _add_logs(visits, files, faults)
    _add_times(visits, last_records)
    if files.failures:
        add_reviews(visits.values(), files.failures, faults)
    graded = [visit for visit in visits.values() if visit.evaluations]
    if not graded:
        raise UsageError(_explain_empty(files))
    source = files.paths.get(RunFileKind.RESULT) or files.paths[RunFileKind.QUESTIONS]
    for visit in visits.values():
        _check_count(visit, source, faults)
    _check_days(graded, source)
    personas = {visit.place[0] for visit in graded}
    graded += [
        visit for visit in visits.values() if visit.place[0] in personas and _is_empty(visit)
    ]
    return sorted(graded, key=lambda visit: visit.days)


def _is_empty(visit: CheckpointVisit) -> bool:
    """Whether the record of a checkpoint says that nothing was asked."""
    return not visit.evaluations and visit.stored is not None and not visit.stored.count


def _read_result_visits(
    result: ResultDocument, source: Path, faults: FaultCounts
) -> dict[Place, CheckpointVisit]:
    visits: dict[Place, CheckpointVisit] = {}
    for persona in result.personas:
        for part in persona.range_results:
            visit = make_visit(persona.persona_id, part)
            if visit.place in visits:
                raise DataError(
                    f"{source}: {persona.persona_id!r} has two results at "
                    f"{part.range.label!r}; remove one of them"
                )
            rows = [read_result_row(persona.persona_id, row) for row in part.question_results]
            visit.evaluations = _drop_doubles(rows, f"{source}, {visit}", faults)
            visit.doubled = len(rows) - len(visit.evaluations)
            visits[visit.place] = visit
    return visits


def _drop_doubles(rows: Iterable[Evaluation], where: str, faults: FaultCounts) -> list[Evaluation]:
    """Keep each question once; DataError if two rows of it differ."""
    evaluations: dict[tuple[QuestionRow, int], Evaluation] = {}
    for row in rows:
        first = evaluations.setdefault((row.qa, row.repeat), row)
        if first is row:
            continue
        if first != row:
            raise DataError(
                f"{where}: {row.qa.id!r} is evaluated twice, with different outcomes; remove one "
                "of them"
            )
        faults.note("doubled")
    return list(evaluations.values())


def _add_logs(visits: dict[Place, CheckpointVisit], files: RunFiles, faults: FaultCounts) -> None:
    """Add the log's rows: a continued run's result lacks those of earlier processes."""
    if not files.questions:
        return
    bare = {place for place, visit in visits.items() if not visit.evaluations}
    is_placed = bool(files.progress) or all(row.checkpoint for row in files.questions)
    rows_left: list[ReadLogRow] = list(files.questions)
    if bare and is_placed:
        rows = place_rows(files.questions, files.progress, faults)
        for place in bare & rows.keys():
            visits[place].evaluations = _keep_latest(rows[place], faults)
        rows_left = [row for place, own in rows.items() if place not in bare for row in own]
    add_log([visit for place, visit in visits.items() if place not in bare], rows_left, faults)


def _read_log_visits(
    files: RunFiles, reached: dict[Place, CheckpointRow], faults: FaultCounts
) -> dict[Place, CheckpointVisit]:
    visits = {place: make_visit(place[0], line) for place, line in reached.items()}
    if not files.questions:
        raise UsageError(_explain_empty(files))
    if not files.progress and not all(row.checkpoint for row in files.questions):
        raise UsageError(
            f"{files.paths[RunFileKind.QUESTIONS]}: does not name the checkpoint of a question; "
            "name the progress.jsonl of the run as well, which tells by time, or its result.json"
        )
    for place, rows in place_rows(files.questions, files.progress, faults).items():
        if place not in visits:
            days = parse_range(place[1]).days
            visits[place] = CheckpointVisit(place=place, days=days, cutoff=days)
        visits[place].evaluations = _keep_latest(rows, faults)
    return visits


def _keep_latest(rows: Sequence[ReadLogRow], faults: FaultCounts) -> list[Evaluation]:
    """Keep the last row of each question, in the order they were asked."""
    read_logs: dict[tuple[QuestionRow, int], ReadLogRow] = {}
    for row in rows:
        if read_logs.pop((row.qa, row.repeat), None) is not None:
            faults.note("superseded")
        read_logs[row.qa, row.repeat] = row
    return [read_log_row(row) for row in read_logs.values()]


def _add_times(visits: dict[Place, CheckpointVisit], reached: dict[Place, CheckpointRow]) -> None:
    for place, visit in visits.items():
        if (line := reached.get(place)) is not None:
            visit.at, visit.ingest_ms = line.timestamp, line.ingest_ms
            visit.new_days = line.new_days_ingested


def _check_count(visit: CheckpointVisit, source: Path, faults: FaultCounts) -> None:
    """Compare the stored number of questions with the rows."""
    if visit.stored is None:
        return
    counted = visit.doubled + sum(evaluation.points is not None for evaluation in visit.evaluations)
    if not visit.evaluations and visit.stored.count:
        faults.note("no-rows")
    elif counted < visit.stored.count:
        faults.note("short", visit.stored.count - counted)
    elif counted > visit.stored.count:
        raise DataError(
            f"{source}, {visit}: {visit.stored.count} questions were asked according to the "
            f"record and {counted} are on file, so it is unknown which of them count; import the "
            "result.json alone, or remove the rows of the abandoned attempt"
        )


def _check_days(visits: Sequence[CheckpointVisit], source: Path) -> None:
    days: dict[str, int] = {}
    for visit in visits:
        label = visit.place[1]
        if days.setdefault(label, visit.days) != visit.days:
            raise DataError(
                f"{source}: the checkpoint {label!r} is after {days[label]} days and after "
                f"{visit.days}; import files of one run"
            )


def _explain_empty(files: RunFiles) -> str:
    """Explain what to do with files that contain no answers."""
    if RunFileKind.PROGRESS in files.paths or RunFileKind.RESULT in files.paths:
        path = files.paths.get(RunFileKind.RESULT) or files.paths[RunFileKind.PROGRESS]
        return (
            f"{path}: holds means and no answers, so no run can be made of it; name the "
            f"questions.jsonl of the run as well, or draw what there is with "
            f"'recall-bench report heatmap {path}'"
        )
    path = files.paths[RunFileKind.FAILURES]
    return (
        f"{path}: holds only answers that were reviewed, so no mean can be made of it; name the "
        "result.json of the run as well"
    )
