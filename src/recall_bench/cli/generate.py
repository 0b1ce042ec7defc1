"""Options that the passes of generation share, and what they say in the end."""

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recall_bench.cli.console import format_json
from recall_bench.cli.options import COUNT, NUMBER, PATH, option, select_given

if TYPE_CHECKING:
    from recall_bench.generate.pass_request import PassRequest
    from recall_bench.generate.pass_run import PassResult


AnyPass = TypeVar("AnyPass", bound=Callable[..., Any])

MODEL = option(
    "--model",
    help="offline, provider:model, a base URL, file.py[:name], command:PROGRAM, claude, codex or "
    "copilot [offline].",
)
LIMITS = (
    option(
        "--temperature",
        type=click.FloatRange(0, 2),
        metavar="T",
        help="How freely the model writes; claude, codex and copilot decide themselves.",
    ),
    option("--max-tokens", type=COUNT, metavar="N", help="The most that one reply may take."),
    option("--timeout", "timeout_ms", type=COUNT, help="Milliseconds for a call [600000]."),
    option("--parallelism", type=COUNT, help="Calls at a time [8]."),
    option(
        "--max-cost",
        "max_cost_usd",
        type=click.FloatRange(min=0),
        metavar="USD",
        help="Stop before the calls on record cost more; a higher one continues [no limit].",
    ),
)
_ENDS = (
    option("--profile", type=PATH, help="Take what is not given here from this profile."),
    click.option("--json", "as_json", is_flag=True, help="Print what became of it as JSON."),
)
_DAYS = (
    option("--persona", type=PATH, help="The persona's folder."),
    option("--arcs", metavar="FILE", help="Which story, where there are several."),
    MODEL,
    option("--days", type=COUNT, help="The first so many days: short for --start 1 --end N."),
    option("--start", type=COUNT, help="The first day [1]."),
    option("--end", type=COUNT, help="The last day [the story's]."),
    click.option(
        "--overwrite", is_flag=True, help="Write anew what is there; cut short, it goes on."
    ),
)


def _combine_options(*options: Callable[[Any], Any]) -> Callable[[AnyPass], AnyPass]:
    def add(command: AnyPass) -> AnyPass:
        for each in reversed(options):
            command = each(command)
        return command

    return add


pass_options = _combine_options(*_DAYS, *LIMITS, *_ENDS)
"""Of a pass over the days of a story."""

model_options = _combine_options(MODEL, *LIMITS, *_ENDS)
"""Of a command that asks a model and has no days."""


def print_progress(line: str) -> None:
    """Say to whoever watches what was done."""
    click.echo(line, err=True)


def repeat_command() -> str:
    """The command as it was typed, which goes on where it stopped."""
    return shlex.join(["recall-bench", *sys.argv[1:]])


_WHICH_DAYS = ("days", "start", "end")


def collect_request_fields(flags: dict[str, Any], *, model: str) -> dict[str, Any]:
    """The flags that were given over what the profile says; UsageError without a persona.

    `model` is the model of the profile that this command asks: creation, generation or
    conversation. Settings of the profile that the command has no flag for are left out.
    """
    from recall_bench.core.errors import UsageError
    from recall_bench.generate.pass_request import read_generation_profile

    profile = flags.pop("profile")
    said = select_given(flags)
    found = read_generation_profile(profile, model) if profile else {}
    if said.keys() & _WHICH_DAYS:
        # Which days is one decision: what the profile says about it is not mixed in.
        found = {name: value for name, value in found.items() if name not in _WHICH_DAYS}
    found = {name: value for name, value in found.items() if name in flags} | said
    if "persona" not in found:
        raise UsageError("--persona is missing; name the persona's folder")
    return {**found, "resume_command": repeat_command()}


def list_next_commands(request: "PassRequest", *commands: str) -> list[str]:
    """These commands for the same persona, by the same model."""
    words = ["--persona", str(request.persona)]
    words += [] if request.arcs is None else ["--arcs", request.arcs]
    words += [] if request.is_offline else ["--model", request.model]
    return [f"recall-bench {command} {shlex.join(words)}" for command in commands]


def print_pass_result(generated: "PassResult", *, as_json: bool, then: Sequence[str] = ()) -> int:
    """Print what became of the pass and, if all is there, what to type next; its exit code."""
    click.echo(format_json(generated) if as_json else generated.in_words)
    if generated.exit_code == 0 and not as_json:
        for command in then:
            click.echo(f"next: {command}")
    if generated.stopped is not None:
        click.echo(f"error: {generated.stopped.reason}", err=True)
    return generated.exit_code


