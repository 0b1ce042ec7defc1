"""Cancel on a signal to stop, so that open resources are closed first."""

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
"""The signals that ask a command to end."""


@contextmanager
def cancel_on_signals(
    scope: anyio.CancelScope, wanted: tuple[signal.Signals, ...] = STOP_SIGNALS
) -> Iterator[list[int]]:
    """Cancel the scope at the first signal; a second one has its default effect.

    Yields a list to which the signal is added. Only the main thread of a POSIX process can receive
    signals in an event loop; elsewhere this does nothing.
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
