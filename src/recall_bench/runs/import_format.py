"""The public files of a run as they are found on disk, whoever wrote them.

Four facts about the public harness's files shape these records:

* Undefined keys are left out, so nearly everything may be missing.
* A reconstructed result calls the reference `referenceAnswer`, as the logs do, and an ordinary one
  `answer`.
* The mark called `hallucination` is 1 where the answer is grounded.
* Marks are whole numbers on fixed scales; one that is not comes from no judge, and is refused.

Ours have the same names and some more; keys that nobody needs here are passed over.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from recall_bench.core.plan import FULL, Lifecycle, ReviewMode
from recall_bench.core.scenario import Disclosure, WallTime
from recall_bench.core.verdict import FULL_MARKS, SCALES, Finding, RubricCard, Verdict

Count = Annotated[int, Meta(ge=0)]
Day = Annotated[int, Meta(ge=1, le=1_000_000)]
Fed = Annotated[int, Meta(ge=0, le=1_000_000)]
"""A number of days somebody was fed: no story has as many as this, and a slip may."""
Repeats = Annotated[int, Meta(ge=0, le=1_000)]
Mean = Annotated[float, Meta(ge=0, le=FULL_MARKS)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Milliseconds = Annotated[float, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]


class _ImportRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class ScoreRecord(_ImportRecord, frozen=True, kw_only=True):
    """Three marks."""

    correctness: Annotated[int, Meta(ge=0, le=SCALES["correctness"])]
    completeness: Annotated[int, Meta(ge=0, le=SCALES["completeness"])]
    hallucination: Annotated[int, Meta(ge=0, le=SCALES["grounded"])]
    reasoning: str | None = None

    @property
    def marks(self) -> tuple[int, int, int]:
        """The marks alone."""
        return self.correctness, self.completeness, self.hallucination

    @property
    def points(self) -> int:
        """All marks together."""
        return sum(self.marks)

    @property
    def verdict(self) -> Verdict:
        """The same in our words."""
        return Verdict.of(*self.marks, self.reasoning or "")


class QuestionRecord(_ImportRecord, frozen=True, kw_only=True):
    """A question with its truth."""

    id: Name
    question: str
    answer: str | None = None
    reference_answer: str | None = None
    category: Name
    difficulty: str | None = None
    relevant_days: tuple[Day, ...] = ()
    requires_synthesis: bool | None = None
    irrelevant_after: int | None = None
    choices: tuple[str, ...] = ()
    expected_disclosure: Disclosure | None = None
    query_session: str | None = None
    forbidden_sessions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.answer is None and self.reference_answer is None:
            raise ValueError("has neither answer nor referenceAnswer, so there is no reference")

    @property
    def reference(self) -> str:
        """What is right, by either name."""
        return self.answer or self.reference_answer or ""


class ErrorRecord(_ImportRecord, frozen=True, kw_only=True):
    """Why there is no verdict, in our files."""

    kind: str
    message: str = ""


class PassageRecord(_ImportRecord, frozen=True, kw_only=True):
    """Something the system looked at."""

    path: str | None = None
    score: float | None = None
    snippet: str | None = None
    day: Day | None = None


class _EvaluationRecord(_ImportRecord, frozen=True, kw_only=True):
    qa: QuestionRecord
    system_answer: str | None = None
    latency_ms: Milliseconds | None = None
    primary_score: ScoreRecord | None = None
    repeat: Repeats = 0
    error: ErrorRecord | None = None
    review_error: str | None = None


class ResultRecord(_EvaluationRecord, frozen=True, kw_only=True):
    """One evaluation in a result."""

    score: ScoreRecord | None = None
    composite_score: float | None = None


class _LogRecord(_EvaluationRecord, frozen=True, kw_only=True):
    timestamp: WallTime
    persona_id: Name
    retrieval: tuple[PassageRecord, ...] | None = None
    tool_calls: tuple[dict[str, object], ...] | None = None
    checkpoint: str | None = None
    """Only in ours."""


class QuestionLogRecord(_LogRecord, frozen=True, kw_only=True):
    """One line of the question log."""

    score: ScoreRecord | None = None
    composite: float | None = None
    plan: str | None = None
    probabilities: dict[str, float] | None = None
    findings: tuple[Finding, ...] = ()
    rubric: str | None = None


class FailureLogRecord(_LogRecord, frozen=True, kw_only=True):
    """One line of the failure log, which in the public harness is a log of reviews."""

    appellate_score: ScoreRecord | None = None

    @property
    def score(self) -> ScoreRecord | None:
        """The final one."""
        return self.primary_score if self.appellate_score is None else self.appellate_score


class RangeRecord(_ImportRecord, frozen=True, kw_only=True):
    """A checkpoint."""

    label: Name
    days: Annotated[int, Meta(ge=0, le=FULL)]


class CategoryRecord(_ImportRecord, frozen=True, kw_only=True):
    """A stored mean."""

    category: str
    mean_score: Mean | None
    question_count: Count


class _AggregateRecord(_ImportRecord, frozen=True, kw_only=True):
    range: RangeRecord
    days_ingested: Fed
    questions_evaluated: Count
    overall_score: Mean | None = None
    hallucination_rate: Percent | None = None
    category_scores: tuple[CategoryRecord, ...] = ()


class RangeResultRecord(_AggregateRecord, frozen=True, kw_only=True):
    """One checkpoint of one persona in a result."""

    question_results: tuple[ResultRecord, ...] = ()
    complete: bool = True


class PersonaRecord(_ImportRecord, frozen=True, kw_only=True):
    """One persona in a result."""

    persona_id: Name
    range_results: tuple[RangeResultRecord, ...]


class CardRecord(_ImportRecord, frozen=True, kw_only=True):
    """A system or a judge, as our files describe them."""

    name: str
    version: str
    config: dict[str, object] = {}
    model: str | None = None
    rules_digest: str | None = None
    rubrics: tuple[RubricCard, ...] = ()
    asker: str | None = None


class SettingRecord(_ImportRecord, frozen=True, kw_only=True):
    """What headers and metadata have in common: how the run was carried out."""

    sample: Count | None = None
    judge_memory_window: Count = 0
    groups_enabled: bool = False
    synthesis_model: str | None = None
    embedding_provider: str | None = None
    embedding_model: str | None = None
    judge_model: str | None = None
    appellate_judge_model: str | None = None
    plan_digest: str | None = None
    dataset_digest: str | None = None
    code: tuple[str, ...] = ()
    system: CardRecord | None = None
    judge: CardRecord | None = None
    appellate_judge: CardRecord | None = None
    review: ReviewMode | None = None
    top_k: int | None = None
    max_context_tokens: int | None = None
    seed: int | None = None
    repeats: Repeats = 1
    lifecycle: Lifecycle | None = None

    @property
    def is_ours(self) -> bool:
        """Whether a run of ours wrote the file: the public harness knows no plans."""
        return self.plan_digest is not None


class MetadataRecord(SettingRecord, frozen=True, kw_only=True):
    """How a result came to be."""

    duration_ms: Milliseconds | None = None
    reconstructed: bool = False
    reconstructed_complete: bool | None = None
    appellate_invocations: Count | None = None
    unfinished: Count = 0
    not_started: tuple[str, ...] = ()


class ResultDocument(_ImportRecord, frozen=True, kw_only=True):
    """A `result.json`."""

    timestamp: WallTime
    adapter_name: str
    ranges: tuple[RangeRecord, ...] = ()
    personas: tuple[PersonaRecord, ...]
    metadata: MetadataRecord = MetadataRecord()


class HeaderRecord(SettingRecord, frozen=True, kw_only=True, tag_field="type", tag="header"):
    """The first line of a `progress.jsonl`, and the first of each continuation."""

    timestamp: WallTime
    adapter_name: str
    ranges: tuple[RangeRecord, ...] = ()


class CheckpointRecord(
    _AggregateRecord, frozen=True, kw_only=True, tag_field="type", tag="checkpoint"
):
    """A finished checkpoint in a `progress.jsonl`."""

    timestamp: WallTime | None = None
    persona_id: Name
    ingest_ms: Milliseconds | None = None
    new_days_ingested: Fed | None = None


class ClosingRecord(_ImportRecord, frozen=True, kw_only=True, tag_field="type", tag="summary"):
    """The last line of a `progress.jsonl` whose run came to its end."""

    timestamp: WallTime


ProgressLine = HeaderRecord | CheckpointRecord | ClosingRecord
