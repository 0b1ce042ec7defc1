"""The command line: parse arguments, call the library, print. Only `main` exits."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from recall_bench.cli.command_kinds import MAX_WIDTH, HelpContext, prepare_command
from recall_bench.cli.console import paint, show_activity
from recall_bench.core.distribution import DISTRIBUTION, find_conflicting_package
from recall_bench.core.errors import BenchError, JournalLost, ReplyPending, find_full_disk
from recall_bench.core.redacted_output import OutputFull, RedactedStream, redact_output
from recall_bench.core.signals import mark_as_command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def repeat_while_pending(
    run_once: Callable[[], NoReturn], stdout: RedactedStream, print_error: Callable[[str], None]
) -> int:
    """Run the command; again when batches that it waits for have come. The last exit code.

    The results of all but the last time are not printed.
    """
    while True:
        _watch_senders(stdout.hold)
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


def _watch_senders(on_first: Callable[[], None]) -> None:
    """Have `on_first` called when a model is opened that sends batches."""
    from recall_bench.features.models.batch_senders import SENDERS

    SENDERS.begin(on_first)


def _deliver(print_error: Callable[[str], None]) -> tuple[int, bool]:
    """Wait for the batches; the exit code, and whether the command is to be repeated."""
    from recall_bench.features.models.batch_wait import deliver_batches

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


COMMANDS = {
    "run": ("run", "Ingest every persona, ask at every checkpoint, grade the answers."),
    "plan": ("run", "Show what a run would do and cost, before anything is spent."),
    "eval": ("eval", "Measure a system on a public dataset, beside floors and ceilings."),
    "select": ("select", "Test whether an agent recalls exactly the right memory files."),
    "suite": ("suite", "Measure erasure, poisoning, tenants, freshness, load or procedures."),
    "rejudge": ("rejudge", "Grade the recorded answers of a run again, without its system."),
    "merge": ("run_files", "Merge the shards of `run --shard` into one run."),
    "serve": ("serve", "Serve an adapter to other processes: gRPC, HTTP or JSON lines."),
    "ablate": ("ablate", "Switch each part of a system off or on, and compare the scores."),
    "matrix": ("matrix", "Run several systems, settings and seeds as one job, and compare them."),
    "compare": ("compare", "Compare runs, with intervals."),
    "report": ("report", "Analyse a run; write its page and pictures."),
    "view": ("view", "Explore runs in the browser: compare them, read and label answers."),
    "gate": ("gate", "Pass or fail a run by rules, and by its loss against a baseline."),
    "verify": ("verify", "Derive everything in a run folder again, and name what differs."),
    "bundle": ("bundle", "Write a finished run as one file that others can verify."),
    "leaderboard": ("leaderboard", "Make a site of verified runs, and repeat parts of them."),
    "challenge": ("challenge", "Commit to a secret seed, run it, and reveal it."),
    "canaries": ("canaries", "Keep a file of questions that always hallucinate, and check them."),
    "import": ("run_files", "Make a run folder of the public harness's files."),
    "power": ("compare", "Compute how many questions a difference takes."),
    "judge": ("judge_lab", "Judge answers of your own, without a run."),
    "judge-lab": ("judge_lab", "Measure how reliable a judge is."),
    "check-adapter": ("doctor", "Check that a system satisfies the contract of a run."),
    "doctor": ("doctor", "Diagnose a system before its scores are used."),
    "list": ("catalogue", "List the personas, the systems, or the names of checkpoints."),
    "world": ("world", "Build, verify and describe simulated personas."),
    "import-history": ("import_history", "Make a persona of your own chats, mail or traces."),
    "create-persona": ("create_persona", "Write a persona and its story from a description."),
    "generate": ("generate", "Write and verify a persona's days, dialogues and questions."),
    "lint": ("lint", "Check personas, their days and their questions."),
    "datasets": ("datasets", "List, download and describe the public datasets."),
    "init": ("init", "Write a first adapter, settings, gate rules and a workflow."),
    "heatmap": ("report", "Draw a run's heatmap again."),
    "export": ("run_files", "Write results as tables, for papers or for trackers."),
    "help": ("help", "List all commands or settings, or explain one command."),
}
"""The module and one-line help of each command, so that `--help` imports none of them."""


SECTIONS = {
    "Start here": (
        *("run", "report", "compare", "gate", "eval", "doctor"),
        *("init", "plan", "view", "list", "check-adapter", "help"),
    ),
    "Run": ("matrix", "ablate", "select", "suite", "rejudge", "merge", "serve"),
    "Understand": ("heatmap", "power", "export", "import"),
    "Data": ("datasets", "lint", "world", "import-history", "create-persona", "generate"),
    "Trust": ("verify", "bundle", "challenge", "leaderboard", "judge", "judge-lab", "canaries"),
}
"""The commands by purpose, as `recall-bench help all` shows them; `--help` shows the first."""

NESTED: dict[tuple[str, ...], str] = {
    ("suite", "scorecard"): "suite",
    ("serve", "endpoint"): "endpoint",
    ("help", "completion"): "completion",
}
"""Commands behind another one's name, with the module of each; it is named for the last word."""

OLD_NAMES: dict[str, tuple[str, ...]] = {
    "generate-conversations": ("generate", "conversations"),
    "generate-tool-calls": ("generate", "tool-calls"),
    "generate-qa": ("generate", "questions"),
    "verify-qa": ("generate", "verify"),
    "ranges": ("list", "--ranges"),
    "scorecard": ("suite", "scorecard"),
    "endpoint": ("serve", "endpoint"),
    "completion": ("help", "completion"),
}
"""Names that commands had, which still work."""


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
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now."""
        home = COMMANDS[cmd_name][0] if cmd_name in COMMANDS else NESTED.get((*cmd_name.split(),))
        if home is None:
            return None
        module = import_module(f"recall_bench.cli.{home}")
        name = cmd_name.rsplit(maxsplit=1)[-1].replace("-", "_")
        command: click.Command = getattr(module, f"{name}_command")
        return prepare_command(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of these arguments; an unknown one is answered with the nearest."""
        args = [*OLD_NAMES.get(args[0], args[:1]), *args[1:]]
        if (*args[:2],) in NESTED:
            name = " ".join(args[:2])
            return name, self.get_command(ctx, name), args[2:]
        if args[0] == "generate" and args[1:2] not in ([], ["-h"], ["--help"]):
            args[1:1] = ["days"] if args[1].startswith("-") else []
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from recall_bench.core.suggestion import suggest

            near = suggest(name, COMMANDS, "`recall-bench help all` lists them")
            ctx.fail(f"no command named {name!r}; {near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands of the first section, or all by section, without importing them."""
        shows_all = ctx.meta.get("recall_bench.all_commands", False)
        width = max(map(len, COMMANDS))
        for title, names in list(SECTIONS.items())[: None if shows_all else 1]:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), COMMANDS[name][1]) for name in names])
        if not shows_all:
            formatter.write_paragraph()
            formatter.write_text(f"`recall-bench help all` lists all {len(COMMANDS)} commands.")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Names of commands and options that begin so, without importing the commands."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=text)
            for name, (_, text) in COMMANDS.items()
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
        if (full := find_full_disk(error)) is None:
            raise
        place = f"{full.filename}: " if full.filename else ""
        _print_error(f"{place}{JournalLost.FULL_DISK}")
        sys.exit(JournalLost.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _print_error(line: str) -> None:
    click.echo(f"{paint('error:', to_stderr=True, fg='red', bold=True)} {line}", err=True)
