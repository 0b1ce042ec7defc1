"""Cancel on a signal to stop, so that open resources are closed first."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import anyio

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM) + (
    () if sys.platform == "win32" else (signal.SIGHUP,)
)
"""The signals that ask a command to end."""

REPEAT_S = 0.5
"""Signals that follow the first one within this time are the same request."""

_COMMAND = threading.Event()
"""Set if this process is a command of ours, which may be ended."""


def mark_as_command() -> None:
    """Say that this process is a command of ours: a signal while it stops ends it at once.

    KeyboardInterrupt would be raised anywhere, and can leave an event loop that waits forever.
    What a process writes survives its end, and programs it started end with it.
    """
    _COMMAND.set()


@contextmanager
def cancel_on_signals(
    scope: "anyio.CancelScope", wanted: tuple[signal.Signals, ...] = STOP_SIGNALS
) -> Iterator[list[int]]:
    """Cancel the scope at the first signal; a later one ends a command, or has its default effect.

    Yields a list to which the signal is added. Only the main thread of a POSIX process can receive
    signals in an event loop; elsewhere this does nothing.
    """
    received: list[int] = []
    begun_at: list[float] = []
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield received
        return
    # Lazy: every command has this module, and most have no event loop.
    import asyncio

    loop = asyncio.get_running_loop()

    def release() -> None:
        for number in wanted:
            loop.remove_signal_handler(number)

    def stop(number: int) -> None:
        if not received:
            begun_at.append(time.monotonic())
            received.append(number)
            scope.cancel()
            if not _COMMAND.is_set():
                release()
        elif time.monotonic() - begun_at[0] > REPEAT_S:
            _end_process(number)

    for number in wanted:
        loop.add_signal_handler(number, stop, number)
    try:
        yield received
    finally:
        if received and _COMMAND.is_set():
            # While a command stops, signals are counted to the end, by the process itself: a loop
            # that closes is no longer there to be woken.
            signal.set_wakeup_fd(-1)
            for number in wanted:
                signal.signal(number, lambda number, _: stop(number))
        else:
            release()


def _end_process(number: int) -> NoReturn:
    with suppress(OSError):
        os.write(2, b"interrupted; run the same command again to continue\n")
    os._exit(128 + number)
