"""Standard output holds a command's answer and nothing else."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


def forward_to_stderr() -> contextlib.AbstractContextManager[object]:
    """While it lasts, what an adapter or a judge prints goes to stderr, whatever it meant."""
    return contextlib.redirect_stdout(sys.stderr)


def format_json(content: object) -> str:
    """Any of our records, or several, as JSON that people can read."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()


_LINE = 79


@contextmanager
def show_activity() -> Iterator[Callable[[str], None]]:
    """Show what is being done on one line of the terminal; a log gets a line for each thing."""
    if not sys.stderr.isatty():
        yield lambda what: click.echo(what, err=True)
        return
    try:
        yield lambda what: click.echo(f"\r{what[:_LINE]:{_LINE}}", err=True, nl=False)
    finally:
        click.echo(f"\r{'':{_LINE}}\r", err=True, nl=False)


@contextmanager
def show_build(persona: str, days: int) -> Iterator[Callable[[int], None]]:
    """Show at a terminal how far the play is; a log gets one line."""
    if not sys.stderr.isatty():
        click.echo(f"playing {persona}, {days} days", err=True)
        yield lambda _: None
        return
    with click.progressbar(length=days, label=f"playing {persona}", file=sys.stderr) as bar:
        reached = 0

        def update(day: int) -> None:
            nonlocal reached
            bar.update(day - reached)
            reached = day

        yield update
        update(days)
