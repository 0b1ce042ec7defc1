"""Options that several commands share, and the options that set a field of `Settings`.

An option that is not given has no value, so that a profile can supply one.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import click

from recall_bench.cli.console import AliasOption, Duration
from recall_bench.core.errors import UsageError
from recall_bench.core.plain_text import suggest
from recall_bench.core.settings import SettingInfo, Settings, apply_overrides, describe_settings

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
NUMBER = click.IntRange(min=0)

ISOLATION = ("in_process", "sandbox", "allow_network", "allow_read", "env")
"""Settings of what a system's code can reach."""
TARGET = (
    *("adapter", "config", "endpoint", "system_model", "system_embedder", "system_reranker"),
    "embedding_cache",
)
"""Settings of which system it is, and of the models that it calls."""
SYSTEM = (
    *TARGET,
    *ISOLATION,
    *("timeout_ms", "grpc_timeout_ms", "grpc_ca", "ingest_timeout_ms"),
)
"""Settings of the system and of the connection to it."""
AGENT = ("agent_model", "max_steps", "agent_tokens")
"""Settings of the loop agent, for a memory that is under it."""
QUESTIONS = (
    *(
        "reader",
        "top_k",
        "max_context_tokens",
        "seed",
        "repeats",
        "lifecycle",
        "copies",
        "parallelism",
    ),
    *("max_calls", "shard", "error_budget"),
)
"""Settings of how questions are asked and answered."""
STORY = (
    *(
        "personas",
        "ranges",
        "arcs",
        "edition",
        "world_seed",
        "sample",
        "groups_enabled",
        "calendar",
        "ingest",
    ),
    *("allow_gaps", "dry_run"),
)
"""Settings of what is asked in which stories."""
WORKERS = ("executor", "workers", "ray_address", "worker_cpus", "worker_env")
"""Settings of where a run is executed."""
JUDGE_CALLS = (
    *("judge_shows", "judge_budget_tokens", "judge_base_url", "judge_cache", "max_cost_usd"),
    "judge_timeout_ms",
)
"""Settings of the calls to a judge's model."""
JUDGES = (
    *("judge", "judges", "appellate_judge", "review", "judge_memory_window", "appellate_base_url"),
    *JUDGE_CALLS,
    "max_tokens",
)
"""Settings of the judges."""
SHORT_FLAGS = {
    "adapter": "-a",
    "config": "-c",
    "data": "-d",
    "personas": "-p",
    "ranges": "-r",
    "sample": "-s",
    "judge": "-j",
    "parallelism": "-n",
    "into": "-o",
}
"""The short flags of the settings that are set most."""
OTHER_FLAGS = {"system_embedder": "--embedder", "system_reranker": "--reranker"}
"""A second flag of a setting, as `recall-bench serve endpoint` calls it."""
FOLDER = ("skip_preflight", "into", "resume", "skip_catchup_ingest", "retry_errors")
"""Settings of the run folder and of how a run continues."""


def option(*names: str, **settings: Any) -> Callable[[CommandT], CommandT]:  # noqa: ANN401 - click's own
    """An option that is None unless given."""
    if isinstance(settings.get("type"), click.IntRange):
        settings.setdefault("metavar", "N")
    return click.option(*names, default=None, **settings)


def combine_options(*options: Callable[[Any], Any]) -> Callable[[CommandT], CommandT]:
    """One decorator that adds all of them, in this order."""

    def add(command: CommandT) -> CommandT:
        for decorate in reversed(options):
            command = decorate(command)
        return command

    return add


def setting_options(*names: str, **helps: str) -> Callable[[CommandT], CommandT]:
    """The options of these settings, in this order; `helps` replaces the help of some.

    A replaced help that says no default in brackets gets that of the setting.
    """
    return combine_options(*(_make_setting_option(name, helps.get(name)) for name in names))


def _make_setting_option(name: str, text: str | None) -> Callable[[Any], Any]:
    about = describe_settings()[name]
    details: dict[str, Any] = {"help": _format_help(about, text)}
    if about.name.endswith("timeout_ms"):
        details |= {"metavar": "TIME", "help": _format_time_help(about, text)}
    if about.help.metavar is not None:
        details["metavar"] = about.help.metavar
    if about.kind is bool:
        return option(f"--{about.flag}/--no-{about.flag}", about.name, **details)
    flags = [f"--{about.flag}"]
    if name in SHORT_FLAGS:
        flags.insert(0, SHORT_FLAGS[name])
    if name in OTHER_FLAGS:
        flags.append(OTHER_FLAGS[name])
    if about.kind in (tuple, dict):
        return click.option(*flags, about.name, multiple=True, **details)
    return option(*flags, about.name, type=_find_click_type(about), **details)


def _format_help(about: SettingInfo, text: str | None) -> str:
    if text is not None and text.endswith("]"):
        return f"{text}."
    default = f" [{about.default}]" if about.default else ""
    return f"{text or about.help.text}{default}."


def _format_time_help(about: SettingInfo, text: str | None) -> str:
    """The help of a time limit, which profiles state in milliseconds and users with a unit."""
    text = text or about.help.text.removesuffix(", in milliseconds")
    seconds = int(about.default) // 1000
    default = f"{seconds}s" if seconds % 60 else f"{seconds // 60}m"
    return f"{text}; a bare number is milliseconds [{default}]."


