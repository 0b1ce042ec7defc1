"""Options that several commands share, and the options that set a field of `Settings`.

An option that is not given has no value, so that a profile can supply one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import click

from recall_bench.core.errors import UsageError
from recall_bench.core.settings import SettingInfo, Settings, describe_settings

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
NUMBER = click.IntRange(min=0)

SYSTEM = (
    *("adapter", "config", "endpoint", "system_model", "system_embedder", "embedding_cache"),
    *("timeout_ms", "grpc_timeout_ms", "grpc_ca", "ingest_timeout_ms"),
)
"""Settings of the system and of the connection to it."""
QUESTIONS = (
    *("reader", "top_k", "max_context_tokens", "seed", "repeats", "lifecycle", "parallelism"),
    *("max_calls", "shard", "error_budget"),
)
"""Settings of how questions are asked and answered."""
STORY = (
    *("personas", "ranges", "arcs", "edition", "sample", "groups_enabled", "calendar", "ingest"),
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
    *("judge", "appellate_judge", "review", "judge_memory_window", "appellate_base_url"),
    *JUDGE_CALLS,
    "max_tokens",
)
"""Settings of the judges."""
FOLDER = ("skip_preflight", "into", "resume", "skip_catchup_ingest", "retry_errors")
"""Settings of the run folder and of how a run continues."""


def option(*names: str, **settings: Any) -> Callable[[CommandT], CommandT]:  # noqa: ANN401 - click's own
    """An option that is None unless given."""
    if isinstance(settings.get("type"), click.IntRange):
        settings.setdefault("metavar", "MS" if names[0].endswith("timeout") else "N")
    return click.option(*names, default=None, **settings)


def combine_options(*options: Callable[[Any], Any]) -> Callable[[CommandT], CommandT]:
    """One decorator that adds all of them, in this order."""

    def add(command: CommandT) -> CommandT:
        for each in reversed(options):
            command = each(command)
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
    if about.help.metavar is not None:
        details["metavar"] = about.help.metavar
    if about.kind is bool:
        return option(f"--{about.flag}/--no-{about.flag}", about.name, **details)
    if about.kind in (tuple, dict):
        return click.option(f"--{about.flag}", about.name, multiple=True, **details)
    return option(f"--{about.flag}", about.name, type=_find_click_type(about), **details)


def _format_help(about: SettingInfo, text: str | None) -> str:
    if text is not None and text.endswith("]"):
        return f"{text}."
    default = f" [{about.default}]" if about.default else ""
    return f"{text or about.help.text}{default}."


def _find_click_type(about: SettingInfo) -> Any:  # noqa: ANN401 - click's own
    least, most = about.help.minimum, about.help.maximum
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


DATA = setting_options("data")
CONFIG = setting_options("config")
PROFILE = option("--profile", type=PATH, help="YAML profile; flags win over it.")
NO_HEATMAP = click.option("--no-heatmap-png", is_flag=True, help="Do not draw the heatmap.")
CALL_TIMEOUT = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    metavar="SECONDS",
    help="Time limit for each call of the system [120].",
)
FILES = combine_options(
    setting_options("json_out", "question_log"),
    click.option("--no-question-log", is_flag=True, help="Do not write questions.jsonl."),
    setting_options("progress_jsonl", "failure_log"),
)
"""Options for the files that a run writes; see `resolve_file_settings`."""


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

    found: dict[str, object] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"--config: {word!r} sets nothing; write KEY=VALUE")
        found[key] = Document(f"--config {key}", value).content
    return found


def read_flags(profile: Path | None, flags: dict[str, Any]) -> Settings:
    """The profile's settings, overridden by the flags that were given.

    `--config` overrides the profile's `config` key by key.
    """
    from recall_bench.library import read_settings

    words = flags.pop("config")
    settings = read_settings(profile, select_given(flags))
    return replace(settings, config={**settings.config, **parse_config(words)})


class MultiValueCommand(click.Command):
    """A command without arguments whose repeatable options take any number of values.

    `--ranges 30d 60d 90d`: all words up to the next option are values. Click itself would take one
    and refuse the rest.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrite `--option a b` as `--option a --option b`."""
        names = {
            name
            for option in self.params
            if isinstance(option, click.Option) and option.multiple
            for name in option.opts
        }
        return super().parse_args(ctx, _spread_values(args, names))


def _spread_values(args: Sequence[str], names: set[str]) -> list[str]:
    spread: list[str] = []
    listing: str | None = None
    is_empty = False
    for word in args:
        name, equals, _ = word.partition("=")
        if not word.startswith("-"):
            spread += [listing, word] if listing is not None else [word]
            is_empty = False
            continue
        _refuse_empty(listing if is_empty else None)
        listing = name if name in names else None
        is_empty = listing is not None and not equals
        if not is_empty:
            spread.append(word)
    _refuse_empty(listing if is_empty else None)
    return spread


def _refuse_empty(listing: str | None) -> None:
    """An option without a value would take the next option as its value."""
    if listing is not None:
        raise click.UsageError(f"Option {listing!r} requires an argument.")
