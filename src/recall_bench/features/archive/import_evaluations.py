"""The evaluations of an imported run, from whichever file has them, and the faults of the files."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from recall_bench.core.plain_text import format_quantity
from recall_bench.core.plan import ImportRepair
from recall_bench.core.verdict import Finding
from recall_bench.engine.runs.result_format import (
    CategoryRow,
    CheckpointRow,
    ErrorRow,
    PassageRow,
    QuestionRow,
    RangeResult,
    ReadLogRow,
    ReadResultRow,
    ScoreRow,
    drop_unset,
)

REPAIRED = {
    "unlabeled": ("evaluation", "without a checkpoint, placed by its time"),
    "superseded": ("evaluation", "left out: a continued run put the same question there again"),
    "unfinished": ("evaluation", "left out: of a checkpoint that was never finished"),
    "doubled": ("evaluation", "in the result twice, alike; counts once"),
    "repeated-checkpoints": ("checkpoint", "recorded more than once; the last record holds"),
    "repeated-headers": ("continuation", "of the run in the same files"),
    "sentinels": (
        "answer",
        ("the mark of a failed query, which was graded; counts as not answered, without points"),
    ),
    "reviews-not-failures": (
        "row",
        (
            "of the failure log that ended in a pass: it lists reviews, and only verdicts count as "
            "failures"
        ),
    ),
    "composites": ("total", "stored that is not the sum of its marks; the marks hold"),
    "reworded": ("question", "with the id of another wording; has one of its own now (~2)"),
    "uncounted-reviews": (
        "review",
        "beyond the result's own count, which starts again with each continuation",
    ),
    "restored-reviews": ("first verdict", "missing in the result, taken from the failure log"),
}
"""The faults that are repaired: what is counted, and what is wrong."""

MARKED = {
    "reconstructed": ("result", "pieced together from logs after the run had been killed"),
    "not-reached": ("checkpoint", "configured and never finished"),
    "no-rows": ("checkpoint", "with means and no evaluations; left out"),
    "short": ("evaluation", "missing: a checkpoint holds fewer than it says it asked"),
    "means": ("mean", "stored that is not the mean of its rows"),
    "too-full": (
        "checkpoint",
        "asked after the memory had lived past it: a run was continued at an earlier checkpoint",
    ),
    "too-early": ("evaluation", "asked before all of its evidence was ingested"),
    "unlisted": ("evaluation", "of a category that the public harness has no row for"),
    "as-graded": ("answer", "the mark of a failed query; stays as it was graded, as asked"),
    "silent": ("answer", "empty; stays as it was graded"),
    "apologies": ("answer", "that apologises for a content filter; stays as it was graded"),
    "speechless": (
        "verdict",
        (
            "of 0/0/1 without a reason, which is written where the judge said nothing; stays as "
            "it was graded"
        ),
    ),
    "not-judged-twice": (
        "failing verdict",
        (
            "without a first verdict beside it, though there was an appellate judge: what the "
            "review changed is unknown"
        ),
    ),
    "askers": ("question", "about a boundary, for a system that does not know who asks"),
    "passages": ("answer", "with passages, which are left out: others have none on record"),
    "disagreeing": ("row", "of a log that matches no evaluation of the result; adds nothing"),
    "ambiguous": ("row", "of a log that matches several evaluations of the result; adds nothing"),
    "untimed": ("answer", "without a time on record; reads 0 s, and p50 and p95 are not known"),
    "shared-times": ("day", "with an even share of the time on record for its checkpoint"),
    "clocks": ("row", "of the question log that is earlier than the one before"),
}
"""The faults that stay in the numbers: what is counted, and what is wrong."""


class FaultCounts:
    """Counts faults by name."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def note(self, name: str, count: int = 1) -> None:
        """Count a fault of a known name."""
        if name not in REPAIRED and name not in MARKED:
            raise KeyError(name)
        if count:
            self._counts[name] += count

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def list_repairs(self) -> tuple[ImportRepair, ...]:
        """List everything that was found, repaired faults first."""
        return tuple(
            ImportRepair(
                name=name,
                count=count,
                is_repaired=name in REPAIRED,
                said=_describe_fault(count, *words),
            )
            for name, words in (REPAIRED | MARKED).items()
            if (count := self._counts[name])
        )


def _describe_fault(count: int, noun: str, matter: str) -> str:
    return f"{format_quantity(count, noun)}: {matter}"


Place = tuple[str, str]
"""A persona, and the label of a checkpoint."""

