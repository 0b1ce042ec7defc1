"""The public result format: the rows of result.json, progress.jsonl and the two logs.

The same rows are written by `result_files` and read by `import` and `heatmap`, also from
files of the public harness. Four facts about those files shape them:

* Undefined keys are left out, so nearly everything may be missing.
* A reconstructed result calls the reference `referenceAnswer`, as the logs do, and an ordinary one
  `answer`.
* The mark called `hallucination` is 1 where the answer is grounded. Nothing else here does so.
* Marks are whole numbers on fixed scales; one that is not comes from no judge, and is refused.

Our files have the same names and some more. Keys that nothing here needs are ignored. A value that
is not known is left out, never guessed: `UNSET` is an absent key.
"""

from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from recall_bench.core.memory import Asker
from recall_bench.core.plan import FULL, Lifecycle, ReviewMode
from recall_bench.core.scenario import Disclosure, WallTime
from recall_bench.core.verdict import FULL_MARKS, SCALES, Finding, RubricCard, Verdict

Count = Annotated[int, Meta(ge=0)]
Day = Annotated[int, Meta(ge=1, le=1_000_000)]
DayCount = Annotated[int, Meta(ge=0, le=1_000_000)]
"""A number of days fed; the limit catches slips, no story is that long."""
Repeats = Annotated[int, Meta(ge=0, le=1_000)]
Mean = Annotated[float, Meta(ge=0, le=FULL_MARKS)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Milliseconds = Annotated[float, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]

T = TypeVar("T")
Q = TypeVar("Q")
"""A question: a QuestionRow when it is read, encoded once for all of its rows when written."""

PUBLIC_MARKS = {"grounded": "hallucination"}
"""Marks that have another name in the public files."""
OUR_MARKS = {public: ours for ours, public in PUBLIC_MARKS.items()}


def drop_unset(value: T | UnsetType | None) -> T | None:
    """Convert an absent key to None."""
    return None if value is UNSET else value


class _PublicRow(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    pass


class ScoreRow(_PublicRow, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The three marks of a verdict, with its reason."""

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
        """The sum of the marks."""
        return sum(self.marks)

    @property
    def verdict(self) -> Verdict:
        """The same as one of our verdicts."""
        return Verdict.of(*self.marks, self.reasoning or "")


class QuestionRow(_PublicRow, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A question with its truth."""

    id: Name
    question: str
    answer: str | None = None
    """The reference, in results."""
    reference_answer: str | None = None
    """The reference, in logs and reconstructed results."""
    category: Name
    difficulty: str | None = None
    kind: str | None = None
    """The kind of memory work, where the dataset says."""
    relevant_days: tuple[Day, ...] | None = None
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
        """The reference, by either name."""
        return self.answer or self.reference_answer or ""

    @property
    def days(self) -> tuple[int, ...]:
        """The relevant days, none if the file names none."""
        return self.relevant_days or ()


class ErrorRow(_PublicRow, frozen=True, kw_only=True, gc=False):
    """Why there is no verdict; only in our files."""

    kind: str
    message: str = ""


class PassageRow(_PublicRow, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A passage that the system returned."""

    path: str | None = None
    score: float | None = None
    snippet: str | None = None
    day: Day | None = None


class ResultRow(_PublicRow, Generic[Q], frozen=True, kw_only=True, gc=False):
    """One of a result's question results; a trial without an outcome has one too."""

    qa: Q
    repeat: Repeats = 0
    system_answer: str | None = None
    score: ScoreRow | None = None
    composite_score: float | None = None
    latency_ms: Milliseconds | UnsetType | None = UNSET
    primary_score: ScoreRow | UnsetType | None = UNSET
    error: ErrorRow | UnsetType | None = UNSET
    review_error: str | UnsetType | None = UNSET


class OtherScoreRow(_PublicRow, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What another judge of the plan says of an answer; only in our files."""

    judge: str
    score: ScoreRow | None = None
    composite: float | None = None
    error: ErrorRow | None = None


class LogRow(_PublicRow, Generic[Q], frozen=True, kw_only=True, gc=False):
    """One line of the question log, or of the failure log, which has both judges' scores."""

    timestamp: WallTime
    plan: str | None = None
    """The first digits of the plan's digest; only in our files."""
    persona_id: Name
    checkpoint: str | None = None
    """Only in our files."""
    repeat: Repeats = 0
    qa: Q
    system_answer: str | None = None
    score: ScoreRow | None = None
    composite: float | None = None
    used_appellate: bool = False
    retrieval: tuple[PassageRow, ...] | UnsetType | None = UNSET
    memory_context_provided: bool = False
    latency_ms: Milliseconds | UnsetType | None = UNSET
    tool_calls: tuple[dict[str, object], ...] | UnsetType | None = UNSET
    primary_score: ScoreRow | UnsetType | None = UNSET
    appellate_score: ScoreRow | UnsetType | None = UNSET
    error: ErrorRow | UnsetType | None = UNSET
    review_error: str | UnsetType | None = UNSET
    reviewed: str | UnsetType | None = UNSET
    """Whether a `failure` or a `pass` was reviewed, if either was."""
    probabilities: dict[str, float] | UnsetType | None = UNSET
    """The probability of a pass by mark, from the judge of the final score."""
    findings: tuple[Finding, ...] | UnsetType | None = UNSET
    rubric: str | UnsetType | None = UNSET
    other_scores: tuple[OtherScoreRow, ...] | UnsetType | None = UNSET
    """By each other judge of the plan that judged the answer, or failed to."""
    floor_composite: float | UnsetType | None = UNSET
    """What silence scores on this question; only in our files."""
    ceiling_composite: float | UnsetType | None = UNSET
    """What the reader scores given the evidence; only in our files."""
    leaked: bool | UnsetType | None = UNSET
    """Whether the answer leaks, where that could be noticed; only in our files."""

    @property
    def failure_score(self) -> ScoreRow | None:
        """The final score of a line of the failure log."""
        return drop_unset(self.appellate_score) or drop_unset(self.primary_score)


ReadResultRow = ResultRow[QuestionRow]
ReadLogRow = LogRow[QuestionRow]


class RangeRow(_PublicRow, frozen=True, kw_only=True, gc=False):
    """A checkpoint."""

    label: Name
    days: Annotated[int, Meta(ge=0, le=FULL)]


class CategoryRow(_PublicRow, frozen=True, kw_only=True, gc=False):
    """A stored mean."""

    category: str
    mean_score: Mean | None
    question_count: Count
    eligible_count: Count | None = None


class CheckpointFigures(_PublicRow, frozen=True, kw_only=True, gc=False):
    """The stored figures of one persona at one checkpoint."""

    range: RangeRow
    days_ingested: DayCount = 0
    questions_evaluated: Count
    overall_score: Mean | None = None
    hallucination_rate: Percent | None = None
    category_scores: tuple[CategoryRow, ...] = ()
    judged: Count | None = None
    complete: bool = True


class RangeResult(CheckpointFigures, frozen=True, kw_only=True, gc=False):
    """The figures with their question results."""

    question_results: tuple[ReadResultRow, ...] = ()


class CardRow(_PublicRow, frozen=True, kw_only=True, gc=False):
    """A system or a judge; only in our files."""

    name: str
    version: str
    config: dict[str, object] = {}
    model: str | None = None
    rules_digest: str | None = None
    rubrics: tuple[RubricCard, ...] = ()
    asker: str | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.version}" + (f" ({self.model})" if self.model else "")


class RunSettingRow(_PublicRow, frozen=True, kw_only=True, gc=False):
    """What headers and metadata have in common: the settings of the run."""

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
    system: CardRow | None = None
    judge: CardRow | None = None
    appellate_judge: CardRow | None = None
    review: ReviewMode | None = None
    top_k: int | None = None
    max_context_tokens: int | None = None
    seed: int | None = None
    repeats: Repeats = 1
    lifecycle: Lifecycle | None = None
    dry_run: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether a run of ours wrote the file: the public harness has no plans."""
        return self.plan_digest is not None

    @property
    def knows_asker(self) -> bool:
        """Whether questions about boundaries apply to the system."""
        return self.system is None or self.system.asker != Asker.UNTOLD


class MetadataRow(RunSettingRow, frozen=True, kw_only=True, gc=False):
    """The metadata of a result."""

    duration_ms: Milliseconds | None = None
    reconstructed: bool = False
    reconstructed_complete: bool | None = None
    appellate_invocations: Count | None = None
    unfinished: Count = 0
    not_started: tuple[str, ...] = ()
    unique_q_a_pair_count: Count | None = msgspec.field(default=None, name="uniqueQAPairCount")
    validity: str | None = None
    invalid_reason: str | None = None


class PersonaRow(_PublicRow, frozen=True, kw_only=True, gc=False):
    """One persona in a result."""

    persona_id: Name
    range_results: tuple[RangeResult, ...]


class ResultDocument(_PublicRow, frozen=True, kw_only=True, gc=False):
    """A `result.json`."""

    timestamp: WallTime
    adapter_name: str
    ranges: tuple[RangeRow, ...] = ()
    personas: tuple[PersonaRow, ...]
    metadata: MetadataRow = MetadataRow()


class PersonaFigures(_PublicRow, frozen=True, kw_only=True, gc=False):
    """One persona in a result, its question results left unread."""

    persona_id: Name
    range_results: tuple[CheckpointFigures, ...]


class ResultFigures(_PublicRow, frozen=True, kw_only=True, gc=False):
    """A `result.json`, its question results left unread."""

    timestamp: WallTime
    adapter_name: str
    ranges: tuple[RangeRow, ...]
    personas: tuple[PersonaFigures, ...]
    metadata: MetadataRow


class HeaderRow(RunSettingRow, frozen=True, kw_only=True, gc=False, tag_field="type", tag="header"):
    """The first line of a `progress.jsonl`, and of each continuation."""

    timestamp: WallTime
    adapter_name: str
    ranges: tuple[RangeRow, ...] = ()
    personas: tuple[str, ...] = ()


class CheckpointRow(
    CheckpointFigures, frozen=True, kw_only=True, gc=False, tag_field="type", tag="checkpoint"
):
    """A finished checkpoint in a `progress.jsonl`."""

    timestamp: WallTime | None = None
    persona_id: Name
    ingest_ms: Milliseconds | None = None
    new_days_ingested: DayCount | None = None


class ClosingRow(_PublicRow, frozen=True, kw_only=True, gc=False, tag_field="type", tag="summary"):
    """The last line of a `progress.jsonl` whose run finished."""

    timestamp: WallTime | None = None
    unique_q_a_pair_count: Count | None = msgspec.field(default=None, name="uniqueQAPairCount")
    validity: str | None = None
    invalid_reason: str | None = None


ProgressLine = HeaderRow | CheckpointRow | ClosingRow