def _find_click_type(about: SettingInfo) -> Any:  # noqa: ANN401 - click's own
    least, most = about.help.minimum, about.help.maximum
    if about.name.endswith("timeout_ms"):
        return Duration("ms")
    if about.kind is Path:
        return PATH
    if issubclass(about.kind, StrEnum):
        return make_choice(about.kind)
    if about.kind in (int, float) and (least is not None or most is not None):
        kind = click.IntRange if about.kind is int else click.FloatRange
        return kind(min=least, max=most)
    return about.kind


def make_choice(kind: type[StrEnum]) -> click.Choice[str]:
    """One of the values of an enumeration."""
    return click.Choice([str(word) for word in kind])


def add_json_option(text: str) -> Callable[[CommandT], CommandT]:
    """The option `--json`, which the command receives as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def add_output_option(text: str, **details: Any) -> Callable[[CommandT], CommandT]:  # noqa: ANN401 - click's own
    """The option `--into`, which the command receives as `out`."""
    names = ("-o", "--into", "out")
    return click.option(*names, cls=AliasOption, aliases=["--out"], type=PATH, help=text, **details)


DATA = setting_options("data")
CONFIG = setting_options("config")
CODE = setting_options("config", *ISOLATION)
"""Options of a system whose name is an argument of the command; see `build_system_settings`."""
FOUND_PROFILE = Path("recall-bench.yaml")
PROFILE = option(
    "-f",
    "--profile",
    type=PATH,
    help=f"YAML profile; flags win over it [{FOUND_PROFILE}, if it is here].",
)
NO_HEATMAP = click.option("--no-heatmap-png", is_flag=True, help="Do not draw the heatmap.")
CALL_TIMEOUT = click.option(
    "--timeout",
    "timeout_s",
    type=Duration("s"),
    default=120.0,
    metavar="TIME",
    help="Time limit for each call of the system, such as 30s; a bare number is seconds [2m].",
)
SCORE = click.option(
    "--score",
    metavar="FIGURE",
    help="Figure of a run of `eval` to go by, such as 'turn recall@10' [the first it has].",
)
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print no progress, only the result.")
VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Print all tables.")
FILE_NAMES = ("json_out", "question_log", "no_question_log", "progress_jsonl", "failure_log")
FILES = combine_options(
    setting_options("json_out", "question_log"),
    click.option("--no-question-log", is_flag=True, help="Do not write questions.jsonl."),
    setting_options("progress_jsonl", "failure_log"),
)
"""Options for the files that a run writes; see `resolve_file_settings`."""


def _parse_set(_: click.Context, param: click.Parameter, words: tuple[str, ...]) -> dict[str, Any]:
    """The settings in the values of `--set NAME=VALUE`, each of its own type."""
    settings = {about.flag: about for about in describe_settings().values()}
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        about = settings.get(re.sub(r"[A-Z]", lambda m: f"-{m[0].lower()}", name).replace("_", "-"))
        if about is None or not equals:
            near = suggest(name, settings, "`recall-bench help settings` lists them")
            raise UsageError(f"--set: {word!r} sets nothing; write NAME=VALUE; {near}")
        kind = click.BOOL if about.kind is bool else _find_click_type(about)
        if about.kind is dict:
            raise UsageError(f"--set: write --{about.flag} KEY=VALUE instead")
        if about.kind is tuple:
            values[about.name] = (*values.get(about.name, ()), text)
        else:
            values[about.name] = click.types.convert_type(kind)(text, param, None)
    return values


SET = click.option(
    "--set",
    "more",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_parse_set,
    help="Any other setting, as profiles name it. Can be repeated.",
)


def resolve_file_settings(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags with `--question-log` and `--no-question-log` made one setting."""
    is_refused = flags.pop("no_question_log")
    if flags["question_log"] is not None:
        flags["write_question_log"] = True
    if is_refused:
        flags["write_question_log"] = False
    return flags


def select_given(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags that were given."""
    return {name: value for name, value in flags.items() if value is not None and value != ()}


def parse_config(words: tuple[str, ...]) -> dict[str, object]:
    """The settings in the values of `--config KEY=VALUE`."""
    from recall_bench.core.yaml12 import Document

    settings: dict[str, object] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            problem = "has no key before '='" if equals else "has no '='"
            raise UsageError(f"--config: {word!r} {problem}; write KEY=VALUE")
        settings[key] = Document(f"--config {key}", value).content
    return settings


def build_system_settings(adapter: str, flags: dict[str, Any]) -> Settings:
    """The settings of a system, from its name and the options of `CODE`."""
    words = flags.pop("config")
    return Settings(adapter=adapter, config=parse_config(words), **select_given(flags))


def read_flags(profile: Path | None, flags: dict[str, Any]) -> Settings:
    """The profile's settings, overridden by the flags that were given.

    Without a profile, the one of the current folder is used, and the output says so.
    `--config` overrides the profile's `config` key by key.
    """
    if profile is None and FOUND_PROFILE.is_file():
        profile = FOUND_PROFILE
        click.echo(f"note: settings from {FOUND_PROFILE} in this folder", err=True)
    words = flags.pop("config")
    more = flags.pop("more", {})
    values = {**select_given(flags), **more}
    if profile is None:
        settings = apply_overrides(Settings(), values)
    else:
        from recall_bench.core.profile import read_settings

        settings = read_settings(profile, values)
    return replace(settings, config={**settings.config, **parse_config(words)})
