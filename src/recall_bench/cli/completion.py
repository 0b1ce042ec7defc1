"""The command `help completion`: commands and options that the shell completes with Tab."""

from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from recall_bench.core.errors import UsageError

_PROGRAM = "recall-bench"
_VARIABLE = "_RECALL_BENCH_COMPLETE"
_PLACES = {
    "bash": ".local/share/bash-completion/completions/recall-bench",
    "zsh": ".zfunc/_recall-bench",
    "fish": ".config/fish/completions/recall-bench.fish",
}
"""Where each shell looks for the script, below the home folder."""
_KINDS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}
_NEXT = {
    "bash": "a new shell completes; it needs the package bash-completion",
    "zsh": "add `fpath+=~/.zfunc; autoload -Uz compinit; compinit` to ~/.zshrc, then open a shell",
    "fish": "a new shell completes",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_PLACES)))
@click.option("--install", is_flag=True, help="Write the script where the shell finds it.")
def completion_command(shell: str, install: bool) -> None:
    """Print the script that makes SHELL complete commands and options, or install it."""
    from recall_bench.cli.main import cli

    maker = _KINDS[shell](cli, {}, _PROGRAM, _VARIABLE)
    # `source()` of bash starts a shell to check its version; the script itself does not need it.
    script = maker.source_template % maker.source_vars()
    if not install:
        click.echo(script)
        return
    place = Path.home() / _PLACES[shell]
    if place.exists() and _VARIABLE not in place.read_text(encoding="utf-8", errors="replace"):
        raise UsageError(f"{place} exists and is another program's; move it away, then try again")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{script}\n", encoding="utf-8")
    click.echo(f"{place}: {_NEXT[shell]}")
