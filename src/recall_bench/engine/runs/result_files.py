"""Write the four public files of a run: result, progress, questions and failures.

They are views: written completely from the journal, in the order of the schedule, in one pass over
its answers, and never held in memory. Apart from times, two runs with the same outcomes give the
same bytes.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from recall_bench.core.atomic_file import AtomicFile
from recall_bench.core.errors import UsageError
from recall_bench.core.event import Judged, NotAnswered, NotJudged, OtherVerdict, TrialResult
from recall_bench.core.scenario import Item
from recall_bench.core.trial_states import TrialState
from recall_bench.core.verdict import Verdict
from recall_bench.engine.runs.journal import JOURNAL
from recall_bench.engine.runs.leak_counts import read_boundary
from recall_bench.engine.runs.result_format import (
    PUBLIC_MARKS,
    ErrorRow,
    LogRow,
    OtherScoreRow,
    PassageRow,
    QuestionRow,
    ResultRow,
    ScoreRow,
)
from recall_bench.engine.runs.result_records import (
    Fields,
    build_boundary,
    build_category_score,
    build_checkpoint,
    build_closing,
    build_difficulty_scores,
    build_feed_failure,
    build_header,
    build_measures,
    build_metadata,
    build_range,
    convert_to_ms,
    encode_compact,
    encode_row,
    list_cells,
    write_document,
)
from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.summary import PersonaSummary, summarise

SHORT = 12
"""The hexadecimal digits of a digest that distinguish runs."""

T = TypeVar("T")


def export_files(
    folder: RunFolder,
    *,
    result: Path | None = None,
    progress: Path | None = None,
    questions: Path | None = None,
    failures: Path | None = None,
) -> None:
    """Write the named files, all or none; UsageError names the one that cannot be written."""
    named = {"result": result, "progress": progress, "questions": questions, "failures": failures}
    paths = {name: path for name, path in named.items() if path is not None}
    taken = {(folder.path / JOURNAL).resolve()}
    for path in paths.values():
        if path.resolve() in taken:
            raise UsageError(f"{path}: holds something else of this run; name another file")
        taken.add(path.resolve())
    with ExitStack() as stack:
        files = {name: stack.enter_context(AtomicFile(path)) for name, path in paths.items()}
        _ResultWriter(folder, files).write()
        for file in files.values():
            file.flush()
        for file in files.values():
            file.commit()


class _ResultWriter:
    def __init__(self, folder: RunFolder, files: dict[str, AtomicFile]) -> None:
        self._folder = folder
        self._summary = summarise(folder)
        self._result, self._progress = files.get("result"), files.get("progress")
        self._questions, self._failures = files.get("questions"), files.get("failures")
        self._plan = folder.plan.digest[:SHORT]

    def write(self) -> None:
        if self._progress is not None:
            for record in self._build_records():
                self._progress.write(encode_compact(record) + b"\n")
        if self._result is not None:
            write_document(self._build_document(), self._result.write)
            self._result.write(b"\n")
        elif self._questions is not None or self._failures is not None:
            for persona in self._summary.personas:
                for number in range(len(persona.checkpoints)):
                    for _ in self._write_trials(persona.id, number):
                        pass
        if self._failures is not None:
            for persona in self._summary.personas:
                parts = {part.checkpoint.label: part for part in persona.checkpoints}
                # Questions that could not be asked have no line of their own.
                for failure in persona.feed_failures:
                    line: Fields = {
                        "timestamp": failure.at,
                        "plan": self._plan,
                        **build_feed_failure(failure),
                        "unasked": parts[failure.checkpoint].overall.open,
                    }
                    self._failures.write(encode_compact(line) + b"\n")

    def _build_records(self) -> Iterator[Fields]:
        folder, summary = self._folder, self._summary
        yield build_header(folder)
        for persona in summary.personas:
            for number, part in enumerate(persona.checkpoints, start=1):
                if part.is_done:
                    last = folder.get_last_time(persona.id, number - 1)
                    yield build_checkpoint(persona, number, summary.categories, at=last)
        if folder.is_finished:
            yield build_closing(folder, summary)

    def _build_document(self) -> Fields:
        # Lazy: a progress file is written repeatedly, and needs no numpy.
        from recall_bench.engine.runs.estimates import RunEstimates, build_estimates

        folder, summary, plan = self._folder, self._summary, self._folder.plan
        means, judges = RunEstimates.get(folder), dict[str, object]()
        if plan.other_judges:
            from recall_bench.engine.runs.judge_sensitivity import build_judges

            judges = build_judges(folder)
        return {
            "timestamp": folder.started,
            "adapterName": plan.system.name,
            "ranges": (encode_row(build_range(checkpoint)) for checkpoint in plan.checkpoints),
            "personas": (
                self._build_persona(persona) | build_estimates(means, persona.id)
                for persona in summary.personas
            ),
            "heatmap": list_cells(summary.checkpoints, summary.categories),
            "metadata": build_metadata(folder, summary),
            **build_boundary(summary.disclosures, summary.boundary),
            **build_estimates(means),
            **judges,
        }

    def _build_persona(self, persona: PersonaSummary) -> Fields:
        clocks = [part.clock for part in persona.checkpoints]
        return {
            "personaId": persona.id,
            "adapterName": self._folder.plan.system.name,
            "rangeResults": (
                self._build_range_result(persona, number)
                for number in range(len(persona.checkpoints))
            ),
            "heatmap": list_cells(persona.checkpoints, self._summary.categories),
            "totalIngestionMs": convert_to_ms(sum(clock.feeding_s for clock in clocks)),
            "totalQueryMs": convert_to_ms(sum(clock.query_s for clock in clocks)),
            "uniqueQAPairCount": persona.questions,
            "totalEvalsRun": persona.overall.counted,
            "totalEvalsOwed": persona.overall.owed,
            **build_boundary(persona.disclosures, persona.boundary),
        }

    def _build_range_result(self, persona: PersonaSummary, number: int) -> Fields:
        part, states = persona.checkpoints[number], self._folder.states.scenarios[persona.id]
        points: dict[str, list[int]] = {}
        for repeat, item in states.list_owed_trials(number):
            status = states.get_status(number, repeat, item)
            if status.state in (TrialState.JUDGED, TrialState.NOT_ANSWERED):
                category = states.items[item].truth.category
                points.setdefault(category, []).append(status.composite)
        return {
            "range": encode_row(build_range(part.checkpoint)),
            "daysIngested": part.cutoff,
            "complete": part.is_done,
            **build_measures(part.overall),
            "categoryScores": (
                encode_row(build_category_score(name, part.get_tally(name), points.get(name, [])))
                for name in self._summary.categories
            ),
            "difficultyScores": encode_row(build_difficulty_scores(part)),
            "questionResults": self._write_trials(persona.id, number),
        }

    def _write_trials(self, scenario: str, number: int) -> Iterator[msgspec.Raw]:
        """Write the log lines of one checkpoint, and yield the rows of its results."""
        folder, plan = self._folder, self._folder.plan
        states, boundary = folder.states.scenarios[scenario], read_boundary(folder, scenario)
        has_log, has_window = self._questions or self._failures, plan.judge_memory_window > 0
        numbers = sorted(set(states.checkpoint_plans[number].asked))
        items = [states.items[place] for place in numbers]
        full = {item.id: encode_row(make_question_row(item)) for item in items}
        short = {item.id: encode_row(_make_log_question(item)) for item in items if has_log}
        for result in folder.read_checkpoint_results(scenario, number):
            trial, outcome, item = result.trial, result.outcome, result.item
            shared, composite = _describe_trial(result)
            if has_log and outcome is not None:
                verdict = outcome.verdict if isinstance(outcome, Judged) else None
                answer = None if result.answered is None else result.answered.answer
                bounds = states.bounds
                line: LogRow[msgspec.Raw] = LogRow(
                    timestamp=outcome.at,
                    plan=self._plan,
                    persona_id=trial.scenario,
                    checkpoint=trial.checkpoint,
                    repeat=trial.repeat,
                    qa=short[item.id],
                    composite=composite,
                    used_appellate=shared["primary_score"] is not UNSET,
                    retrieval=tuple(
                        PassageRow(path=one.source, score=one.score, snippet=one.text, day=one.day)
                        for one in (() if answer is None else answer.passages)
                    )
                    or UNSET,
                    memory_context_provided=has_window and bool(item.truth.evidence),
                    tool_calls=(answer and answer.tool_calls) or UNSET,
                    reviewed=_describe_review(outcome),
                    probabilities=_rename_marks(verdict) or UNSET,
                    findings=(verdict and verdict.findings) or UNSET,
                    rubric=UNSET if verdict is None else _unset_none(verdict.rubric),
                    other_scores=tuple(_list_other_scores(plan.judge_names[1:], result.others))
                    or UNSET,
                    floor_composite=UNSET
                    if bounds is None
                    else _unset_none(bounds.get_floor(item.id)),
                    ceiling_composite=UNSET
                    if bounds is None
                    else _unset_none(bounds.get_ceiling(item.id)),
                    leaked=_unset_none(boundary.check_leak(states.find_slot(trial))),
                    **shared,
                )
                self._write_log(line, is_failure=verdict.is_failure if verdict else None)
            if self._result is not None:
                row = ResultRow(
                    qa=full[item.id], repeat=trial.repeat, composite_score=composite, **shared
                )
                yield encode_row(row)

    def _write_log(self, line: LogRow[msgspec.Raw], *, is_failure: bool | None) -> None:
        """Write a line of the question log, and of the failure log if it belongs there.

        `is_failure` is None without a verdict: then it failed if the system gave no answer.
        """
        if self._questions is not None:
            self._questions.write(encode_compact(line) + b"\n")
        if self._failures is not None and (
            line.composite == 0 if is_failure is None else is_failure
        ):
            first = line.primary_score if line.used_appellate else line.score
            second = line.score if line.used_appellate else None
            both = msgspec.structs.replace(line, primary_score=first, appellate_score=second)
            self._failures.write(encode_compact(both) + b"\n")


def make_question_row(item: Item) -> QuestionRow:
    """Make the row of a question in `result.json`."""
    truth = item.truth
    return QuestionRow(
        id=item.id,
        question=item.text,
        answer=truth.reference,
        category=truth.category,
        difficulty=truth.difficulty,
        kind=item.kind,
        relevant_days=tuple(dict.fromkeys(cited.day for cited in truth.evidence)),
        requires_synthesis=truth.requires_synthesis,
        irrelevant_after=item.known_until,
        choices=item.choices,
        expected_disclosure=truth.disclosure,
        query_session=item.session,
        forbidden_sessions=truth.forbidden_sessions,
    )


def _make_log_question(item: Item) -> QuestionRow:
    """Make the row of a question in the logs, which call the reference by another name."""
    return msgspec.structs.replace(
        make_question_row(item),
        answer=None,
        reference_answer=item.truth.reference,
        requires_synthesis=None,
        irrelevant_after=None,
    )


def _describe_trial(result: TrialResult) -> tuple[dict[str, Any], int | None]:
    """Return what the rows of a trial have in common, and its points."""
    answered, composite = result.answered, None
    fields: dict[str, Any] = {
        "system_answer": None if answered is None else answered.answer.text,
        "score": None,
        "latency_ms": UNSET if answered is None else convert_to_ms(answered.seconds),
        "primary_score": UNSET,
        "error": UNSET,
        "review_error": UNSET,
    }
    match result.outcome:
        case Judged(verdict=verdict, primary=primary, review_fault=review_fault):
            # A dataset's protocol gives no marks, and its score is on another scale.
            if verdict.marks:
                fields["score"], composite = _make_score_row(verdict), verdict.composite
            if primary is not None:
                fields["primary_score"] = _make_score_row(primary)
            fields["review_error"] = _unset_none(review_fault)
        case NotAnswered(fault=fault, message=message, seconds=seconds):
            composite, fields["latency_ms"] = 0, convert_to_ms(seconds)
            fields["error"] = ErrorRow(kind=fault, message=message)
        case NotJudged(fault=fault, message=message):
            fields["error"] = ErrorRow(kind=fault, message=message)
    return fields, composite


def _describe_review(outcome: object) -> str | UnsetType:
    """Whether a failure or a pass was reviewed, if either was."""
    if isinstance(outcome, Judged) and (outcome.primary or outcome.review_fault is not None):
        return "failure" if (outcome.primary or outcome.verdict).is_failure else "pass"
    return UNSET


def _list_other_scores(
    names: Sequence[str], others: Sequence[OtherVerdict | None]
) -> Iterator[OtherScoreRow]:
    for name, event in zip(names, others, strict=True):
        if event is None:
            continue
        marked = event.verdict if event.verdict is not None and event.verdict.marks else None
        yield OtherScoreRow(
            judge=name,
            score=None if marked is None else _make_score_row(marked),
            composite=None if marked is None else marked.composite,
            error=None
            if event.fault is None
            else ErrorRow(kind=event.fault, message=event.message or ""),
        )


def _make_score_row(verdict: Verdict) -> ScoreRow:
    """Make the row of a verdict's marks under their public names."""
    return ScoreRow(
        correctness=verdict.marks["correctness"],
        completeness=verdict.marks["completeness"],
        hallucination=verdict.marks["grounded"],
        reasoning=verdict.reason or None,
    )


def _rename_marks(verdict: Verdict | None) -> dict[str, float]:
    shares = {} if verdict is None else verdict.probabilities
    return {PUBLIC_MARKS.get(mark, mark): share for mark, share in shares.items()}


def _unset_none(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value
