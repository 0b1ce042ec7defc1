"""What a command is busy with, for people who wait for it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

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
