"""Write the rows of the public result format, and large JSON documents as they are made."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from recall_bench.core.event import (
    BoundsComputed,
    Judged,
    NotAnswered,
    NotJudged,
    TrialResult,
)
from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Item
from recall_bench.core.verdict import Verdict
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

T = TypeVar("T")
WrittenLogRow = LogRow[msgspec.Raw]

encode_compact = msgspec.json.Encoder().encode
"""JSON on one line."""


def encode_row(fields: object) -> msgspec.Raw:
    """Encode a value that stays on one line in a document."""
    return msgspec.Raw(encode_compact(fields))


def write_document(value: object, write: Callable[[bytes], object], depth: int = 0) -> None:
    """Write a document: mappings one key a line, iterators one element a line, the rest compact.

    Iterators are consumed one element at a time.
    """
    lead, inside = b"\n", b"  " * (depth + 1)
    if isinstance(value, Mapping):
        write(b"{")
        for key, part in value.items():
            write(lead + inside + encode_compact(key) + b": ")
            write_document(part, write, depth + 1)
            lead = b",\n"
        write(b"}" if lead == b"\n" else b"\n" + b"  " * depth + b"}")
    elif isinstance(value, Iterator):
        write(b"[")
        for part in value:
            write(lead + inside)
            write_document(part, write, depth + 1)
            lead = b",\n"
        write(b"]" if lead == b"\n" else b"\n" + b"  " * depth + b"]")
    else:
        write(encode_compact(value))


def make_result_question(item: Item) -> QuestionRow:
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


def make_log_question(item: Item) -> QuestionRow:
    """Make the row of a question in the logs, which call the reference by another name."""
    return msgspec.structs.replace(
        make_result_question(item),
        answer=None,
        reference_answer=item.truth.reference,
        requires_synthesis=None,
        irrelevant_after=None,
    )


class TrialRows:
    """The rows of one result, with what they share computed once."""

    __slots__ = (
        "_answer",
        "_composite",
        "_error",
        "_latency_ms",
        "_primary",
        "_result",
        "_review_error",
        "_reviewed",
        "_score",
        "_verdict",
        "is_failure",
    )

    def __init__(self, result: TrialResult) -> None:
        self._result = result
        self._answer: str | None = None
        self._latency_ms: float | UnsetType = UNSET
        self._score: ScoreRow | None = None
        self._primary: ScoreRow | UnsetType = UNSET
        self._composite: int | None = None
        self._error: ErrorRow | UnsetType = UNSET
        self._review_error: str | UnsetType = UNSET
        self._reviewed: str | UnsetType = UNSET
        self._verdict: Verdict | None = None
        self.is_failure = False
        """Whether the trial ended in a failing verdict, or without an answer."""
        if result.answered is not None:
            self._answer = result.answered.answer.text
            self._latency_ms = convert_to_ms(result.answered.seconds)
        match result.outcome:
            case Judged() as judged:
                self._add_verdict(judged)
            case NotAnswered(fault=fault, message=message, seconds=seconds):
                self._composite = 0
                self._latency_ms = convert_to_ms(seconds)
                self._error = ErrorRow(kind=fault, message=message)
                self.is_failure = True
            case NotJudged(fault=fault, message=message):
                self._error = ErrorRow(kind=fault, message=message)

    def _add_verdict(self, judged: Judged) -> None:
        self._verdict = judged.verdict
        if judged.verdict.marks:
            # A dataset's protocol gives no marks, and its score is on another scale.
            self._score = make_score_row(judged.verdict)
            self._composite = judged.verdict.composite
        self._review_error = _unset_none(judged.review_fault)
        self.is_failure = judged.verdict.is_failure
        if judged.primary is not None:
            self._primary = make_score_row(judged.primary)
        if judged.primary is not None or judged.review_fault is not None:
            first = judged.primary or judged.verdict
            self._reviewed = "failure" if first.is_failure else "pass"

    def make_result_row(self, qa: msgspec.Raw) -> ResultRow[msgspec.Raw]:
        """Make its row of `result.json`."""
        return ResultRow(
            qa=qa,
            repeat=self._result.trial.repeat,
            system_answer=self._answer,
            score=self._score,
            composite_score=self._composite,
            latency_ms=self._latency_ms,
            primary_score=self._primary,
            error=self._error,
            review_error=self._review_error,
        )

    def make_log_row(
        self,
        qa: msgspec.Raw,
        *,
        plan: str,
        sees_memory: bool,
        bounds: BoundsComputed | None = None,
        leaked: bool | None = None,
        other_judges: Sequence[str] = (),
    ) -> WrittenLogRow | None:
        """Make its line of the question log; None while it has no outcome."""
        trial, outcome, answered = self._result.trial, self._result.outcome, self._result.answered
        if outcome is None:
            return None
        verdict, item = self._verdict, self._result.item.id
        return LogRow(
            timestamp=outcome.at,
            plan=plan,
            persona_id=trial.scenario,
            checkpoint=trial.checkpoint,
            repeat=trial.repeat,
            qa=qa,
            system_answer=self._answer,
            score=self._score,
            composite=self._composite,
            used_appellate=self._primary is not UNSET,
            retrieval=UNSET if answered is None else _make_passage_rows(answered.answer.passages),
            memory_context_provided=sees_memory,
            latency_ms=self._latency_ms,
            tool_calls=UNSET if answered is None else answered.answer.tool_calls or UNSET,
            primary_score=self._primary,
            error=self._error,
            review_error=self._review_error,
            reviewed=self._reviewed,
            probabilities=UNSET if verdict is None else _rename_marks(verdict),
            findings=(verdict and verdict.findings) or UNSET,
            rubric=UNSET if verdict is None else _unset_none(verdict.rubric),
            other_scores=tuple(self._list_other_scores(other_judges)) or UNSET,
            floor_composite=UNSET if bounds is None else _unset_none(bounds.get_floor(item)),
            ceiling_composite=UNSET if bounds is None else _unset_none(bounds.get_ceiling(item)),
            leaked=_unset_none(leaked),
        )

    def _list_other_scores(self, names: Sequence[str]) -> Iterator[OtherScoreRow]:
        for name, said in zip(names, self._result.others, strict=True):
            if said is None:
                continue
            verdict, error = said.verdict, None
            if said.fault is not None:
                error = ErrorRow(kind=said.fault, message=said.message or "")
            marked = None if verdict is None or not verdict.marks else verdict
            yield OtherScoreRow(
                judge=name,
                score=None if marked is None else make_score_row(marked),
                composite=None if marked is None else marked.composite,
                error=error,
            )

    def make_failure_row(self, line: WrittenLogRow) -> WrittenLogRow:
        """Make its line of the failure log from that of the question log."""
        is_reviewed = line.used_appellate
        return msgspec.structs.replace(
            line,
            primary_score=line.primary_score if is_reviewed else line.score,
            appellate_score=line.score if is_reviewed else None,
        )


def convert_to_ms(seconds: float) -> float:
    """Convert to milliseconds, rounded to the microsecond."""
    return round(seconds * 1000, 3)


def make_score_row(verdict: Verdict) -> ScoreRow:
    """Make the row of a verdict's marks under their public names."""
    marks = verdict.marks
    return ScoreRow(
        correctness=marks["correctness"],
        completeness=marks["completeness"],
        hallucination=marks["grounded"],
        reasoning=verdict.reason or None,
    )


def _rename_marks(verdict: Verdict) -> dict[str, float] | UnsetType:
    if not verdict.probabilities:
        return UNSET
    return {PUBLIC_MARKS.get(mark, mark): share for mark, share in verdict.probabilities.items()}


def _make_passage_rows(passages: Sequence[Passage]) -> tuple[PassageRow, ...] | UnsetType:
    if not passages:
        return UNSET
    return tuple(
        PassageRow(path=each.source, score=each.score, snippet=each.text, day=each.day)
        for each in passages
    )


def _unset_none(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value
