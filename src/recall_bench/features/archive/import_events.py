"""The events of an imported run, as a journal would have recorded them.

Where a file does not say when something happened, the end of its checkpoint is used, and where that
is not known either, the start of the run.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

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
from recall_bench.core.scenario import Item
from recall_bench.core.verdict import Verdict
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
    list_asked_ids,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportScope:
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
    rows = [each for visit in visits for each in visit.evaluations]
    answered = [each for each in rows if each.answer is not None and not each.is_sentinel]
    recorded = [each for each in answered if each.retrieval is not None]
    has_all = bool(recorded) and len(recorded) == len(answered)
    if not has_all:
        faults.note("passages", len(recorded))
    faults.note("untimed", sum(each.latency_ms is None for each in answered))
    faults.note("composites", sum(each.has_wrong_total for each in rows))
    if not is_ours:
        _note_public_faults(rows, answered, faults, as_graded=as_graded)
    return ImportScope(
        passages=has_all,
        findings=all(each.findings is not None for each in rows if each.score is not None),
        sentinels=not is_ours and not as_graded,
    )


def _note_public_faults(
    rows: list[Evaluation], answered: list[Evaluation], faults: FaultCounts, *, as_graded: bool
) -> None:
    sentinels = sum(each.is_sentinel for each in rows)
    faults.note("as-graded" if as_graded else "sentinels", sentinels)
    faults.note("silent", sum(not (each.answer or "").strip() for each in answered))
    faults.note("apologies", sum(each.is_apology for each in answered))
    faults.note("askers", sum(each.qa.expected_disclosure is not None for each in rows))
    if any(each.score is not None and each.score.reasoning for each in rows):
        faults.note("speechless", sum(_lacks_reason(each) for each in rows))


def _lacks_reason(each: Evaluation) -> bool:
    return each.score is not None and each.score.marks == (0, 0, 1) and not each.score.reasoning


_DAY_FILE = re.compile(r"(?:^|[^0-9A-Za-z])day-([0-9]{4,6})(?:\.md)?$")
"""The file name of a day in the public harness, which names the day."""


class EventBuilder:
    """Builds the events of one run."""

    def __init__(
        self,
        plan: Plan,
        visits: list[CheckpointVisit],
        questions: Mapping[str, ImportedQuestions],
        scope: ImportScope,
    ) -> None:
        self._plan = plan
        self._visits = visits
        self._questions = questions
        self._scope = scope

    def build_events(
        self, files: RunFiles, items: Mapping[str, tuple[Item, ...]]
    ) -> Iterator[Event]:
        """Build the whole journal; it records the end of the run if nothing is open."""
        start, code = find_start(files), find_setting(files).code
        yield RunStarted(at=start, plan=self._plan, code=code[0] if code else "public harness")
        for name, own in items.items():
            visits = [visit for visit in self._visits if visit.place[0] == name]
            yield Declared(
                at=start,
                scenario=name,
                items=own,
                days=_list_days(visits),
                asked=self._map_asked_ids(name, visits),
                eligible=_map_eligible_counts(visits),
            )
            before = 0
            for visit in visits:
                at = visit.at or start
                yield from _build_feeding(visit, before, at)
                before = visit.cutoff
                for each in visit.evaluations:
                    yield from self._build_outcome(each, visit, each.at or at)
        if not any(each.is_open for visit in self._visits for each in visit.evaluations):
            yield RunEnded(at=max(start, _find_end(files, self._visits) or start))

    def _map_asked_ids(
        self, name: str, visits: list[CheckpointVisit]
    ) -> dict[str, tuple[str, ...]]:
        return {
            visit.place[1]: list_asked_ids(visit.evaluations, self._questions[name])
            for visit in visits
        }

    def _build_outcome(
        self, each: Evaluation, visit: CheckpointVisit, at: datetime
    ) -> Iterator[Event]:
        trial = Trial(
            scenario=each.persona,
            item=self._questions[each.persona].find_id(each.qa),
            checkpoint=visit.place[1],
            repeat=each.repeat,
        )
        seconds = (each.latency_ms or 0.0) / 1000
        error, score = each.error, each.score
        if each.is_sentinel and self._scope.sentinels:
            message = f"recorded as {each.answer!r}, and graded {each.points} of 6"
            yield NotAnswered(
                at=at, trial=trial, fault="SystemFault", message=message, seconds=seconds
            )
            return
        if each.answer is None and score is None:
            if error is not None:
                yield NotAnswered(
                    at=at, trial=trial, fault=error.kind, message=error.message, seconds=seconds
                )
            return
        yield Answered(at=at, trial=trial, answer=self._build_answer(each), seconds=seconds)
        if score is not None:
            yield Judged(
                at=at,
                trial=trial,
                verdict=self._build_verdict(each, score.verdict),
                primary=None if each.primary is None else each.primary.verdict,
                review_fault=each.review_error,
            )
        elif error is not None:
            yield NotJudged(at=at, trial=trial, fault=error.kind, message=error.message)

    def _build_answer(self, each: Evaluation) -> Answer:
        found = each.retrieval if self._scope.passages else None
        return Answer(
            text=each.answer or "",
            passages=tuple(_build_passage(row) for row in found or ()),
            tool_calls=each.tool_calls,
        )

    def _build_verdict(self, each: Evaluation, verdict: Verdict) -> Verdict:
        if not self._scope.findings:
            return verdict
        return verdict.replace(
            findings=each.findings or (),
            rubric=each.rubric,
            probabilities={
                OUR_MARKS.get(mark, mark): share for mark, share in each.probabilities.items()
            },
        )


def _map_eligible_counts(visits: Iterable[CheckpointVisit]) -> dict[str, dict[str, int]] | None:
    """Map checkpoint and category to the questions that the files count as eligible."""
    found = {
        visit.place[1]: {
            each.category: each.eligible_count
            for each in visit.stored.categories
            if each.eligible_count is not None
        }
        for visit in visits
        if visit.stored is not None
    }
    return {label: counts for label, counts in found.items() if counts} or None


def find_start(files: RunFiles) -> datetime:
    """Find the start of the run, from the earliest file that says."""
    if files.result is not None:
        return files.result.timestamp
    times = [line.timestamp for line in files.progress if isinstance(line, HeaderRow)]
    return min([*times, *(row.timestamp for row in files.questions)])


def _find_end(files: RunFiles, visits: list[CheckpointVisit]) -> datetime | None:
    setting = find_setting(files)
    if isinstance(setting, MetadataRow) and setting.duration_ms is not None:
        return find_start(files) + timedelta(milliseconds=setting.duration_ms)
    closings = [
        line.timestamp
        for line in files.progress
        if isinstance(line, ClosingRow) and line.timestamp is not None
    ]
    known = [each.at for visit in visits for each in visit.evaluations if each.at is not None]
    return max([*closings, *known, *(v.at for v in visits if v.at is not None)], default=None)


def count_shared_days(visits: list[CheckpointVisit]) -> int:
    """Count the days that get an equal share of their checkpoint's time."""
    return sum(len(_list_new_days(visit, before)) for visit, before in _pair_with_before(visits))


def _pair_with_before(visits: list[CheckpointVisit]) -> Iterator[tuple[CheckpointVisit, int]]:
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


def _list_days(visits: list[CheckpointVisit]) -> tuple[int, ...]:
    """List the days to feed; none unless all of them are known."""
    found = [
        day for visit, before in _pair_with_before(visits) for day in _list_new_days(visit, before)
    ]
    last = max((visit.cutoff for visit in visits), default=0)
    return tuple(found) if found == list(range(1, last + 1)) else ()


def _build_passage(row: PassageRow) -> Passage:
    named = None if row.path is None else _DAY_FILE.search(row.path)
    day = row.day if named is None or row.day is not None else int(named[1])
    return Passage(text=row.snippet or "", day=day, source=row.path, score=row.score)
