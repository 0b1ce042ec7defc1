"""The worker's side of `process_worker`: serves a driver on standard input and output.

It ends on command, and when its driver is gone. What the system prints goes to standard error.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import BinaryIO

import anyio
import anyio.to_thread

from recall_bench.core.redacted_output import redact_output
from recall_bench.core.signals import STOP_SIGNALS
from recall_bench.engine.worker import Worker
from recall_bench.engine.worker_messages import (
    HEADER_BYTES,
    RunUnit,
    UnitEvents,
    UnitFailure,
    decode_frame,
    decode_length,
    encode_frame,
)

_STOP_TIMEOUT_S = 20.0
"""How long closing memories may take once the driver is gone."""


def main() -> None:
    """Serve the driver at the other end of the pipes."""
    for number in STOP_SIGNALS:
        # A signal to the process group is meant for the driver, which ends its workers. SIG_IGN
        # would be inherited by every program that a system starts.
        signal.signal(number, lambda *_: None)
    # The pipes are taken over, so that the system under test cannot use them.
    commands, replies = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)

    def send(events: UnitEvents) -> None:
        left = memoryview(encode_frame(events))
        while left:
            left = left[os.write(replies, left) :]

    try:
        with redact_output():
            anyio.run(_serve, commands, send)
    except* (BrokenPipeError, ConnectionResetError):
        # The driver is gone.
        sys.exit(1)


async def _serve(commands: BinaryIO, send: Callable[[UnitEvents], None]) -> None:
    worker, scope = Worker(), anyio.CancelScope()

    async def run_unit(message: RunUnit) -> None:
        nonlocal scope
        with anyio.CancelScope() as scope:
            await worker.perform(message, send)
        if scope.cancelled_caught:
            send(UnitEvents(is_over=True))

    try:
        async with anyio.create_task_group() as group:
            while True:
                read = partial(_read_command, commands)
                command = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
                match command:
                    case ("hello", list(path)):
                        sys.path[:] = path
                        send(UnitEvents())
                    case ("perform", RunUnit() as message):
                        group.start_soon(run_unit, message)
                    case ("cancel",):
                        scope.cancel()
                    case ("stop", str(run), UnitFailure() as reason):
                        worker.stop(run, reason)
                    case _:
                        group.cancel_scope.cancel()
                        return
    finally:
        with anyio.CancelScope(shield=True):
            await worker.close()


def _read_command(commands: BinaryIO) -> object:
    """Read the next command; None once the driver is gone."""
    # A driver that dies with replies unread resets the connection.
    with suppress(ConnectionResetError):
        header = commands.read(HEADER_BYTES)
        size = decode_length(header) if len(header) == HEADER_BYTES else 0
        content = commands.read(size)
        if size and len(content) == size:
            return decode_frame(content)
    # Ends the process even if its system never yields to the event loop.
    last_resort = threading.Timer(_STOP_TIMEOUT_S, os._exit, [1])
    last_resort.daemon = True
    last_resort.start()
    return None


if __name__ == "__main__":
    main()
