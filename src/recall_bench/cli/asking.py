"""Options of every command that puts questions to a system: `run` and `eval`."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from recall_bench.cli.options import CONFIG, COUNT, PATH, make_choice, option
from recall_bench.core.plan import Lifecycle

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