@click.command("generate")
@pass_options
@option("--history-window", type=NUMBER, help="Earlier entries that an author sees [3].")
@option(
    "--lag",
    type=COUNT,
    help="How many told days back the nearest text lies that a day looks back on [8].",
)
@click.option(
    "--from-ledger",
    is_flag=True,
    help="Write from the world's facts, and verify every day against them.",
)
def generate_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Write the days of a persona's story, session by session (pass 1).

    Each day is on disk the moment it exists; days that are there are skipped, so the same command
    goes on where it was stopped. A day that cannot be written is named and left out. Exits with
    10 if some are missing.
    """
    from recall_bench.generate.days.day_writer import generate_days
    from recall_bench.generate.pass_request import DaysRequest

    request = DaysRequest(**collect_request_fields(flags, model="generation"))
    then = list_next_commands(request, "generate-qa")
    return print_pass_result(generate_days(request, print_progress), as_json=as_json, then=then)


@click.command("generate-conversations")
@pass_options
@option(
    "--format",
    type=click.Choice(["markdown", "json"]),
    help="What the files are [markdown].",
)
def generate_conversations_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Retell every day that is told as a dialogue of four to twelve turns (pass 2).

    Each file is written the moment it exists; the same command goes on where it was stopped.
    `run --ingest conversations` feeds them to a system. Exits with 10 if some are missing.
    """
    from recall_bench.generate.conversations import generate_conversations
    from recall_bench.generate.pass_request import ConversationsRequest

    request = ConversationsRequest(**collect_request_fields(flags, model="conversation"))
    return print_pass_result(generate_conversations(request, print_progress), as_json=as_json)


@click.command("generate-tool-calls")
@pass_options
def generate_tool_calls_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """List what the agent put into its memory on every day that is told (pass 3).

    Each file is written the moment it exists; the same command goes on where it was stopped.
    `run --ingest tool-calls` feeds them to a system. Exits with 10 if some are missing.
    """
    from recall_bench.generate.pass_request import PassRequest
    from recall_bench.generate.tool_calls import generate_tool_calls

    request = PassRequest(**collect_request_fields(flags, model="generation"))
    return print_pass_result(generate_tool_calls(request, print_progress), as_json=as_json)


@click.command("generate-qa")
@pass_options
@option(
    "--mode",
    type=click.Choice(["standard", "boundary"]),
    help="On what happened, or on the secrets of isolated sessions [standard].",
)
@option("--interval", type=COUNT, help="Days between checkpoints [7; boundary 30].")
@option(
    "--pairs-per-checkpoint",
    "per_checkpoint",
    type=COUNT,
    help="Questions for each; boundary: secrets of each session [12; 2].",
)
@option(
    "--query-session",
    metavar="ID",
    help="Where questions are asked from [principal; boundary: who may not know].",
)
def generate_qa_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Write questions on the days that are told, and keep those that hold up.

    Each rests on days up to its checkpoint alone, and is examined against them before it is added
    to questions.yaml; what is there already stays as it is. Rejected ones are in rejected.jsonl
    with the reason. The same command goes on where it was stopped; --overwrite replaces what it
    wrote before and nothing else. Exits with 10 if some windows are missing.
    """
    from recall_bench.generate.pass_request import QuestionsRequest
    from recall_bench.generate.questions.question_pass import generate_questions

    request = QuestionsRequest(**collect_request_fields(flags, model="generation"))
    then = list_next_commands(request, "verify-qa")
    if request.mode == "standard":
        then = list_next_commands(request, "generate-qa --mode boundary", "verify-qa")
    return print_pass_result(
        generate_questions(request, print_progress), as_json=as_json, then=then
    )


@click.command("verify-qa")
@option("--persona", type=PATH, help="The persona's folder.")
@option("--arcs", metavar="FILE", help="Which story, where there are several.")
@option("--questions", type=PATH, help="Any question file on the story [the story's own].")
@option("--out", type=PATH, help="The folder for what is found [the story's qa folder].")
@click.option("--overwrite", is_flag=True, help="Ask the model anew; cut short, it goes on.")
@model_options
def verify_qa_command(
    as_json: bool,
    **flags: Any,  # noqa: ANN401 - one value for each option
) -> int:
    """Hold every question against its days: support, staleness, vagueness, duplicates, boundary.

    Writes verification.jsonl, a line for each question, and, where something can be repaired
    without judgement, the next questions.proposed-N.yaml. The file itself is never changed. With
    a model each question is put to it too, and what it suggests is proposed if the checks agree.
    Exits with 3 if anything is wrong.
    """
    from recall_bench.generate.checks.verify_pass import verify_questions
    from recall_bench.generate.pass_request import VerifyRequest

    request = VerifyRequest(**collect_request_fields(flags, model="generation"))
    verified = verify_questions(request, print_progress)
    click.echo(format_json(verified) if as_json else verified.in_words)
    if verified.stopped is not None:
        click.echo(f"error: {verified.stopped.reason}", err=True)
    return verified.exit_code
