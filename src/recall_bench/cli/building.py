"""A bar while a persona is being played for the first time."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


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
