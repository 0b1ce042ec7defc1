"""Everything a run can be told, and the least that makes sense of it."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Any

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import Calendar, Ingest, Lifecycle, ReviewMode


class JudgeShows(StrEnum):
    """How much of the memory window a model that judges is shown."""

    PASSAGES = "passages"
    FULL = "full"


class Executor(StrEnum):
    """Where the work of a run is done. It changes no result."""

    LOCAL = "local"
    """In this process, as its answers and verdicts come."""
    PROCESSES = "processes"
    """In several processes of this machine, for systems that compute."""
    RAY = "ray"
    """On a Ray cluster, for systems that are waited for and runs that outgrow a machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything `run` can be told. None means: decide by the default rule."""

    adapter: str = "hybrid"
    factory: str | None = None
    config: dict[str, object] = field(default_factory=dict)
    data: Path | None = None
    personas: tuple[str, ...] = ()
    arcs: str | None = None
    ranges: tuple[str, ...] = ()
    reader: str | None = None
    top_k: int = 10
    max_context_tokens: int | None = None
    endpoint: bool = False
    system_model: str | None = None
    system_embedder: str | None = None
    embedding_cache: bool = False
    grpc_ca: Path | None = None
    judge: str = "offline"
    appellate_judge: str | None = None
    judge_base_url: str | None = None
    appellate_base_url: str | None = None
    judge_memory_window: int = 0
    judge_shows: JudgeShows = JudgeShows.PASSAGES
    judge_budget_tokens: int = 1500
    judge_cache: bool = True
    review: ReviewMode = ReviewMode.BALANCED
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    max_calls: int | None = None
    sample: int | None = None
    groups_enabled: bool = False
    seed: int = 42
    repeats: int = 1
    lifecycle: Lifecycle | None = None
    calendar: Calendar = Calendar.METADATA
    ingest: Ingest = Ingest.DAYS
    allow_gaps: bool = False
    error_budget: float = 0.05
    parallelism: int = 1
    executor: Executor = Executor.LOCAL
    workers: int | None = None
    worker_cpus: float | None = None
    worker_env: tuple[str, ...] = ()
    ray_address: str | None = None
    shard: str | None = None
    timeout_ms: int = 30_000
    grpc_timeout_ms: int = 120_000
    ingest_timeout_ms: int = 1_800_000
    judge_timeout_ms: int = 120_000
    dry_run: bool = False
    skip_preflight: bool = False
    skip_catchup_ingest: bool = False
    retry_errors: bool = False
    into: Path | None = None
    resume: Path | None = None
    json_out: Path | None = None
    question_log: Path | None = None
    write_question_log: bool = True
    progress_jsonl: Path | None = None
    failure_log: Path | None = None
    heatmap_png: bool = True

    @property
    def unused_worker_settings(self) -> tuple[str, ...]:
        """Settings that say how others work, where nobody else does."""
        others = {Executor.PROCESSES: ("workers",), Executor.RAY: _WORKER_SETTINGS}
        used = others.get(self.executor, ())
        return tuple(name for name in _WORKER_SETTINGS if getattr(self, name) and name not in used)

    def __post_init__(self) -> None:
        for name, least in _MINIMUMS.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(
                    f"{name.replace('_', '-')}: {value} is too small; say at least {least}"
                )
        if self.repeats > _MOST_REPEATS:
            raise UsageError(f"repeats: {self.repeats} is too many; say at most {_MOST_REPEATS}")
        if not 0 <= self.error_budget <= 1:
            raise UsageError(
                f"error-budget: {self.error_budget} is not a share; say a number from 0 to 1"
            )
        if self.max_cost_usd is not None and not isfinite(self.max_cost_usd):
            raise UsageError(f"max-cost: {self.max_cost_usd} is not a sum of money; say US dollars")

    @property
    def concurrency(self) -> int:
        """Questions, and verdicts, at a time in one process that has the run to itself."""
        return min(self.parallelism, self.max_calls or self.parallelism)


_MOST_REPEATS = 1000
_WORKER_SETTINGS = ("workers", "worker_cpus", "worker_env", "ray_address")

_MINIMUMS = {
    "top_k": 1,
    "max_context_tokens": 1,
    "judge_memory_window": 0,
    "judge_budget_tokens": 1,
    "max_cost_usd": 0,
    "max_tokens": 0,
    "max_calls": 1,
    "workers": 1,
    "worker_cpus": 0,
    "sample": 0,
    "repeats": 1,
    "parallelism": 1,
    "timeout_ms": 1,
    "grpc_timeout_ms": 1,
    "ingest_timeout_ms": 1,
    "judge_timeout_ms": 1,
}


def apply_overrides(settings: Settings, given: dict[str, Any]) -> Settings:
    """The settings with everything that was given replaced.

    `into` and `resume` both say which folder, so whichever is given alone decides.
    """
    if "into" in given or "resume" in given:
        settings = replace(settings, into=None, resume=None)
    for name in ("ranges", "personas", "worker_env"):
        if isinstance(given.get(name), str):
            given = given | {name: (given[name],)}
    paths = {name: Path(value) for name, value in given.items() if name in PATH_SETTINGS and value}
    words = {
        name: _parse_choice(name, value)
        for name, value in given.items()
        if name in _CHOICES and value
    }
    return replace(settings, **given | paths | words)


PATH_SETTINGS = frozenset(
    "data grpc_ca into resume json_out question_log progress_jsonl failure_log".split()
)
"""The settings that are files or folders."""

_CHOICES: dict[str, type[StrEnum]] = {
    "calendar": Calendar,
    "executor": Executor,
    "ingest": Ingest,
    "judge_shows": JudgeShows,
    "lifecycle": Lifecycle,
    "review": ReviewMode,
}


def _parse_choice(name: str, value: str) -> StrEnum:
    kind = _CHOICES[name]
    try:
        return kind(value)
    except ValueError as error:
        flag = name.replace("_", "-")
        raise UsageError(f"{flag}: {value!r} is none of {', '.join(kind)}; say one") from error


RUNS = Path("recall-runs")
"""Where a run goes that was not given a folder."""
