"""Options that the passes of generation share, and what they say in the end."""

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recall_bench.cli.answer import format_json
from recall_bench.cli.options import COUNT, PATH, option, select_given

if TYPE_CHECKING:
    from recall_bench.generate.outcome import PassResult
    from recall_bench.generate.request import PassRequest

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
    from recall_bench.errors import UsageError
    from recall_bench.generate.profiled import read_generation_profile

    profile = flags.pop("profile")
    said = select_given(flags)
    found = read_generation_profile(profile, model) if profile else {}
    if said.keys() & _WHICH_DAYS:
        # Which days is one decision: what the profile says about it is not mixed in.
        found = {name: value for name, value in found.items() if name not in _WHICH_DAYS}
    found = {name: value for name, value in found.items() if name in flags} | said
    if "persona" not in found:
        raise UsageError("--persona is missing; name the persona's folder")
    return {**found, "again": repeat_command()}


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
