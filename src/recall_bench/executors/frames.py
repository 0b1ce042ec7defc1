"""Messages between a driver and its worker processes, as bytes on a pipe."""

import pickle
import struct

from recall_bench.executors.assignments import RunSpec, Task, TaskFailure, TaskLimits, WorkerMessage

_LENGTH = struct.Struct(">I")
HEADER_BYTES = _LENGTH.size

WorkerHello = tuple[str, list[str]]
"""`hello` and where to look for modules: the first frame to a worker."""
WorkerCommand = (
    WorkerHello
    | tuple[str, RunSpec]
    | tuple[str, int, str, Task, TaskLimits]
    | tuple[str, int]
    | tuple[str, str, TaskFailure]
    | tuple[str]
)
"""`brief`, `perform` with a ticket and the run's name, `cancel` it, `adjourn`, or `stop`."""

WorkerReply = tuple[int, WorkerMessage | None]
"""The ticket of an assignment, and what is told of it; None when it is over."""

READY = 0
"""The ticket under which a worker says that it is there."""


def encode_frame(message: WorkerCommand | WorkerReply) -> bytes:
    """One message, ready to be written."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(content)) + content


def decode_length(header: bytes) -> int:
    """How many bytes follow."""
    return int(_LENGTH.unpack(header)[0])


def decode_frame(content: bytes) -> tuple[object, ...]:
    """The message that the bytes spell. They come from our own processes alone."""
    message: tuple[object, ...] = pickle.loads(content)  # noqa: S301 - we wrote it ourselves
    return message
