"""The command line: parse arguments, call the library, print. Only `main` exits."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import ENAMETOOLONG
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import click

from recall_bench.cli.console import MAX_WIDTH, HelpContext, paint, prepare_command, show_activity
from recall_bench.core.distribution import DISTRIBUTION, find_conflicting_package
from recall_bench.core.errors import (
    BenchError,
    JournalLost,
    ReplyPending,
    UsageError,
    find_full_disk,
)
from recall_bench.core.feature import Command, find_offer, list_features, load_target, require_part
from recall_bench.core.redacted_output import OutputFull, RedactedStream, redact_output
from recall_bench.core.runtime import mark_as_command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def repeat_while_pending(
    run_once: Callable[[], NoReturn], stdout: RedactedStream, print_error: Callable[[str], None]
) -> int:
    """Run the command; again when batches that it waits for have come. The last exit code.

    The results of all but the last time are not printed.
    """
    while True:
        senders = find_offer("parts", "models.batch_senders")
        if senders is not None:
            senders.begin(stdout.hold)
        is_repeated = False
        try:
            run_once()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            if code == ReplyPending.exit_code:
                code, is_repeated = _deliver(print_error)
        finally:
            stdout.release(is_dropped=is_repeated)
        if not is_repeated:
            return code


def _deliver(print_error: Callable[[str], None]) -> tuple[int, bool]:
    """Wait for the batches; the exit code, and whether the command is to be repeated."""
    deliver_batches = require_part("models.deliver_batches", "a batch")

    try:
        with show_activity() as show:
            has_come = deliver_batches(lambda line: click.echo(line, err=True), show)
    except BenchError as error:
        if isinstance(error, ReplyPending):
            click.echo(str(error), err=True)
        else:
            print_fault(error, print_error)
        return error.exit_code, False
    return ReplyPending.exit_code, has_come


def print_fault(error: BenchError, print_error: Callable[[str], None]) -> None:
    """Print an expected error, line by line, without control characters."""
    from recall_bench.core.plain_text import clean_text

    for line in str(error).splitlines():
        print_error(clean_text(line))


class OutputClosed(Exception):
    """The reader of the output, such as `head`, has enough."""


@contextmanager
def _note_closed_output() -> Iterator[None]:
    """Raise what click does not answer with exit code 1, as it does a broken pipe."""
    try:
        yield
    except BrokenPipeError as error:
        raise OutputClosed from error


class LazyGroup(click.Group):
    """Imports a command's module only when the command is used."""

    context_class = HelpContext

    def make_context(self, *words: Any, **more: Any) -> click.Context:  # noqa: ANN401 - click's own
        """Parse the arguments; `--help` prints here."""
        with _note_closed_output():
            return super().make_context(*words, **more)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own
        """Run the command."""
        with _note_closed_output():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All commands, in the order of use."""
        return list_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now."""
        declared = read_commands().get(cmd_name)
        if declared is None:
            return None
        command: click.Command = load_target(declared.target)
        return prepare_command(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of these arguments; an unknown one is answered with the nearest."""
        args = [*read_old_names().get(args[0], args[:1]), *args[1:]]
        if (nested := " ".join(args[:2])) in read_commands() and len(args) > 1:
            return nested, self.get_command(ctx, nested), args[2:]
        if args[0] == "generate" and args[1:2] not in ([], ["-h"], ["--help"]):
            args[1:1] = ["days"] if args[1].startswith("-") else []
        name = args[0]
        if name not in read_commands() and not name.startswith("-") and not ctx.resilient_parsing:
            from recall_bench.core.plain_text import suggest

            near = suggest(name, list_names(), "`recall-bench help all` lists them")
            ctx.fail(f"no command named {name!r}; {near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands of the first section, or all by section, without importing them."""
        shows_all = ctx.meta.get("recall_bench.all_commands", False)
        width = max(map(len, list_names()))
        for title, group in list(group_commands().items())[: None if shows_all else 1]:
            with formatter.section(title):
                formatter.write_dl([(one.name.ljust(width), one.help) for one in group])
        if not shows_all:
            formatter.write_paragraph()
            formatter.write_text(f"`recall-bench help all` lists all {len(list_names())} commands.")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Names of commands and options that begin so, without importing the commands."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=read_commands()[name].help)
            for name in list_names()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=LazyGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": MAX_WIDTH,
    },
)
@click.version_option(package_name=DISTRIBUTION)
def cli() -> None:
    """Measure what an agent remembers. `recall-bench COMMAND --help` explains one."""


_BY_SIGPIPE = 128 + 13
"""The exit code of a command whose output is closed, as shells report it."""


def main() -> None:
    """Run the command; print expected errors as one line, without a traceback and secrets."""
    mark_as_command()
    with redact_output() as stdout:
        if (foreign := find_conflicting_package()) is not None:
            click.echo(f"warning: {foreign}", err=True)
        sys.exit(repeat_while_pending(_run_command, stdout, _print_error))


