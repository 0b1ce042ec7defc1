"""The command `help`: all commands, one of them, or all settings of a run."""

import click

from recall_bench.cli.console import render_complete_help
from recall_bench.core.errors import UsageError


@click.command("help")
@click.argument("topic", nargs=-1, metavar="[all|settings|COMMAND...]")
@click.pass_context
def help_command(ctx: click.Context, topic: tuple[str, ...]) -> None:
    """List all commands or all settings, or explain one command with all of its options.

    `recall-bench help completion SHELL [--install]` makes a shell complete commands and options.
    """
    top = ctx.find_root()
    if topic == ("settings",):
        click.echo("\n".join(_list_settings()))
        return
    if topic in ((), ("all",)):
        top.meta["recall_bench.all_commands"] = topic == ("all",)
        click.echo(top.command.get_help(top))
        return
    words, inner = list(topic), top
    while words and isinstance(inner.command, click.Group):
        name, command, words = inner.command.resolve_command(inner, words)
        if command is None:
            break
        inner = click.Context(command, parent=inner, info_name=name)
    if words:
        raise UsageError(
            f"there is no command {' '.join(topic)}; `recall-bench help all` lists all"
        )
    click.echo(render_complete_help(inner))


def _list_settings() -> list[str]:
    """Every setting of a run, as `--set NAME=VALUE`, a profile and Python take it."""
    from textwrap import fill

    from recall_bench.core.settings import describe_settings

    lines = []
    for about in describe_settings().values():
        default = f" [{about.default}]" if about.default else ""
        text = f"{about.flag:22} {about.help.text}{default}."
        lines.append(fill(text, 100, subsequent_indent=" " * 23))
    return lines
