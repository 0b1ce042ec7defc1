"""The commands: those of the kernel, and those that features declare."""

from functools import cache

from recall_bench.core.errors import UsageError
from recall_bench.core.feature import Command, list_features

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
        name="heatmap",
        target="recall_bench.cli.report:heatmap_command",
        help="Draw a run's heatmap again.",
        section="Understand",
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
    shown = [read_commands()[name] for name in list_names()]
    sections = (*_SECTIONS, *sorted({command.section for command in shown} - {*_SECTIONS}))
    rest = {
        section: [
            command for command in shown if command.section == section and not command.is_first
        ]
        for section in sections
    }
    first = [command for command in shown if command.is_first]
    return {"Start here": first, **{name: group for name, group in rest.items() if group}}


def read_old_names() -> dict[str, list[str]]:
    """Names that commands had, with the words that they stand for; a command's own name wins."""
    return {
        old: words.split()
        for command in read_commands().values()
        for old, words in command.old_names.items()
        if old not in read_commands()
    }
