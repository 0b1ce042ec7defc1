"""A command whose model sends batches: it is repeated when they have ended, until none is left."""

from collections.abc import Callable
from typing import NoReturn

import click

from recall_bench.cli.console import show_activity
from recall_bench.core.errors import BenchError, ReplyPending
from recall_bench.core.redacted_output import RedactedStream


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
    from recall_bench.models.batch_senders import SENDERS

    SENDERS.begin(on_first)


def _deliver(print_error: Callable[[str], None]) -> tuple[int, bool]:
    """Wait for the batches; the exit code, and whether the command is to be repeated."""
    from recall_bench.models.batch_wait import deliver_batches

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
