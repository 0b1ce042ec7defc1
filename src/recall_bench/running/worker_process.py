"""The other end of `processes`: a worker that lives on its standard input and output.

It ends when told to, and when its driver is gone. What its system prints goes to standard error.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, cast

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

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
"""How long it may take to close memories once the driver is gone."""

Send = Callable[[int, WorkerMessage | None], None]


def main() -> None:
    """Serve the driver at the other end of the pipes."""
    for number in STOP_SIGNALS:
        # Who ends a whole group of processes means the driver, which tells its workers. Ignored
        # for good it would be for every program that a system starts, too.
        signal.signal(number, lambda *_: None)
    orders, replies = _take_pipes()
    try:
        anyio.run(_serve, orders, partial(_send, replies))
    except* BrokenPipeError:
        # The driver is gone, and with it whoever could be told.
        sys.exit(1)


def _take_pipes() -> tuple[BinaryIO, int]:
    """Our ends of the pipes, moved out of the way of whatever the system under test prints."""
    orders, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(orders, "rb"), replies


def _send(replies: int, ticket: int, message: WorkerMessage | None) -> None:
    left = memoryview(encode_frame((ticket, message)))
    while left:
        left = left[os.write(replies, left) :]


async def _serve(orders: BinaryIO, send: Send) -> None:
    worker = Worker()
    scopes: dict[int, anyio.CancelScope] = {}
    try:
        async with anyio.create_task_group() as group:
            while True:
                read = partial(_read_command, orders)
                order = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
                if order is None or order[0] == "stop":
                    group.cancel_scope.cancel()
                    return
                _handle_command(order, worker, group, _TaskChannel(send, scopes))
    finally:
        with anyio.CancelScope(shield=True):
            await worker.close()


def _read_command(orders: BinaryIO) -> tuple[object, ...] | None:
    """The next order; None once the driver is gone."""
    header = orders.read(HEADER_BYTES)
    size = decode_length(header) if len(header) == HEADER_BYTES else 0
    content = orders.read(size)
    if size and len(content) == size:
        return decode_frame(content)
    # Nobody is there to end a process whose system never lets go of the loop.
    last_resort = threading.Timer(_STOP_TIMEOUT_S, os._exit, [1])
    last_resort.daemon = True
    last_resort.start()
    return None


def _handle_command(
    order: tuple[object, ...], worker: Worker, group: TaskGroup, to: "_TaskChannel"
) -> None:
    match order:
        case ("hello", path):
            sys.path[:] = cast("list[str]", path)
            to.send(READY, None)
        case ("brief", brief):
            worker.prepare(cast("RunSpec", brief))
        case ("perform", ticket, run, assignment, terms):
            group.start_soon(
                _run_task,
                worker,
                cast("int", ticket),
                (cast("str", run), cast("Task", assignment), cast("TaskLimits", terms)),
                to,
            )
        case ("cancel", ticket):
            if (scope := to.scopes.get(cast("int", ticket))) is not None:
                scope.cancel()
        case ("adjourn", run, reason):
            worker.stop(cast("str", run), cast("TaskFailure", reason))


@dataclass(frozen=True, slots=True)
class _TaskChannel:
    """How the driver is told, and how it breaks off what is under way, by ticket."""

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
