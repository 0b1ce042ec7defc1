"""Options that several commands share: absent unless given, so that a profile can supply them."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recall_bench.core.errors import UsageError
from recall_bench.core.plan import ReviewMode
from recall_bench.core.settings import JudgeShows

if TYPE_CHECKING:
    from recall_bench.core.settings import Settings
from collections.abc import Sequence

from recall_bench.core.plan import Lifecycle
from recall_bench.core.settings import Executor

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
    from recall_bench.core.yaml12 import Document

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


AnyCommand = TypeVar("AnyCommand", bound=Callable[..., Any])


def combine_options(
    options: tuple[Callable[[Any], Any], ...],
) -> Callable[[AnyCommand], AnyCommand]:
    """One decorator that adds all of them, in this order."""

    def add(command: AnyCommand) -> AnyCommand:
        for each in reversed(options):
            command = each(command)
        return command

    return add


MAX_CALLS = option(
    "--max-calls",
    type=COUNT,
    help="Calls at a time to the system, and to any one provider, of all workers together "
    "[no limit].",
)
"""Of a run, whoever does its work."""

system_options = combine_options(
    (
        option(
            "--adapter",
            help="Name, file.py[:factory], module:factory, grpc://, http://, command:PROGRAM, "
            "once:PROGRAM or system.yaml [hybrid].",
        ),
        CONFIG,
        option(
            "--endpoint/--no-endpoint",
            help="Start a model endpoint for the system, and count what it spends there "
            "[where needed].",
        ),
        option(
            "--system-model",
            metavar="MODEL",
            help="What the system's model endpoint passes chats on to, as provider:model [none].",
        ),
        option(
            "--system-embedder",
            metavar="MODEL",
            help="What it embeds with, as provider:model [the embedded word vectors].",
        ),
        option(
            "--embedding-cache/--no-embedding-cache",
            help="Keep its vectors for other processes and runs; latencies are then those of a "
            "warm cache [no].",
        ),
        option("--timeout", "timeout_ms", type=COUNT, help="Milliseconds for an answer [30000]."),
        option(
            "--grpc-timeout",
            "grpc_timeout_ms",
            type=COUNT,
            help="Milliseconds for a gRPC call [120000].",
        ),
        option(
            "--grpc-ca", type=PATH, help="Certificates to trust for grpcs:// [the system's own]."
        ),
        option(
            "--ingest-timeout",
            "ingest_timeout_ms",
            type=COUNT,
            help="Milliseconds to take in a day, or to settle [1800000].",
        ),
    )
)
"""Which system is asked, and how it is reached."""

question_options = combine_options(
    (
        option(
            "--reader",
            help="Who answers from what the system finds: extractive or provider:model "
            "[extractive, for systems that do not answer themselves].",
        ),
        option("--top-k", type=COUNT, help="Passages of a reply that are looked at [10]."),
        option(
            "--max-context-tokens",
            type=COUNT,
            metavar="TOKENS",
            help="About how much of them at most [no limit].",
        ),
        option("--seed", type=int, help="Order and sample of the questions [42]."),
        option(
            "--repeats", type=click.IntRange(1, 1000), help="Put every question so many times [1]."
        ),
        option(
            "--lifecycle",
            type=make_choice(Lifecycle),
            help="How a memory reaches a checkpoint [forked if it can be copied, else fresh].",
        ),
        option("--parallelism", type=COUNT, help="Questions, and verdicts, at a time [1]."),
        MAX_CALLS,
        option(
            "--shard",
            metavar="I/N",
            help="Carry out only this part of the plan, such as 2/8; `merge` makes a run of all "
            "parts [the whole].",
        ),
        option(
            "--error-budget",
            type=click.FloatRange(0, 1),
            help="Share of failed trials that makes scores invalid [0.05].",
        ),
    )
)
"""How questions are put and answered."""

resume_options = combine_options(
    (
        option("--skip-preflight/--no-skip-preflight", help="Do not try the output paths first."),
        option(
            "--into",
            type=PATH,
            help="Run folder; the same folder continues [one by plan in recall-runs/].",
        ),
        option(
            "--resume", type=PATH, help="Go on with this run folder, given the run's own flags."
        ),
        option(
            "--skip-catchup-ingest/--no-skip-catchup-ingest", help="Trust what the system attests."
        ),
        option("--retry-errors/--no-retry-errors", help="Put failed questions again."),
    )
)
"""Where a run lives, and how one goes on with it."""

file_options = combine_options(
    (
        option(
            "--json-out",
            type=PATH,
            help="Where result.json goes; without --into the run lives beside it.",
        ),
        option("--question-log", type=PATH, help="Where questions.jsonl goes [the run folder]."),
        click.option("--no-question-log", is_flag=True, help="Write no questions.jsonl."),
        option("--progress-jsonl", type=PATH, help="Where progress.jsonl goes [the run folder]."),
        option("--failure-log", type=PATH, help="Where failures.jsonl goes [the run folder]."),
    )
)
"""Which files a run leaves behind."""


def resolve_file_settings(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags as settings, a log that was named or refused decided."""
    refused = flags.pop("no_question_log")
    if flags["question_log"] is not None:
        flags["write_question_log"] = True
    if refused:
        flags["write_question_log"] = False
    return flags


worker_options = combine_options(
    (
        option(
            "--executor",
            type=make_choice(Executor),
            help="Do the work in this process, in several, or on a Ray cluster [local].",
        ),
        option("--workers", type=COUNT, help="How many do the work [one a processor]."),
        option(
            "--ray-address",
            metavar="ADDRESS",
            help="The cluster of --executor ray, as HOST:PORT or auto [one started for the run].",
        ),
        option(
            "--worker-cpus",
            type=click.FloatRange(min=0),
            metavar="CPUS",
            help="What of a machine a worker on the cluster takes [1, or less if they are many].",
        ),
        option(
            "--worker-env",
            multiple=True,
            metavar="NAME",
            help="A variable that workers on the cluster are given. Can be repeated.",
        ),
    )
)
"""Who does the work. It changes no result."""


class MultiValueCommand(click.Command):
    """A command without arguments, whose repeatable options take any number of words.

    Everything up to the next option belongs to the list: without this, click would take one
    word and refuse the rest, and other harnesses silently keep only the last.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spread `--option a b` into `--option a --option b`."""
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
        name, given, _ = word.partition("=")
        if not word.startswith("-"):
            spread += [listing, word] if listing is not None else [word]
            is_empty = False
            continue
        _refuse_empty(listing if is_empty else None)
        listing = name if name in names else None
        is_empty = listing is not None and not given
        if not is_empty:
            spread.append(word)
    _refuse_empty(listing if is_empty else None)
    return spread


def _refuse_empty(listing: str | None) -> None:
    """An option left without a word would swallow the next option instead."""
    if listing is not None:
        raise click.UsageError(f"Option {listing!r} requires an argument.")
