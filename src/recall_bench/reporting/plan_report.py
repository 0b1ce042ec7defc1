"""The records of a plan and its estimate, as `plan --json` prints them."""

from recall_bench.core.record import ComputedRecord, Record


class PlanProgress(Record, frozen=True, kw_only=True):
    """What is owed here, and what of it there is."""

    part: str | None
    """The part of the plan; None if all of it."""
    shards: int | None
    """Those of the part."""
    owed: int
    """Trials."""
    left: int
    """Trials that are still to be asked or judged."""
    is_begun: bool
    """Whether the folder holds anything of it."""
    is_done: bool
    """Whether it holds all of it."""


class CheckpointLine(Record, frozen=True, kw_only=True):
    """One checkpoint of one persona."""

    label: str
    day: int
    """The last story day that is fed."""
    trials: int
    """Repeats counted."""


class PersonaLine(Record, frozen=True, kw_only=True):
    """One persona and what it is asked."""

    id: str
    days: int
    questions: int
    checkpoints: tuple[CheckpointLine, ...]
    """Those at which anything is asked."""


class Outline(Record, frozen=True, kw_only=True):
    """All of it."""

    plan: str
    """Its digest, by which two runs are known to be of one plan."""
    folder: str
    system: str
    judge: str
    appellate: str | None
    reader: str | None
    dataset: str
    """The digest of histories and questions."""
    lifecycle: str
    repeats: int
    sample: int | None
    personas: tuple[PersonaLine, ...]
    trials: int
    questions: int
    """Different ones."""
    ingest_calls: int
    settle_calls: int
    shards: int
    executor: str
    workers: int
    """Shards that are worked on at a time."""
    parallelism: int
    """Questions and verdicts at a time, in each of them."""
    begun: PlanProgress
    """What is owed in this folder, and what of it is left."""


class StepTime(ComputedRecord, frozen=True, kw_only=True):
    """How long one step takes, and how that is known."""

    step: str
    first_s: float
    """On the first day of the story."""
    last_s: float
    """On its last."""
    times: int
    """How many were measured; 0 where it was stated."""
    is_beyond: bool
    """Whether the story goes on after the last day that was measured."""
    count: int
    """How often one process does it."""
    total_s: float
    """What that takes, one after another."""


class RoleSpending(ComputedRecord, frozen=True, kw_only=True):
    """What one role takes in all."""

    role: str
    who: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    source: str
    is_limit: bool = False


class Precision(ComputedRecord, frozen=True, kw_only=True):
    """What a plan can show, in points of six; None where so few questions show nothing."""

    overall: float | None
    """Half of the 95 % interval of the mean of all trials."""
    cell: float | None
    """The same of a category at a checkpoint: the middle one of all."""
    difference: float | None
    """The smallest difference between two systems that is noticed four times in five."""


class HoursWith(ComputedRecord, frozen=True, kw_only=True):
    """The hours with this number of workers."""

    workers: int
    hours: float


class HoursEstimate(ComputedRecord, frozen=True, kw_only=True):
    """How long the run takes with its executor."""

    expected: float
    low: float | None
    high: float | None
    """If every step were as in the fast, or the slow, tenth of what was measured; None where the
    story goes on after that, and the error is unknown."""
    measured_days: int | None
    """The last story day that was measured, where the story goes on after it."""
    verdict_second: float | None
    """What each second of a verdict adds, if verdicts were never timed."""
    longest: str
    """The shard that takes longest."""
    longest_hours: float
    enough: int
    """More workers than these save nothing."""
    spread: tuple[HoursWith, ...]
    """One worker, two, four, and so on to what is enough."""


class UnmeasuredHours(ComputedRecord, frozen=True, kw_only=True):
    """What the hours would be for each second that a step takes."""

    answering: float
    feeding: float


class SmallerRun(ComputedRecord, frozen=True, kw_only=True):
    """A smaller run, and what it saves and shows."""

    change: str
    trials: int
    questions: int
    hours: float | None
    cost_usd: float | None
    precision: Precision


class Forecast(ComputedRecord, frozen=True, kw_only=True):
    """Everything that is known before anything is spent."""

    outline: Outline
    sources: tuple[str, ...]
    """The runs it is from."""
    other_systems: tuple[str, ...]
    """The systems whose times these are, where they are of others than the one planned."""
    stages: tuple[StepTime, ...]
    untimed: tuple[str, ...]
    """Steps that were never timed, and that the hours leave out."""
    hours: HoursEstimate | None
    """None if neither an earlier run nor the user says how long answers or days take."""
    unmeasured: UnmeasuredHours | None
    spending: tuple[RoleSpending, ...]
    cost_usd: float | None
    """None if a price is unknown."""
    is_variance_measured: bool
    """Whether how far marks vary is from an earlier run; else the worst case is taken."""
    less: tuple[SmallerRun, ...]
    """As planned first."""
