"""The settings of a run, each stated once.

`Settings` is the single source of the command-line options (`cli/options.py`), of the profile
schema (`core/profile.py`) and of the limits of each value.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from math import isfinite
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import Calendar, Ingest, Lifecycle, ReviewMode, SampleMode
from recall_bench.core.redaction import learn_secrets


class JudgeShows(StrEnum):
    """How much of the memory window a model that judges is shown."""

    PASSAGES = "passages"
    FULL = "full"


class Executor(StrEnum):
    """Where a run is executed. It changes no result."""

    LOCAL = "local"
    """In this process."""
    PROCESSES = "processes"
    """In several processes of this machine, for systems that compute."""
    RAY = "ray"
    """On a Ray cluster, for slow remote systems and runs that outgrow a machine."""


class Help(NamedTuple):
    """How users meet a setting."""

    text: str
    default: str | None = None
    """The default in words, where its value does not say it."""
    alias: str | None = None
    """Its name in options and profiles, if it differs from the field's."""
    metavar: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    is_run_key: bool = True
    """Whether profiles set it in their `run` section."""


RUNS = Path("recall-runs")
"""The parent of the run folders of runs without `into`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set for a run. None means that a default rule decides."""

    adapter: Annotated[
        str,
        Help(
            "The system: none, random, placebo, recency, bm25, vector, hybrid, full-context, "
            "gold-passages, oracle, another that `recall-bench list --systems` names, "
            "file.py[:factory], module:factory, grpc://, http://, "
            "command:PROGRAM, once:PROGRAM, agent:PROGRAM, openai:URL, a2a:URL or system.yaml; "
            "loop: before a memory adds the loop agent",
            is_run_key=False,
        ),
    ] = "hybrid"
    factory: Annotated[
        str | None,
        Help("The function of the adapter's file that makes the system", is_run_key=False),
    ] = None
    config: Annotated[
        dict[str, object],
        Help(
            "A setting of the system; the value is read as YAML. Can be repeated",
            metavar="KEY=VALUE",
            is_run_key=False,
        ),
    ] = field(default_factory=dict)
    agent_model: Annotated[
        str | None,
        Help(
            "Model of the loop agent (--adapter loop:MEMORY): provider:model, file.py, folder:DIR",
            "none",
            metavar="MODEL",
            is_run_key=False,
        ),
    ] = None
    max_steps: Annotated[
        int,
        Help("Requests that the loop agent may make for one day or question", minimum=2),
    ] = 12
    agent_tokens: Annotated[
        int | None,
        Help(
            "Tokens after which the loop agent has to finish a day or question",
            "no limit",
            metavar="TOKENS",
            minimum=1,
        ),
    ] = None
    in_process: Annotated[
        bool,
        Help("Run a Python adapter in this process, not isolated, for debugging"),
    ] = False
    allow_network: Annotated[bool, Help("Let an isolated adapter use the network")] = False
    sandbox: Annotated[
        bool,
        Help("Confine a command:, once: or agent: program as a Python adapter is, on Linux"),
    ] = False
    allow_read: Annotated[
        tuple[str, ...],
        Help("File or folder that an isolated adapter may read. Can be repeated", metavar="PATH"),
    ] = ()
    env: Annotated[
        tuple[str, ...],
        Help(
            "Environment variable to pass to the adapter's own process. Can be repeated",
            metavar="NAME",
        ),
    ] = ()
    data: Annotated[Path | None, Help("Folder with the personas", "those of the package")] = None
    personas: Annotated[
        tuple[str, ...],
        Help("Personas to run", "all of --data; without it executive-assistant er-physician"),
    ] = ()
    edition: Annotated[
        int | None,
        Help("The edition of a shipped story: 1, 2 or 4", "the newest", is_run_key=False),
    ] = None
    arcs: Annotated[
        str | None,
        Help(
            "The story, by its arcs file",
            "arcs-180d.yaml of the package; arcs-1000d.yaml, or the only one, of --data",
            is_run_key=False,
        ),
    ] = None
    world_seed: Annotated[
        str | None,
        Help(
            "Draw shipped stories afresh: `fresh` for a random seed, a number, or a challenge file",
            "the stories as released",
            metavar="SEED",
        ),
    ] = None
    ranges: Annotated[
        tuple[str, ...],
        Help(
            "Checkpoints",
            "30d 90d 6mo 1y 18mo 2y within the story, and full; for harbour-office every:5",
        ),
    ] = ()
    reader: Annotated[
        str | None,
        Help(
            "The reader, which writes the answer from returned passages: extractive, "
            "provider:model or file.py",
            "extractive, for systems that do not answer themselves",
            is_run_key=False,
        ),
    ] = None
    top_k: Annotated[int, Help("Passages of a reply that are used", minimum=1)] = 10
    max_context_tokens: Annotated[
        int | None,
        Help("Token limit for the passages that are used", "no limit", metavar="TOKENS", minimum=1),
    ] = None
    endpoint: Annotated[
        bool, Help("Start a model endpoint for the system and count its tokens", "if needed")
    ] = False
    system_model: Annotated[
        str | None,
        Help(
            "Model behind the system's endpoint for chats, as provider:model",
            "none",
            metavar="MODEL",
            is_run_key=False,
        ),
    ] = None
    system_embedder: Annotated[
        str | None,
        Help(
            "Model behind the system's endpoint for embeddings: provider:model, "
            "sentence-transformers:MODEL, fastembed:MODEL or onnx:FOLDER",
            "the embedded word vectors",
            metavar="MODEL",
            is_run_key=False,
        ),
    ] = None
    system_reranker: Annotated[
        str | None,
        Help(
            "Model behind the system's endpoint that ranks passages, named in the same way",
            "none",
            metavar="MODEL",
            is_run_key=False,
        ),
    ] = None
    embedding_cache: Annotated[
        bool,
        Help(
            "Cache the endpoint's vectors across processes and runs; latencies are "
            "then those of a warm cache"
        ),
    ] = False
    grpc_ca: Annotated[
        Path | None, Help("Certificates to trust for grpcs://", "those of the operating system")
    ] = None
    judge: Annotated[
        str,
        Help(
            "The judge: offline, encoder, stub, provider:model, claude, codex, copilot, "
            "file.py[:name] or module:name",
            is_run_key=False,
        ),
    ] = "offline"
    judges: Annotated[
        tuple[str, ...],
        Help(
            "Several judges, separated by commas. The first gives the score, the others the "
            "range. Add @strict or @lenient to a name for a stricter or more lenient reading of "
            "the rules",
            "--judge alone",
            metavar="A,B,…",
            is_run_key=False,
        ),
    ] = ()
    appellate_judge: Annotated[
        str | None,
        Help("Second judge that reviews verdicts of the first", "none", is_run_key=False),
    ] = None
    judge_base_url: Annotated[
        str | None,
        Help(
            "OpenAI-compatible server of the judge's model",
            "the provider's",
            metavar="URL",
            is_run_key=False,
        ),
    ] = None
    appellate_base_url: Annotated[
        str | None,
        Help(
            "OpenAI-compatible server of the second judge's model",
            "the provider's",
            metavar="URL",
            is_run_key=False,
        ),
    ] = None
    judge_memory_window: Annotated[
        int,
        Help("Days before and after the evidence that the judge is shown", "0: none", minimum=0),
    ] = 0
    judge_shows: Annotated[
        JudgeShows,
        Help(
            "What the judge sees of the days of --judge-memory-window: relevant passages, or "
            "full days"
        ),
    ] = JudgeShows.PASSAGES
    judge_budget_tokens: Annotated[
        int,
        Help(
            "Token limit for the passages that the judge is shown",
            alias="judge_budget",
            metavar="TOKENS",
            minimum=1,
        ),
    ] = 1500
    judge_cache: Annotated[
        bool, Help("Cache the verdicts of models, so that none is paid twice")
    ] = True
    review: Annotated[ReviewMode, Help("Review failures and as many passes, or failures alone")] = (
        ReviewMode.BALANCED
    )
    max_cost_usd: Annotated[
        float | None,
        Help(
            "Stop when judge, reader and loop agent have cost this much; run again with a "
            "higher limit to continue",
            "no limit",
            alias="max_cost",
            metavar="USD",
            minimum=0,
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        Help(
            "Stop when judge, reader and loop agent have used this many tokens; run again "
            "with a higher limit to continue",
            "no limit",
            metavar="TOKENS",
            minimum=0,
        ),
    ] = None
    max_calls: Annotated[
        int | None,
        Help(
            "Concurrent calls to the system, and to any one provider, of all workers together",
            "no limit",
            minimum=1,
        ),
    ] = None
    sample: Annotated[
        int | None,
        Help(
            "At most this many questions of earlier checkpoints at each checkpoint",
            "all",
            minimum=0,
        ),
    ] = None
    sampling: Annotated[
        SampleMode,
        Help("Keep half of --sample the same at every checkpoint, or draw all of it each time"),
    ] = SampleMode.CORE
    groups_enabled: Annotated[bool, Help("Ask the two group categories too")] = False
    seed: Annotated[int, Help("Seed for the order and the sample of the questions")] = 42
    repeats: Annotated[int, Help("How often each question is asked", minimum=1, maximum=1000)] = 1
    lifecycle: Annotated[
        Lifecycle | None,
        Help("How a memory reaches a checkpoint", "forked if the system has snapshots, else fresh"),
    ] = None
    copies: Annotated[
        int,
        Help(
            "Copies of a forked memory that share the questions of a checkpoint",
            minimum=1,
            maximum=1000,
        ),
    ] = 1
    calendar: Annotated[Calendar, Help("Where the date of a day comes from")] = Calendar.METADATA
    ingest: Annotated[Ingest, Help("The form in which the system is fed the days")] = Ingest.DAYS
    allow_gaps: Annotated[bool, Help("Accept stories with missing days")] = False
    error_budget: Annotated[
        float,
        Help("Scores are invalid if more than this share of trials fails", minimum=0, maximum=1),
    ] = 0.05
    parallelism: Annotated[
        int, Help("Concurrent questions, and concurrent verdicts", minimum=1)
    ] = 1
    executor: Annotated[
        Executor, Help("Run in this process, in several processes, or on a Ray cluster")
    ] = Executor.LOCAL
    workers: Annotated[int | None, Help("Number of workers", "one per processor", minimum=1)] = None
    worker_cpus: Annotated[
        float | None,
        Help(
            "Processors that each worker on the cluster reserves",
            "1, or less if there are many workers",
            metavar="CPUS",
            minimum=0,
        ),
    ] = None
    worker_env: Annotated[
        tuple[str, ...],
        Help(
            "Environment variable to pass to workers on the cluster. Can be repeated",
            metavar="NAME",
        ),
    ] = ()
    ray_address: Annotated[
        str | None,
        Help(
            "Cluster of --executor ray, as HOST:PORT or auto",
            "one started for the run",
            metavar="ADDRESS",
        ),
    ] = None
    shard: Annotated[
        str | None,
        Help(
            "Run only this part of the plan, such as 2/8; `merge` joins all parts",
            "the whole plan",
            metavar="I/N",
            is_run_key=False,
        ),
    ] = None
    timeout_ms: Annotated[
        int, Help("Time limit for an answer, in milliseconds", alias="timeout", minimum=1)
    ] = 30_000
    grpc_timeout_ms: Annotated[
        int, Help("Time limit for a gRPC call, in milliseconds", alias="grpc_timeout", minimum=1)
    ] = 120_000
    ingest_timeout_ms: Annotated[
        int,
        Help(
            "Time limit for ingesting a day and for settling, in milliseconds",
            alias="ingest_timeout",
            minimum=1,
        ),
    ] = 1_800_000
    judge_timeout_ms: Annotated[
        int,
        Help(
            "Time limit for a verdict, and for an answer of --reader, in milliseconds",
            alias="judge_timeout",
            minimum=1,
        ),
    ] = 120_000
    dry_run: Annotated[bool, Help("Stop after the first checkpoint of each persona")] = False
    skip_preflight: Annotated[bool, Help("Do not check the output paths first")] = False
    skip_catchup_ingest: Annotated[
        bool,
        Help(
            "Do not feed again the days that the system reports to hold (needs --lifecycle growing)"
        ),
    ] = False
    retry_errors: Annotated[bool, Help("Repeat failed questions and reviews")] = False
    into: Annotated[
        Path | None,
        Help(
            "Run folder; an existing run continues",
            "a folder in recall-runs/, named after the plan",
        ),
    ] = None
    resume: Annotated[
        Path | None, Help("Continue the run in this folder, given the same flags")
    ] = None
    json_out: Annotated[
        Path | None,
        Help("Path of result.json; without --into the run folder is beside it", "the run folder"),
    ] = None
    question_log: Annotated[Path | None, Help("Path of questions.jsonl", "the run folder")] = None
    write_question_log: Annotated[bool, Help("Write questions.jsonl", is_run_key=False)] = True
    progress_jsonl: Annotated[Path | None, Help("Path of progress.jsonl", "the run folder")] = None
    failure_log: Annotated[Path | None, Help("Path of failures.jsonl", "the run folder")] = None
    heatmap_png: Annotated[bool, Help("Draw the heatmap")] = True

    def __post_init__(self) -> None:
        self.learn_secrets()
        for about in describe_settings().values():
            value = getattr(self, about.name)
            least, most = about.help.minimum, about.help.maximum
            if isinstance(value, float) and not isfinite(value):
                raise UsageError(f"{about.flag}: expected a finite number, got {value}")
            if value is not None and least is not None and value < least:
                raise UsageError(f"{about.flag}: {value} is too small; use at least {least}")
            if value is not None and most is not None and value > most:
                raise UsageError(f"{about.flag}: {value} is too large; use at most {most}")
        if self.judges and self.judges[0] != self.judge:
            raise UsageError(
                f"--judge {self.judge} and --judges {self.judges[0]},… disagree: the first of "
                f"--judges gives the score. Leave out --judge, or put {self.judge} first"
            )

    @property
    def answer_timeout_s(self) -> float:
        """The time limit for an answer, in seconds as everywhere behind the settings."""
        return self.timeout_ms / 1000

    @property
    def feed_timeout_s(self) -> float:
        """The time limit for ingesting a day and for settling."""
        return self.ingest_timeout_ms / 1000

    @property
    def judge_timeout_s(self) -> float:
        """The time limit for a verdict, and for an answer that a reader writes."""
        return self.judge_timeout_ms / 1000

    @property
    def grpc_timeout_s(self) -> float:
        """The time limit for a gRPC call."""
        return self.grpc_timeout_ms / 1000

    @property
    def has_endpoint_models(self) -> bool:
        """Whether a model is chosen for the system's endpoint."""
        return bool(self.system_model or self.system_embedder or self.system_reranker)

    def learn_secrets(self) -> None:
        """Keep the secrets of these settings out of everything that this process writes."""
        values = (getattr(self, setting.name) for setting in fields(self))
        learn_secrets(*(value for value in values if isinstance(value, str | dict)))

    @property
    def unused_worker_settings(self) -> tuple[str, ...]:
        """Settings of workers that the chosen executor does not have."""
        worker_settings = ("workers", "worker_cpus", "worker_env", "ray_address")
        names = {Executor.PROCESSES: ("workers",), Executor.RAY: worker_settings}
        return tuple(
            name
            for name in worker_settings
            if getattr(self, name) and name not in names.get(self.executor, ())
        )

    @property
    def concurrency(self) -> int:
        """Concurrent questions, and verdicts, in a process that has the run to itself."""
        return min(self.parallelism, self.max_calls or self.parallelism)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingInfo:
    """One field of `Settings` with its type and its help."""

    name: str
    kind: type
    """str, int, float, bool, Path, tuple, dict or a StrEnum."""
    help: Help
    alias: str
    """Its name in options (`judge-budget`) and profiles (`judgeBudget`), without a unit."""
    default: str
    """The default in words; empty if there is nothing to say."""
    is_optional: bool
    """Whether it may be None, so that a default rule decides."""

    @property
    def flag(self) -> str:
        """Its name as users type it, without the leading hyphens."""
        return self.alias.replace("_", "-")


@cache
def describe_settings() -> dict[str, SettingInfo]:
    """Every setting by its name, in the order of `Settings`."""
    settings = {}
    for setting in fields(Settings):
        annotation, about = get_args(setting.type)
        kind = _find_kind(annotation)
        default = _format_default(setting.default, kind) if about.default is None else about.default
        alias = about.alias or setting.name
        settings[setting.name] = SettingInfo(
            name=setting.name,
            kind=kind,
            help=about,
            alias=alias,
            default=default,
            is_optional=setting.default is None,
        )
    return settings


def _find_kind(annotation: Any) -> type:  # noqa: ANN401 - a type expression
    """The type without `| None`, and `tuple` for `tuple[str, ...]`."""
    if isinstance(annotation, UnionType):
        annotation = next(arg for arg in get_args(annotation) if arg is not NoneType)
    kind: type = get_origin(annotation) or annotation
    return kind


def _format_default(default: object, kind: type) -> str:
    if kind is bool:
        return "yes" if default else "no"
    return str(default) if isinstance(default, str | int | float) else ""


def apply_overrides(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """The settings with the given ones replaced; texts become paths, choices and lists.

    None leaves a setting that cannot be None. `into` and `resume` both name the run folder, so
    either one replaces both; so do `judge` and `judges`. UsageError names a setting that is unknown
    or of another type.
    """
    if "into" in given or "resume" in given:
        settings = replace(settings, into=None, resume=None)
    given = _combine_judges(given)
    settings_known = describe_settings()
    converted = {}
    for name, value in given.items():
        if name not in settings_known:
            from recall_bench.core.plain_text import suggest

            hint = suggest(name, settings_known, "recall_bench.Settings lists them")
            raise UsageError(f"there is no setting {name!r}; {hint}")
        if value is not None or settings_known[name].is_optional:
            converted[name] = _convert(settings_known[name], value)
    if personas := converted.get("personas"):
        converted["personas"] = tuple(name for word in personas for name in word.split(","))
    return replace(settings, **converted)


def _combine_judges(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The given settings, where the first of `judges` is the judge."""
    if not given.get("judges"):
        return {**given, "judges": ()} if given.get("judge") is not None else given
    words = given["judges"]
    listed = (words,) if isinstance(words, str) else words
    names = [name.strip() for word in listed for name in str(word).split(",") if name.strip()]
    if len(names) < 2:
        raise UsageError("--judges: name two or more, separated by commas; for one use --judge")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"--judges: {twice} is named twice; name each judge once")
    return {"judge": names[0], **given, "judges": tuple(names)}


_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    dict: "a mapping",
    Path: "a path",
    tuple: "a list of texts",
}
_ACCEPTED: dict[type, tuple[type, ...]] = {float: (int, float), dict: (Mapping,)}
"""The types that are accepted for a setting, where they are others than its own."""


def _convert(about: SettingInfo, value: Any) -> Any:  # noqa: ANN401 - of any setting
    if value is None:
        return None
    if issubclass(about.kind, StrEnum):
        try:
            return about.kind(value)
        except ValueError as error:
            choices = ", ".join(about.kind)
            raise UsageError(
                f"{about.flag}: {value!r} is not valid; choose one of {choices}"
            ) from error
    if about.kind is tuple:
        value = (value,) if isinstance(value, str) else value
        if isinstance(value, Collection) and all(isinstance(word, str | int) for word in value):
            return tuple(map(str, value))
    elif about.kind is Path:
        if isinstance(value, str | PathLike) and str(value):
            return Path(value)
    elif isinstance(value, _ACCEPTED.get(about.kind, (about.kind,))) and (
        about.kind is bool or not isinstance(value, bool)
    ):
        return value
    raise UsageError(f"{about.name}: expected {_WORDS[about.kind]}, got {value!r}")
