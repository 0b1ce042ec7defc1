"""Output of commands: results go to stdout, progress to stderr."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from recall_bench.core.plain_text import Table


def forward_to_stderr() -> contextlib.AbstractContextManager[object]:
    """Redirect what an adapter or a judge prints to stderr: stdout is for the result."""
    return contextlib.redirect_stdout(sys.stderr)


def format_json(content: object) -> str:
    """Records as indented JSON."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode()


def paint(text: str, *, to_stderr: bool = False, **style: Any) -> str:  # noqa: ANN401 - click's own
    """The text in this style if it goes to a terminal and NO_COLOR is not set, else as it is."""
    stream = sys.stderr if to_stderr else sys.stdout
    if os.environ.get("NO_COLOR") or not stream.isatty():
        return text
    return click.style(text, **style)


def find_width() -> int:
    """The columns of the terminal, within reason; a fixed number if there is none."""
    from recall_bench.core.plain_text import WIDTH

    if not sys.stdout.isatty():
        return WIDTH
    return min(max(shutil.get_terminal_size().columns, 60), _MAX_WIDTH)


_MAX_WIDTH = 160


@contextmanager
def show_activity() -> Iterator[Callable[[str], None]]:
    """A function that shows the current activity: on one line of a terminal, or as log lines."""
    if not sys.stderr.isatty():
        yield lambda what: click.echo(what, err=True)
        return
    # A line that fills the last column would wrap.
    width = shutil.get_terminal_size().columns - 1
    try:
        yield lambda what: click.echo(f"\r{what[:width]:{width}}", err=True, nl=False)
    finally:
        click.echo(f"\r{'':{width}}\r", err=True, nl=False)


@contextmanager
def show_build(persona: str, days: int) -> Iterator[Callable[[int], None]]:
    """A function that shows the day that a simulation has reached: as a bar at a terminal."""
    if not sys.stderr.isatty():
        click.echo(f"simulating {persona}, {days} days", err=True)
        yield lambda _: None
        return
    with click.progressbar(length=days, label=f"simulating {persona}", file=sys.stderr) as bar:
        day_before = 0

        def update(day: int) -> None:
            nonlocal day_before
            bar.update(day - day_before)
            day_before = day

        yield update
        update(days)


def print_table(table: "Table") -> None:
    """Print a table: with rich at a terminal, else in plain columns."""
    if not sys.stdout.isatty():
        from recall_bench.core.plain_text import render_text

        click.echo("\n".join(render_text(table)))
        return
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    printed = RichTable(box=None, pad_edge=False)
    for column in table.columns:
        printed.add_column(column.head, justify="left" if column.is_text else "right")
    for row in table.rows:
        printed.add_row(*map(Text, row))
    Console().print(printed)
