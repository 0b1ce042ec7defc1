"""What was put and how it was graded, in one shape whichever file tells of it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recall_bench.core.verdict import Finding
from recall_bench.importing.formats import (
    CategoryRecord,
    CheckpointRecord,
    ErrorRecord,
    PassageRecord,
    QuestionLogRecord,
    QuestionRecord,
    RangeResultRecord,
    ResultRecord,
    ScoreRecord,
)

Place = tuple[str, str]
"""A persona, and the label of a checkpoint."""

_SENTINEL = re.compile(
    r"\s*\[\s*(?:timeout|timed out|error|content[\s_-]*filter(?:ed)?)\b[^\]]*\]\s*", re.IGNORECASE
)
"""Words in brackets and nothing else: what is written where there was no answer."""

_FILTERED = re.compile(r"content[\s_-]*(?:filter|management policy)|responsible ai", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class Evaluation:
    """One question put once. What a later file knows besides is filled in."""

    persona: str
    qa: QuestionRecord
    repeat: int
    answer: str | None
    score: ScoreRecord | None
    composite: float | None
    latency_ms: float | None
    primary: ScoreRecord | None
    error: ErrorRecord | None
    review_error: str | None
    at: datetime | None = None
    retrieval: tuple[PassageRecord, ...] | None = None
    tool_calls: tuple[dict[str, object], ...] = ()
    probabilities: dict[str, float] = field(default_factory=dict)
    findings: tuple[Finding, ...] | None = None
    """None if no file says."""
    rubric: str | None = None

    @property
    def is_sentinel(self) -> bool:
        """Whether the answer is what the harness writes where there was none."""
        return self.answer is not None and _SENTINEL.fullmatch(self.answer) is not None

    @property
    def is_apology(self) -> bool:
        """Whether the answer says that a filter stopped it."""
        return self.answer is not None and _FILTERED.search(self.answer) is not None

    @property
    def points(self) -> int | None:
        """Of six, as graded; a failed query is worth nothing, and what is open has none."""
        if self.score is not None:
            return self.score.points
        return 0 if self.error is not None and self.answer is None else None

    @property
    def is_open(self) -> bool:
        """Whether it has not come to an end."""
        return self.score is None and self.error is None

    @property
    def has_wrong_total(self) -> bool:
        """Whether the stored total is not the sum of the marks."""
        return None not in (self.composite, self.points) and self.composite != self.points

    def add_log_row(self, row: QuestionLogRecord) -> None:
        """Fill in what a line of the question log knows besides."""
        self.at = row.timestamp
        self.retrieval = row.retrieval
        self.tool_calls = row.tool_calls or ()
        self.primary = self.primary or row.primary_score
        if row.plan is not None:
            # Our logs tell of passages and findings where there are any.
            self.retrieval = row.retrieval or ()
            self.findings = row.findings
            self.probabilities = row.probabilities or {}
            self.rubric = row.rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFigures:
    """The figures a file gives for a checkpoint."""

    count: int
    mean: float | None
    hallucination: float | None
    categories: tuple[CategoryRecord, ...]


@dataclass(slots=True, kw_only=True)
class CheckpointVisit:
    """One persona at one checkpoint."""

    place: Place
    days: int
    cutoff: int
    stored: StoredFigures | None = None
    evaluations: list[Evaluation] = field(default_factory=list)
    doubled: int = 0
    """How many evaluations its file holds twice, alike."""
    at: datetime | None = None
    """When the checkpoint was finished."""
    ingest_ms: float | None = None
    new_days: int | None = None

    def __str__(self) -> str:
        return f"{self.place[0]!r} at {self.place[1]!r}"


def read_result_row(persona: str, row: ResultRecord) -> Evaluation:
    """An evaluation as a result holds it."""
    return Evaluation(
        persona=persona,
        qa=row.qa,
        repeat=row.repeat,
        answer=row.system_answer,
        score=row.score,
        composite=row.composite_score,
        latency_ms=row.latency_ms,
        primary=row.primary_score,
        error=row.error,
        review_error=row.review_error,
    )


def read_log_row(row: QuestionLogRecord) -> Evaluation:
    """An evaluation as the question log holds it."""
    found = Evaluation(
        persona=row.persona_id,
        qa=row.qa,
        repeat=row.repeat,
        answer=row.system_answer,
        score=row.score,
        composite=row.composite,
        latency_ms=row.latency_ms,
        primary=row.primary_score,
        error=row.error,
        review_error=row.review_error,
    )
    found.add_log_row(row)
    return found


def make_visit(persona: str, part: RangeResultRecord | CheckpointRecord) -> CheckpointVisit:
    """A checkpoint with its stored figures, and no evaluation yet."""
    return CheckpointVisit(
        place=(persona, part.range.label),
        days=part.range.days,
        cutoff=part.days_ingested,
        stored=StoredFigures(
            count=part.questions_evaluated,
            mean=part.overall_score,
            hallucination=part.hallucination_rate,
            categories=part.category_scores,
        ),
    )


def average_grades(evaluations: Iterable[Evaluation]) -> tuple[float | None, int]:
    """The mean as graded, and of how many."""
    points = [each.points for each in evaluations if each.points is not None]
    return (sum(points) / len(points) if points else None), len(points)


def find_disagreements(visits: Sequence[CheckpointVisit]) -> Iterator[str]:
    """Every stored figure that is not that of its rows, in words."""
    for visit in visits:
        stored = visit.stored
        if stored is None:
            continue
        where = str(visit)
        yield from _compare_mean(f"{where}, overall", stored.mean, stored.count, visit.evaluations)
        scores = [each.score for each in visit.evaluations if each.score is not None]
        rate = 100 * sum(not score.hallucination for score in scores) / max(1, len(scores))
        if stored.hallucination is not None and abs(stored.hallucination - rate) > _ROUNDING:
            yield f"{where}, hallucination: {stored.hallucination:.4f} % stored, {rate:.4f} % found"
        for each in stored.categories:
            own = [e for e in visit.evaluations if e.qa.category == each.category]
            name = f"{where}, {each.category}"
            yield from _compare_mean(name, each.mean_score, each.question_count, own)


def _compare_mean(
    where: str, mean: float | None, count: int, evaluations: Iterable[Evaluation]
) -> Iterator[str]:
    found, own = average_grades(evaluations)
    if count == 0 and own == 0:
        return
    if own != count or mean is None or found is None or abs(found - mean) > _ROUNDING:
        shown = "none" if mean is None else f"{mean:.4f}"
        yield f"{where}: {shown} of {count} stored, {found or 0:.4f} of {own} in the rows"


_ROUNDING = 1e-6
"""Stored means are written in full; what differs by more is another number."""