_SENTINEL = re.compile(
    r"\s*\[\s*(?:timeout|timed out|error|content[\s_-]*filter(?:ed)?)\b[^\]]*\]\s*", re.IGNORECASE
)
"""A placeholder in brackets that the public harness writes where there was no answer."""

_FILTERED = re.compile(r"content[\s_-]*(?:filter|management policy)|responsible ai", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class Evaluation:
    """One question asked once. Later files fill in what they know."""

    persona: str
    qa: QuestionRow
    repeat: int
    answer: str | None
    score: ScoreRow | None
    composite: float | None
    latency_ms: float | None
    primary: ScoreRow | None
    error: ErrorRow | None
    review_error: str | None
    at: datetime | None = None
    retrieval: tuple[PassageRow, ...] | None = None
    tool_calls: tuple[dict[str, object], ...] = ()
    probabilities: dict[str, float] = field(default_factory=dict)
    findings: tuple[Finding, ...] | None = None
    """None if no file says."""
    rubric: str | None = None

    @property
    def is_sentinel(self) -> bool:
        """Whether the answer is a placeholder for a failed query."""
        return self.answer is not None and _SENTINEL.fullmatch(self.answer) is not None

    @property
    def is_apology(self) -> bool:
        """Whether the answer says that a filter stopped it."""
        return self.answer is not None and _FILTERED.search(self.answer) is not None

    @property
    def points(self) -> int | None:
        """Of six, as graded; 0 for a failed query, None while open."""
        if self.score is not None:
            return self.score.points
        return 0 if self.error is not None and self.answer is None else None

    @property
    def is_open(self) -> bool:
        """Whether it has no outcome."""
        return self.score is None and self.error is None

    @property
    def has_wrong_total(self) -> bool:
        """Whether the stored total is not the sum of the marks."""
        return None not in (self.composite, self.points) and self.composite != self.points

    def add_log_row(self, row: ReadLogRow) -> None:
        """Fill in what a line of the question log holds."""
        self.at = row.timestamp
        self.retrieval = drop_unset(row.retrieval)
        self.tool_calls = drop_unset(row.tool_calls) or ()
        self.primary = self.primary or drop_unset(row.primary_score)
        if row.plan is not None:
            # Our logs contain passages and findings wherever there are any.
            self.retrieval = self.retrieval or ()
            self.findings = drop_unset(row.findings) or ()
            self.probabilities = drop_unset(row.probabilities) or {}
            self.rubric = drop_unset(row.rubric)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFigures:
    """The stored figures of a checkpoint."""

    count: int
    mean: float | None
    hallucination: float | None
    categories: tuple[CategoryRow, ...]


@dataclass(slots=True, kw_only=True)
class CheckpointVisit:
    """One persona at one checkpoint."""

    place: Place
    days: int
    cutoff: int
    stored: StoredFigures | None = None
    evaluations: list[Evaluation] = field(default_factory=list)
    doubled: int = 0
    """How many evaluations its file contains twice."""
    at: datetime | None = None
    """When the checkpoint was finished."""
    ingest_ms: float | None = None
    new_days: int | None = None

    def __str__(self) -> str:
        return f"{self.place[0]!r} at {self.place[1]!r}"


def read_result_row(persona: str, row: ReadResultRow) -> Evaluation:
    """Make an evaluation from a row of a result."""
    return Evaluation(
        persona=persona,
        qa=row.qa,
        repeat=row.repeat,
        answer=row.system_answer,
        score=row.score,
        composite=row.composite_score,
        latency_ms=drop_unset(row.latency_ms),
        primary=drop_unset(row.primary_score),
        error=drop_unset(row.error),
        review_error=drop_unset(row.review_error),
    )


def read_log_row(row: ReadLogRow) -> Evaluation:
    """Make an evaluation from a line of the question log."""
    evaluation = Evaluation(
        persona=row.persona_id,
        qa=row.qa,
        repeat=row.repeat,
        answer=row.system_answer,
        score=row.score,
        composite=row.composite,
        latency_ms=drop_unset(row.latency_ms),
        primary=drop_unset(row.primary_score),
        error=drop_unset(row.error),
        review_error=drop_unset(row.review_error),
    )
    evaluation.add_log_row(row)
    return evaluation


def make_visit(persona: str, part: RangeResult | CheckpointRow) -> CheckpointVisit:
    """Make a visit with the stored figures of a checkpoint, and no evaluations."""
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
    """Average the points as graded; return the mean and the count."""
    points = [evaluation.points for evaluation in evaluations if evaluation.points is not None]
    return (sum(points) / len(points) if points else None), len(points)


def find_disagreements(visits: Sequence[CheckpointVisit]) -> Iterator[str]:
    """Describe every stored figure that differs from its rows."""
    for visit in visits:
        stored = visit.stored
        if stored is None:
            continue
        where = str(visit)
        yield from _compare_mean(f"{where}, overall", stored.mean, stored.count, visit.evaluations)
        scores = [
            evaluation.score for evaluation in visit.evaluations if evaluation.score is not None
        ]
        rate = 100 * sum(not score.hallucination for score in scores) / max(1, len(scores))
        if stored.hallucination is not None and abs(stored.hallucination - rate) > _ROUNDING:
            yield f"{where}, hallucination: {stored.hallucination:.4f} % stored, {rate:.4f} % found"
        for category in stored.categories:
            own = [e for e in visit.evaluations if e.qa.category == category.category]
            name = f"{where}, {category.category}"
            yield from _compare_mean(name, category.mean_score, category.question_count, own)


def _compare_mean(
    where: str, mean: float | None, count: int, evaluations: Iterable[Evaluation]
) -> Iterator[str]:
    found, own = average_grades(evaluations)
    if count == 0 and own == 0:
        return
    if own != count or mean is None or found is None or abs(found - mean) > _ROUNDING:
        printed = "none" if mean is None else f"{mean:.4f}"
        yield f"{where}: {printed} of {count} stored, {found or 0:.4f} of {own} in the rows"


_ROUNDING = 1e-6
"""Stored means have all digits; a larger difference is a real one."""


def add_log(
    visits: Iterable[CheckpointVisit], rows: Sequence[ReadLogRow], faults: FaultCounts
) -> None:
    """Fill in what the question log holds of the evaluations."""
    _match_rows(visits, [(row, row.score) for row in rows], Evaluation.add_log_row, faults)


def add_reviews(
    visits: Iterable[CheckpointVisit], rows: Sequence[ReadLogRow], faults: FaultCounts
) -> None:
    """Fill in the first verdicts that a result lacks, and count the passes among the rows."""
    restored = 0

    def add(evaluation: Evaluation, row: ReadLogRow) -> None:
        nonlocal restored
        if evaluation.primary is None and drop_unset(row.appellate_score) is not None:
            evaluation.primary = drop_unset(row.primary_score)
            restored += 1

    scored = [(row, row.failure_score) for row in rows]
    _match_rows(visits, scored, add, faults)
    faults.note("restored-reviews", restored)
    faults.note(
        "reviews-not-failures",
        sum(score is not None and not score.verdict.is_failure for _, score in scored),
    )


def _match_rows(
    visits: Iterable[CheckpointVisit],
    rows: Sequence[tuple[ReadLogRow, ScoreRow | None]],
    add: Callable[[Evaluation, ReadLogRow], None],
    faults: FaultCounts,
) -> None:
    """Hand each row to the evaluation it is about, if that is clear.

    A row and an evaluation match if persona, question, answer, marks and time are equal. Where
    several match, they are paired in order if there are as many of both.
    """
    lines: dict[Hashable, list[ReadLogRow]] = {}
    is_labelled = any(row.checkpoint is not None for row, _ in rows)
    for row, score in rows:
        lines.setdefault(_make_row_key(row, score, is_labelled=is_labelled), []).append(row)
    groups: dict[Hashable, list[Evaluation]] = {}
    for visit in visits:
        for each in visit.evaluations:
            label = visit.place[1] if is_labelled else None
            groups.setdefault(_make_key(each, label), []).append(each)
    for key, own in lines.items():
        evaluations = groups.get(key, [])
        if not evaluations:
            faults.note("disagreeing", len(own))
        elif len(own) == len(evaluations):
            for evaluation, row in zip(evaluations, own, strict=True):
                add(evaluation, row)
        else:
            faults.note("ambiguous", len(own))


def _make_row_key(row: ReadLogRow, score: ScoreRow | None, *, is_labelled: bool) -> Hashable:
    marks = None if score is None else score.marks
    label = row.checkpoint if is_labelled else None
    latency = drop_unset(row.latency_ms)
    return (row.persona_id, label, row.qa.id, row.repeat, row.system_answer, marks, latency)


def _make_key(each: Evaluation, label: str | None) -> Hashable:
    marks = None if each.score is None else each.score.marks
    return (each.persona, label, each.qa.id, each.repeat, each.answer, marks, each.latency_ms)
