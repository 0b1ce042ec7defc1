"""The command `generate`: the passes that write the days of a story, and its questions."""

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from recall_bench.cli.console import Duration, format_json
from recall_bench.cli.options import (
    COUNT,
    NUMBER,
    PATH,
    PROFILE,
    add_json_option,
    add_output_option,
    combine_options,
    option,
    select_given,
)
from recall_bench.core.errors import ReplyPending

if TYPE_CHECKING:
    from recall_bench.features.personas.pass_request import PassRequest
    from recall_bench.features.personas.pass_run import PassResult, PassStop


MODEL = option(
    "--model",
    help="offline, provider:model, a base URL, file.py[:name], command:PROGRAM, folder:DIR, "
    "claude, codex or copilot [offline].",
)
LIMITS = (
    option(
        "--temperature",
        type=click.FloatRange(0, 2),
        metavar="T",
        help="Temperature of the model; claude, codex and copilot choose their own.",
    ),
    option("--max-tokens", type=COUNT, metavar="N", help="Token limit for one reply."),
    option(
        "--timeout",
        "timeout_ms",
        type=Duration("ms"),
        metavar="TIME",
        help="Time limit for a call; a bare number is milliseconds [10m].",
    ),
    option("--parallelism", type=COUNT, help="Concurrent calls [8]."),
    option(
        "--max-cost",
        "max_cost_usd",
        type=click.FloatRange(min=0),
        metavar="USD",
        help="Stop before all logged calls cost more; run again with a higher limit to continue "
        "[no limit].",
    ),
)
_ENDS = (
    PROFILE,
    add_json_option("Print the result as JSON."),
)
_DAYS = (
    option("--persona", type=PATH, help="The persona's folder."),
    option("--arcs", metavar="FILE", help="The story, if there are several."),
    MODEL,
    option("--days", type=COUNT, help="The first N days: short for --start 1 --end N."),
    option("--start", type=COUNT, help="The first day [1]."),
    option("--end", type=COUNT, help="The last day [the story's]."),
    click.option(
        "--overwrite",
        is_flag=True,
        help="Write existing files again; repeat the command to continue.",
    ),
)


pass_options = combine_options(*_DAYS, *LIMITS, *_ENDS)
"""Options of a pass over the days of a story."""

model_options = combine_options(MODEL, *LIMITS, *_ENDS)
"""Options of a command that asks a model and has no days."""


def print_progress(line: str) -> None:
    """Print a line of progress."""
    click.echo(line, err=True)


def repeat_command() -> str:
    """The command as typed, which continues an interrupted pass."""
    return shlex.join(["recall-bench", *sys.argv[1:]])


_WHICH_DAYS = ("days", "start", "end")


def collect_request_fields(flags: dict[str, Any], *, model: str) -> dict[str, Any]:
    """The profile's fields, overridden by the given flags; UsageError without a persona.

    `model` is the profile's key of the model: creation, generation or conversation. Fields without
    a flag of the command are left out.
    """
    from recall_bench.core.errors import UsageError
    from recall_bench.features.personas.pass_request import read_generation_profile

    profile = flags.pop("profile")
    overrides = select_given(flags)
    fields = read_generation_profile(profile, model) if profile else {}
    if overrides.keys() & _WHICH_DAYS:
        # Flags for days replace all days of the profile.
        fields = {name: value for name, value in fields.items() if name not in _WHICH_DAYS}
    fields = {name: value for name, value in fields.items() if name in flags} | overrides
    if "persona" not in fields:
        raise UsageError("--persona is missing; name the persona's folder")
    return {**fields, "resume_command": repeat_command()}


def list_next_commands(request: "PassRequest", *commands: str) -> list[str]:
    """These commands for the same persona and model."""
    words = ["--persona", str(request.persona)]
    words += [] if request.arcs is None else ["--arcs", request.arcs]
    words += [] if request.is_offline else ["--model", request.model]
    return [f"recall-bench {command} {shlex.join(words)}" for command in commands]


def _print_stop(stopped: "PassStop") -> None:
    # A reply that comes later is no error.
    prefix = "" if stopped.exit_code == ReplyPending.exit_code else "error: "
    click.echo(f"{prefix}{stopped.reason}", err=True)


def print_pass_result(generated: "PassResult", *, as_json: bool, then: Sequence[str] = ()) -> int:
    """Print the result and, if complete, the next commands; the exit code."""
    click.echo(format_json(generated) if as_json else generated.in_words)
    if generated.exit_code == 0 and not as_json:
        for command in then:
            click.echo(f"next: {command}")
    if generated.stopped is not None:
        _print_stop(generated.stopped)
    return generated.exit_code


@click.group("generate")
def generate_command() -> None:
    """Write a persona's days, dialogues, tool calls and questions, and verify the questions.

    Without the name of a pass, `recall-bench generate --persona DIR` writes the days.
    """


