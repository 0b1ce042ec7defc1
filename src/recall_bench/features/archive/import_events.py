"""The events of an imported run, as a journal would have recorded them.

Where a file does not say when something happened, the end of its checkpoint is used, and where that
is not known either, the start of the run.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from recall_bench.core.event import (
    Answered,
    Declared,
    Event,
    Ingested,
    Judged,
    NotAnswered,
    NotJudged,
    RunEnded,
    RunStarted,
    Settled,
)
from recall_bench.core.memory import Answer, Passage
from recall_bench.core.plan import Plan, Trial
from recall_bench.engine.runs.result_format import (
    OUR_MARKS,
    ClosingRow,
    HeaderRow,
    MetadataRow,
    PassageRow,
)
from recall_bench.features.archive.import_evaluations import (
    CheckpointVisit,
    Evaluation,
    FaultCounts,
)
from recall_bench.features.archive.import_files import RunFiles
from recall_bench.features.archive.import_plan import (
    ImportedQuestions,
    find_setting,
)


class ImportScope(NamedTuple):
    """Which parts of the evaluations go into the journal."""

    passages: bool
    """Whether passages are recorded for all answers; otherwise none are used."""
    findings: bool
    sentinels: bool
    """Whether a placeholder answer counts as not answered, instead of as graded."""


def audit_evaluations(
    visits: Sequence[CheckpointVisit], faults: FaultCounts, *, as_graded: bool, is_ours: bool
) -> ImportScope:
    """Audit all evaluations and count their faults."""
    rows = [row for visit in visits for row in visit.evaluations]
    answered = [row for row in rows if row.answer is not None and not row.is_sentinel]
    recorded = sum(row.retrieval is not None for row in answered)
    has_all = bool(recorded) and recorded == len(answered)
    faults.note("passages", 0 if has_all else recorded)
    faults.note("untimed", sum(row.latency_ms is None for row in answered))
    faults.note("composites", sum(row.has_wrong_total for row in rows))
    if not is_ours:
        sentinels = sum(row.is_sentinel for row in rows)
        faults.note("as-graded" if as_graded else "sentinels", sentinels)
        faults.note("silent", sum(not (row.answer or "").strip() for row in answered))
        faults.note("apologies", sum(row.is_apology for row in answered))
        faults.note("askers", sum(row.qa.expected_disclosure is not None for row in rows))
        scores = [row.score for row in rows if row.score is not None]
        if any(score.reasoning for score in scores):
            speechless = (s.marks == (0, 0, 1) and not s.reasoning for s in scores)
            faults.note("speechless", sum(speechless))
    return ImportScope(
        passages=has_all,
        findings=all(row.findings is not None for row in rows if row.score is not None),
        sentinels=not is_ours and not as_graded,
    )


_DAY_FILE = re.compile(r"(?:^|[^0-9A-Za-z])day-([0-9]{4,6})(?:\.md)?$")
"""The file name of a day in the public harness, which names the day."""


def build_events(
    plan: Plan,
    files: RunFiles,
    visits: Sequence[CheckpointVisit],
    questions: Mapping[str, ImportedQuestions],
    scope: ImportScope,
) -> Iterator[Event]:
    """Build the whole journal; it records the end of the run if nothing is open."""
    start, code = find_start(files), find_setting(files).code
    yield RunStarted(at=start, plan=plan, code=code[0] if code else "public harness")
    for name, own in questions.items():
        of_persona = [visit for visit in visits if visit.place[0] == name]
        yield Declared(
            at=start,
            scenario=name,
            items=own.build_items(),
            days=_list_days(of_persona),
            asked={visit.place[1]: own.list_ids(visit.evaluations) for visit in of_persona},
            eligible=_map_eligible_counts(of_persona),
        )
        before = 0
        for visit in of_persona:
            at = visit.at or start
            yield from _build_feeding(visit, before, at)
            before = visit.cutoff
            for row in visit.evaluations:
                yield from _build_outcome(row, visit.place[1], own, scope, row.at or at)
    if not any(row.is_open for visit in visits for row in visit.evaluations):
        yield RunEnded(at=max(start, _find_end(files, visits) or start))


def _build_outcome(
    row: Evaluation, label: str, questions: ImportedQuestions, scope: ImportScope, at: datetime
) -> Iterator[Event]:
    trial = Trial(
        scenario=row.persona, item=questions.find_id(row.qa), checkpoint=label, repeat=row.repeat
    )
    seconds = (row.latency_ms or 0.0) / 1000
    error, score = row.error, row.score
    fault, message = (None, "") if error is None else (error.kind, error.message)
    is_sentinel = row.is_sentinel and scope.sentinels
    if is_sentinel:
        fault, message = "SystemFault", f"recorded as {row.answer!r}, and graded {row.points} of 6"
    if is_sentinel or (row.answer is None and score is None):
        if fault is not None:
            yield NotAnswered(at=at, trial=trial, fault=fault, message=message, seconds=seconds)
        return
    passages = (row.retrieval if scope.passages else None) or ()
    answer = Answer(
        text=row.answer or "",
        passages=tuple(map(_build_passage, passages)),
        tool_calls=row.tool_calls,
    )
    yield Answered(at=at, trial=trial, answer=answer, seconds=seconds)
    if score is not None:
        verdict = score.verdict
        if scope.findings:
            verdict = verdict.replace(
                findings=row.findings or (),
                rubric=row.rubric,
                probabilities={OUR_MARKS.get(m, m): p for m, p in row.probabilities.items()},
            )
        yield Judged(
            at=at,
            trial=trial,
            verdict=verdict,
            primary=None if row.primary is None else row.primary.verdict,
            review_fault=row.review_error,
        )
    elif fault is not None:
        yield NotJudged(at=at, trial=trial, fault=fault, message=message)


def _map_eligible_counts(visits: Iterable[CheckpointVisit]) -> dict[str, dict[str, int]] | None:
    """Map checkpoint and category to the questions that the files count as eligible."""
    counts_by_label = {
        visit.place[1]: {
            category.category: category.eligible_count
            for category in visit.stored.categories
            if category.eligible_count is not None
        }
        for visit in visits
        if visit.stored is not None
    }
    return {label: counts for label, counts in counts_by_label.items() if counts} or None


def find_start(files: RunFiles) -> datetime:
    """Find the start of the run, from the earliest file that says."""
    if files.result is not None:
        return files.result.timestamp
    times = [line.timestamp for line in files.progress if isinstance(line, HeaderRow)]
    return min([*times, *(row.timestamp for row in files.questions)])


def _find_end(files: RunFiles, visits: Sequence[CheckpointVisit]) -> datetime | None:
    setting = find_setting(files)
    if isinstance(setting, MetadataRow) and setting.duration_ms is not None:
        return find_start(files) + timedelta(milliseconds=setting.duration_ms)
    closings = [
        line.timestamp
        for line in files.progress
        if isinstance(line, ClosingRow) and line.timestamp is not None
    ]
    stored_times = [
        evaluation.at
        for visit in visits
        for evaluation in visit.evaluations
        if evaluation.at is not None
    ]
    return max(
        [*closings, *stored_times, *(v.at for v in visits if v.at is not None)], default=None
    )


def count_shared_days(visits: Sequence[CheckpointVisit]) -> int:
    """Count the days that get an equal share of their checkpoint's time."""
    return sum(len(_list_new_days(visit, before)) for visit, before in _pair_with_before(visits))


