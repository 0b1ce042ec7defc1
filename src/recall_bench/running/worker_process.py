"""The worker's side of `process_worker`: serves a driver on standard input and output.

It ends on command, and when its driver is gone. What the system prints goes to standard error.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, cast

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from recall_bench.core.redacted_output import redact_output
from recall_bench.core.signals import STOP_SIGNALS
from recall_bench.running.worker import Worker
from recall_bench.running.worker_messages import (
    HEADER_BYTES,
    READY,
    RunSpec,
    Task,
    TaskFailure,
    TaskLimits,
    WorkerMessage,
    decode_frame,
    decode_length,
    encode_frame,
)

_STOP_TIMEOUT_S = 20.0
"""How long closing memories may take once the driver is gone."""

Send = Callable[[int, WorkerMessage | None], None]


def main() -> None:
    """Serve the driver at the other end of the pipes."""
    for number in STOP_SIGNALS:
        # A signal to the process group is meant for the driver, which ends its workers. SIG_IGN
        # would be inherited by every program that a system starts.
        signal.signal(number, lambda *_: None)
    commands, replies = _take_pipes()
    try:
        with redact_output():
            anyio.run(_serve, commands, partial(_send, replies))
    except* (BrokenPipeError, ConnectionResetError):
        # The driver is gone.
        sys.exit(1)


def _take_pipes() -> tuple[BinaryIO, int]:
    """Take over stdin and stdout, so that the system under test cannot use them."""
    commands, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(commands, "rb"), replies


def _send(replies: int, ticket: int, message: WorkerMessage | None) -> None:
    left = memoryview(encode_frame((ticket, message)))
    while left:
        left = left[os.write(replies, left) :]


async def _serve(commands: BinaryIO, send: Send) -> None:
    worker = Worker()
    scopes: dict[int, anyio.CancelScope] = {}
    try:
        async with anyio.create_task_group() as group:
            while True:
                read = partial(_read_command, commands)
                command = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
                if command is None or command[0] == "close":
                    group.cancel_scope.cancel()
                    return
                _handle_command(command, worker, group, _TaskChannel(send, scopes))
    finally:
        with anyio.CancelScope(shield=True):
            await worker.close()


def _read_command(commands: BinaryIO) -> tuple[object, ...] | None:
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


def _handle_command(
    command: tuple[object, ...], worker: Worker, group: TaskGroup, to: "_TaskChannel"
) -> None:
    match command:
        case ("hello", path):
            sys.path[:] = cast("list[str]", path)
            to.send(READY, None)
        case ("prepare", spec):
            worker.prepare(cast("RunSpec", spec))
        case ("perform", ticket, run, task, limits):
            group.start_soon(
                _run_task,
                worker,
                cast("int", ticket),
                (cast("str", run), cast("Task", task), cast("TaskLimits", limits)),
                to,
            )
        case ("cancel", ticket):
            if (scope := to.scopes.get(cast("int", ticket))) is not None:
                scope.cancel()
        case ("stop", run, reason):
            worker.stop(cast("str", run), cast("TaskFailure", reason))


@dataclass(frozen=True, slots=True)
class _TaskChannel:
    """Sends messages to the driver, and holds the cancel scope of each task, by ticket."""

    send: Send
    scopes: dict[int, anyio.CancelScope]


async def _run_task(
    worker: Worker, ticket: int, what: tuple[str, Task, TaskLimits], to: _TaskChannel
) -> None:
    try:
        with anyio.CancelScope() as to.scopes[ticket]:
            await worker.perform(*what, partial(to.send, ticket))
    finally:
        del to.scopes[ticket]
    to.send(ticket, None)


if __name__ == "__main__":
    main()