@generate_command.command("days")
@pass_options
@option("--history-window", type=NUMBER, help="Earlier entries that the model sees [3].")
@option(
    "--lag",
    type=COUNT,
    help="How many days back the latest text is that the model sees [8].",
)
@click.option(
    "--from-ledger",
    is_flag=True,
    help="Write from the simulator's facts, and verify every day against them.",
)
def generate_days_command(as_json: bool, **flags: Any) -> int:  # noqa: ANN401 - one value for each option
    """Write the days of a persona's story, session by session (pass 1).

    Each day is written as soon as it exists, and existing days are skipped, so the same command
    continues an interrupted one. A day that fails is named and left out. Exits with 10 if days are
    missing.
    """
    from recall_bench.features.personas.days.day_writer import generate_days
    from recall_bench.features.personas.pass_request import DaysRequest

    request = DaysRequest(**collect_request_fields(flags, model="generation"))
    then = list_next_commands(request, "generate questions")
    return print_pass_result(generate_days(request, print_progress), as_json=as_json, then=then)


@generate_command.command("conversations")
@pass_options
@option(
    "--format",
    type=click.Choice(["markdown", "json"]),
    help="Format of the files [markdown].",
)
def generate_conversations_command(as_json: bool, **flags: Any) -> int:  # noqa: ANN401 - one value for each option
    """Write every day as a dialogue of four turns or more (pass 2).

    The same command continues an interrupted one. `run --ingest conversations` feeds the dialogues
    to a system. Exits with 10 if some are missing.
    """
    from recall_bench.features.personas.conversations import generate_conversations
    from recall_bench.features.personas.pass_request import ConversationsRequest

    request = ConversationsRequest(**collect_request_fields(flags, model="conversation"))
    return print_pass_result(generate_conversations(request, print_progress), as_json=as_json)


@generate_command.command("tool-calls")
@pass_options
def generate_tool_calls_command(as_json: bool, **flags: Any) -> int:  # noqa: ANN401 - one value for each option
    """Write what the agent saved to its memory on every day (pass 3).

    The same command continues an interrupted one. `run --ingest tool-calls` feeds the calls to a
    system. Exits with 10 if some are missing.
    """
    from recall_bench.features.personas.pass_request import PassRequest
    from recall_bench.features.personas.tool_calls import generate_tool_calls

    request = PassRequest(**collect_request_fields(flags, model="generation"))
    return print_pass_result(generate_tool_calls(request, print_progress), as_json=as_json)


@generate_command.command("questions")
@pass_options
@option(
    "--mode",
    type=click.Choice(["standard", "boundary"]),
    help="Ask about events, or about the secrets of isolated sessions [standard].",
)
@option("--interval", type=COUNT, help="Days between checkpoints [7; boundary 30].")
@option(
    "--pairs-per-checkpoint",
    "per_checkpoint",
    type=COUNT,
    help="Questions per checkpoint; boundary: secrets per session [12; 2].",
)
@option(
    "--query-session",
    metavar="ID",
    help="The session that asks [principal; boundary: one that must not know].",
)
def generate_qa_command(as_json: bool, **flags: Any) -> int:  # noqa: ANN401 - one value for each option
    """Write questions on the days, and keep the valid ones.

    Each question uses only days up to its checkpoint and is checked against them before it is added
    to questions.yaml; existing questions are not changed. Rejected questions are in rejected.jsonl
    with the reason. The same command continues an interrupted one; --overwrite replaces only what
    it wrote before. Exits with 10 if windows are missing.
    """
    from recall_bench.features.personas.pass_request import QuestionsRequest
    from recall_bench.features.personas.questions.question_pass import generate_questions

    request = QuestionsRequest(**collect_request_fields(flags, model="generation"))
    then = list_next_commands(request, "generate verify")
    if request.mode == "standard":
        then = list_next_commands(request, "generate questions --mode boundary", "generate verify")
    return print_pass_result(
        generate_questions(request, print_progress), as_json=as_json, then=then
    )


@generate_command.command("verify")
@option("--persona", type=PATH, help="The persona's folder.")
@option("--arcs", metavar="FILE", help="The story, if there are several.")
@option("--questions", type=PATH, help="A question file on the story [that of the story].")
@add_output_option("Output folder [the story's qa folder].")
@click.option(
    "--overwrite", is_flag=True, help="Ask the model again; repeat the command to continue."
)
@model_options
def verify_qa_command(as_json: bool, **flags: Any) -> int:  # noqa: ANN401 - one value for each option
    """Check every question against its days: support, staleness, vagueness, duplicates, boundary.

    Writes verification.jsonl with a line per question and, if something can be repaired safely, the
    next questions.proposed-N.yaml. The file itself is never changed. With a model each question is
    reviewed by it too, and its suggestions are proposed if the checks agree. Exits with 3 if there
    are problems.
    """
    from recall_bench.features.personas.checks.verify_pass import verify_questions
    from recall_bench.features.personas.pass_request import VerifyRequest

    request = VerifyRequest(**collect_request_fields(flags, model="generation"))
    verified = verify_questions(request, print_progress)
    click.echo(format_json(verified) if as_json else verified.in_words)
    if verified.stopped is not None:
        _print_stop(verified.stopped)
    return verified.exit_code
