"""Options that several commands share: absent unless given, so that a profile can supply them."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recall_bench.core.plan import ReviewMode
from recall_bench.errors import UsageError
from recall_bench.settings import JudgeShows

if TYPE_CHECKING:
    from recall_bench.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
NUMBER = click.IntRange(min=0)


def option(*names: str, **settings: Any) -> Callable[[F], F]:  # noqa: ANN401 - click's own
    """An option that is None unless given."""
    if isinstance(settings.get("type"), click.IntRange):
        settings.setdefault("metavar", "MS" if names[0].endswith("timeout") else "N")
    return click.option(*names, default=None, **settings)


def make_choice(kind: type[StrEnum]) -> click.Choice[str]:
    """One of the kind's words."""
    return click.Choice([str(word) for word in kind])


def select_given(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags that were given."""
    return {name: value for name, value in flags.items() if value is not None and value != ()}


CONFIG = click.option(
    "--config",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the system; the value is read as YAML. Can be repeated.",
)


def parse_config(words: tuple[str, ...]) -> dict[str, object]:
    """The settings that `--config KEY=VALUE` spells, several times over."""
    from recall_bench.yaml12 import Document

    found: dict[str, object] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"--config: {word!r} sets nothing; write KEY=VALUE")
        found[key] = Document(f"--config {key}", value).content
    return found


CALL_TIMEOUT = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    metavar="SECONDS",
    help="What each call of the system may take [120].",
)


def read_flags(profile: Path | None, flags: dict[str, Any]) -> "Settings":
    """The profile's settings with the flags that were given over them.

    `--config` goes over the profile's `config` key by key.
    """
    from recall_bench.library import read_settings

    settings = read_settings(
        profile, select_given({name: value for name, value in flags.items() if name != "config"})
    )
    return replace(settings, config={**settings.config, **parse_config(flags["config"])})


def judge_options(command: F) -> F:
    """Who judges, by what, and for how much."""
    for add in reversed(_JUDGE_OPTIONS):
        command = add(command)
    return command


JUDGE_CALL_OPTIONS = (
    option(
        "--judge-shows",
        type=make_choice(JudgeShows),
        help="Of these days only what bears on the answer, or all [passages].",
    ),
    option(
        "--judge-budget",
        "judge_budget_tokens",
        type=COUNT,
        metavar="TOKENS",
        help="The most that these passages may take [1500].",
    ),
    option(
        "--judge-base-url",
        metavar="URL",
        help="Ask the judge's model here, at an OpenAI-compatible server.",
    ),
    option(
        "--judge-cache/--no-judge-cache",
        help="Keep the verdicts that models were paid for, and pay for none twice [yes].",
    ),
    option(
        "--max-cost",
        "max_cost_usd",
        type=click.FloatRange(min=0),
        metavar="USD",
        help="Stop when judging and reading have cost so much; more continues [no limit].",
    ),
    option(
        "--judge-timeout",
        "judge_timeout_ms",
        type=COUNT,
        help="Milliseconds for a verdict [120000].",
    ),
)
"""How a judge's model is asked, and for how much."""

_JUDGE_OPTIONS = (
    option(
        "--judge",
        help="offline, stub, provider:model, claude, codex, copilot, file.py[:name] or "
        "module:name [offline].",
    ),
    option("--appellate-judge", help="Second judge, named likewise, that reviews the first."),
    option(
        "--review",
        type=make_choice(ReviewMode),
        help="Review failures and as many passes, or failures alone [balanced].",
    ),
    option(
        "--judge-memory-window",
        type=NUMBER,
        help="Show the judge so many days either side of the evidence [0: none].",
    ),
    option("--appellate-base-url", metavar="URL", help="Ask the second judge's model here."),
    *JUDGE_CALL_OPTIONS,
    option(
        "--max-tokens",
        type=NUMBER,
        metavar="TOKENS",
        help="Stop when judging and reading have taken so many tokens; more continues [no limit].",
    ),
)