def _run_command() -> NoReturn:
    try:
        code = cli(prog_name="recall-bench", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _print_error(error.format_message())
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BenchError as error:
        print_fault(error, _print_error)
        sys.exit(error.exit_code)
    except OutputClosed:
        # What is still in the buffer has no reader, and would be complained about at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_BY_SIGPIPE)
    except OutputFull:
        _print_error("the disk behind standard output is full; free space or redirect it")
        sys.exit(1)
    except (OSError, BaseExceptionGroup) as error:
        if isinstance(error, OSError) and error.errno == ENAMETOOLONG:
            _print_error(f"{str(error.filename)[:60]}…: is too long for the name of a file")
            sys.exit(2)
        if (full := find_full_disk(error)) is None:
            raise
        place = f"{full.filename}: " if full.filename else ""
        _print_error(f"{place}{JournalLost.FULL_DISK}")
        sys.exit(JournalLost.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _print_error(line: str) -> None:
    click.echo(f"{paint('error:', to_stderr=True, fg='red', bold=True)} {line}", err=True)


KERNEL = (
    Command(
        name="run",
        target="recall_bench.cli.run:run_command",
        help="Ingest every persona, ask at every checkpoint, grade the answers.",
        section="Run",
        is_first=True,
    ),
    Command(
        name="plan",
        target="recall_bench.cli.run:plan_command",
        help="Show what a run would do and cost, before anything is spent.",
        section="Run",
        is_first=True,
    ),
    Command(
        name="report",
        target="recall_bench.cli.report:report_command",
        help="Analyse a run; write its page and pictures.",
        section="Understand",
        is_first=True,
    ),
    Command(
        name="list",
        target="recall_bench.cli.catalogue:list_command",
        help="List the personas, the systems, or the names of checkpoints.",
        section="Data",
        is_first=True,
        old_names={"ranges": "list --ranges"},
    ),
    Command(
        name="lint",
        target="recall_bench.cli.lint:lint_command",
        help="Check personas, their days and their questions.",
        section="Data",
    ),
    Command(
        name="init",
        target="recall_bench.cli.init:init_command",
        help="Write a first adapter, settings, gate rules and a workflow.",
        section="Run",
        is_first=True,
    ),
    Command(
        name="report heatmap",
        target="recall_bench.cli.report:heatmap_command",
        old_names={"heatmap": "report heatmap"},
    ),
    Command(
        name="help",
        target="recall_bench.cli.help:help_command",
        help="List all commands or settings, or explain one command.",
        section="Understand",
        is_first=True,
    ),
    Command(
        name="help completion",
        target="recall_bench.cli.completion:completion_command",
        old_names={"completion": "help completion"},
    ),
)

_BY_USE = (
    *("run", "report", "compare", "gate", "eval", "doctor"),
    *("init", "plan", "view", "list", "check-adapter", "help"),
)
"""The order of the first screen; others that are first come behind these."""
_SECTIONS = ("Run", "Understand", "Data", "Trust")


@cache
def read_commands() -> dict[str, Command]:
    """Every command by name, nested ones included; none is imported."""
    owners = {command.name: "Recall Bench" for command in KERNEL}
    for feature in list_features():
        for command in feature.commands:
            if command.name in owners:
                both = f"{owners[command.name]} and the feature {feature.name}"
                raise UsageError(f"two commands are called {command.name!r}: of {both}")
            owners[command.name] = feature.name
    features = (command for feature in list_features() for command in feature.commands)
    commands = sorted((*KERNEL, *features), key=_rank)
    return {command.name: command for command in commands}


def _rank(command: Command) -> tuple[int, str]:
    by_use = _BY_USE.index(command.name) if command.name in _BY_USE else len(_BY_USE)
    return by_use, command.name


def list_names() -> list[str]:
    """The names of the commands that the list shows: those of one word."""
    return [name for name in read_commands() if " " not in name]


def group_commands() -> dict[str, list[Command]]:
    """The commands by section; those of the first screen are a section of their own."""
    commands = [read_commands()[name] for name in list_names()]
    sections = (*_SECTIONS, *sorted({command.section for command in commands} - {*_SECTIONS}))
    rest = {
        section: [
            command for command in commands if command.section == section and not command.is_first
        ]
        for section in sections
    }
    first = [command for command in commands if command.is_first]
    return {"Start here": first, **{name: group for name, group in rest.items() if group}}


def read_old_names() -> dict[str, list[str]]:
    """Names that commands had, with the words that they stand for; a command's own name wins."""
    return {
        old: words.split()
        for command in read_commands().values()
        for old, words in command.old_names.items()
        if old not in read_commands()
    }
