"""The records of a plan and its estimate, as `plan --json` prints them."""

from recall_bench.core.record import ComputedRecord, Record


class PlanProgress(Record, frozen=True, kw_only=True):
    """The trials that a folder owes, and how many are left."""

    part: str | None
    """The part of the plan; None for all of it."""
    shards: int | None
    """The shards of the part."""
    owed: int
    """Trials."""
    left: int
    """Trials that are still to be asked or judged."""
    is_begun: bool
    """Whether the folder holds any of it."""
    is_done: bool
    """Whether it holds all of it."""


class CheckpointLine(Record, frozen=True, kw_only=True):
    """One checkpoint of one persona."""

    label: str
    day: int
    """The last story day that is ingested."""
    trials: int
    """Repeats included."""


class PersonaLine(Record, frozen=True, kw_only=True):
    """One persona and its questions."""

    id: str
    days: int
    questions: int
    checkpoints: tuple[CheckpointLine, ...]
    """The checkpoints at which anything is asked."""


class Outline(Record, frozen=True, kw_only=True):
    """A plan in numbers."""

    plan: str
    """The digest of the plan, which identifies it."""
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
    """Different questions."""
    ingest_calls: int
    settle_calls: int
    shards: int
    executor: str
    workers: int
    """Concurrent shards."""
    parallelism: int
    """Concurrent questions, and concurrent verdicts, in each shard."""
    begun: PlanProgress
    """The progress in this folder."""


class StepTime(ComputedRecord, frozen=True, kw_only=True):
    """The time of one step, and where it comes from."""

    step: str
    mean_s: float
    times: int
    """The number of measurements; 0 if the time was stated."""
    count: int
    """How often one process executes it."""
    total_s: float
    """The total, one after another."""


class RoleSpending(ComputedRecord, frozen=True, kw_only=True):
    """The usage of one role in all."""

    role: str
    who: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    source: str
    is_limit: bool = False


class HoursWith(ComputedRecord, frozen=True, kw_only=True):
    """The hours with this number of workers."""

    workers: int
    hours: float


class HoursEstimate(ComputedRecord, frozen=True, kw_only=True):
    """How long the run takes with its executor."""

    expected: float
    measured_days: int | None
    """The last measured story day, if the story is longer."""
    longest_hours: float
    """Hours of the work unit that takes longest: more workers do not help it."""
    enough: int
    """More workers save nothing."""
    spread: tuple[HoursWith, ...]
    """With one worker, two, four, and so on up to `enough`."""


class SmallerRun(ComputedRecord, frozen=True, kw_only=True):
    """A smaller run and its cost."""

    change: str
    trials: int
    questions: int
    hours: float | None
    cost_usd: float | None


class Forecast(ComputedRecord, frozen=True, kw_only=True):
    """A plan with its estimates of time and money."""

    outline: Outline
    sources: tuple[str, ...]
    """The earlier runs that it is computed from."""
    other_systems: tuple[str, ...]
    """The systems of the earlier runs, if they are not the planned one."""
    stages: tuple[StepTime, ...]
    untimed: tuple[str, ...]
    """Steps that were never timed, which the hours leave out."""
    hours: HoursEstimate | None
    """None if neither an earlier run nor the user gives the time of answers or days."""
    answer_second: float | None
    day_second: float | None
    """Hours that each second of an answer, and of an ingested day, adds; None if both are timed."""
    verdict_second: float | None
    """Hours that each second of a verdict adds, if only verdicts were never timed."""
    spending: tuple[RoleSpending, ...]
    cost_usd: float | None
    """None if a price is unknown."""
    less: tuple[SmallerRun, ...]
    """The plan itself first."""