def _pair_with_before(visits: Sequence[CheckpointVisit]) -> Iterator[tuple[CheckpointVisit, int]]:
    before: dict[str, int] = {}
    for visit in visits:
        yield visit, before.get(visit.place[0], 0)
        before[visit.place[0]] = visit.cutoff


def _list_new_days(visit: CheckpointVisit, before: int) -> range:
    """List the days fed for a checkpoint; none if the files do not say which."""
    days = range(before + 1, visit.cutoff + 1)
    is_known = visit.ingest_ms is not None and visit.new_days == len(days)
    return days if is_known else range(0)


def _build_feeding(visit: CheckpointVisit, before: int, at: datetime) -> Iterator[Event]:
    if visit.ingest_ms is None:
        return
    scenario, label = visit.place
    seconds = visit.ingest_ms / 1000
    days = _list_new_days(visit, before)
    for day in days:
        yield Ingested(
            at=at, scenario=scenario, day=day, checkpoint=label, seconds=seconds / len(days)
        )
    yield Settled(at=at, scenario=scenario, checkpoint=label, seconds=0.0 if days else seconds)


def _list_days(visits: Sequence[CheckpointVisit]) -> tuple[int, ...]:
    """List the days to feed; none unless all of them are known."""
    numbers = [
        day for visit, before in _pair_with_before(visits) for day in _list_new_days(visit, before)
    ]
    last = max((visit.cutoff for visit in visits), default=0)
    return tuple(numbers) if numbers == list(range(1, last + 1)) else ()


def _build_passage(row: PassageRow) -> Passage:
    named = None if row.path is None else _DAY_FILE.search(row.path)
    day = row.day if named is None or row.day is not None else int(named[1])
    return Passage(text=row.snippet or "", day=day, source=row.path, score=row.score)
