"""Signals to stop, turned into a cancellation, so that what is open gets closed first."""

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM) + (
    () if sys.platform == "win32" else (signal.SIGHUP,)
)
"""What people and machines send to a command that they want to end."""


@contextmanager
def cancel_on_signals(
    scope: anyio.CancelScope, wanted: tuple[signal.Signals, ...] = STOP_SIGNALS
) -> Iterator[list[int]]:
    """Cancel the scope at the first signal; a second one does what signals do.

    Yields a list that holds the signal once it came. Only the main thread of a POSIX process
    hears signals in an event loop; elsewhere nothing is changed.
    """
    received: list[int] = []
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield received
        return
    loop = asyncio.get_running_loop()

    def release() -> None:
        for number in wanted:
            loop.remove_signal_handler(number)

    def stop(number: int) -> None:
        received.append(number)
        scope.cancel()
        release()

    for number in wanted:
        loop.add_signal_handler(number, stop, number)
    try:
        yield received
    finally:
        release()
