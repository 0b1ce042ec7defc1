"""The tasks that a driver sends to workers, and the messages that come back."""

import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass

from recall_bench.core.errors import (
    BenchError,
    BudgetSpent,
    DataError,
    JudgeFault,
    JudgeGone,
    ReaderFault,
    ReaderPending,
    SystemGone,
    UsageError,
)
from recall_bench.core.event import Answered
from recall_bench.core.plan import Plan
from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.running.components import ComponentFactory


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """What a worker has to know of a run; sent once, before the first task."""

    run: str
    """Names the run among those that share a pool."""
    plan: Plan
    factory: ComponentFactory


class TrialBatch(Record, frozen=True, kw_only=True):
    """The questions of one checkpoint and repeat that are still to be asked."""

    checkpoint: str
    repeat: int
    items: tuple[int, ...]
    """Indexes into the scenario's items, in the order they are asked."""


class AskTask(Record, frozen=True, kw_only=True):
    """Ask these questions of a scenario, in the way of the plan's lifecycle."""

    scenario: str
    batches: tuple[TrialBatch, ...]
    snapshot: str | None = None
    """The folder of a packed snapshot to ask copies of; None feeds a memory."""
    judges: bool = False
    """Whether the worker judges the answers too, as they come."""


class FeedTask(Record, frozen=True, kw_only=True):
    """Feed one memory, and pack a snapshot of it at each of these checkpoints."""

    scenario: str
    checkpoints: tuple[str, ...]
    place: str
    """A folder that all workers can read; each snapshot gets a folder in it."""
    ahead: int
    """How many snapshots may wait there before feeding pauses."""


class GradeTask(Record, frozen=True, kw_only=True):
    """Judge these answers."""

    scenario: str
    answers: tuple[Answered, ...]


class ReviewTask(Record, frozen=True, kw_only=True):
    """Have the appellate judge review these verdicts."""

    scenario: str
    verdicts: tuple[tuple[Answered, Verdict], ...]


class OtherVerdictsTask(Record, frozen=True, kw_only=True):
    """Have other judges of the plan judge these answers, each given with its judge's place."""

    scenario: str
    answers: tuple[tuple[Answered, int], ...]


JudgingTask = GradeTask | ReviewTask | OtherVerdictsTask
Task = AskTask | FeedTask | JudgingTask


class TaskLimits(Record, frozen=True, kw_only=True):
    """The limits of one task."""

    at_once: int = 1
    """Questions or verdicts at a time."""
    max_calls: int | None = None
    """Calls at a time, feeding included; None is no limit."""
    spent: Usage = Usage()
    """What the whole run has spent so far."""
    allowed_usd: float | None = None
    allowed_tokens: int | None = None


class TaskStarted(Record, frozen=True):
    """The worker has begun the task."""


class SnapshotReady(Record, frozen=True, kw_only=True):
    """A snapshot can be asked."""

    checkpoint: str
    place: str


class TaskFailure(Record, frozen=True, kw_only=True):
    """Why a task ended early."""

    kind: str
    message: str
    exit_code: int | None = None
    """None for a bug: the message is its traceback."""

    @classmethod
    def from_error(cls, error: BenchError) -> "TaskFailure":
        """Describe an error so that it can be sent."""
        return cls(kind=type(error).__name__, message=str(error), exit_code=error.exit_code)

    def to_error(self) -> Exception:
        """Rebuild the error, to be raised in the driver."""
        if self.exit_code is None:
            return WorkerBug(self.message)
        found = _KINDS.get(self.kind, BenchError)(self.message)
        found.exit_code = self.exit_code
        return found


class WorkerLost(Exception):
    """A worker died, or its machine left, during a task.

    `has_begun` says whether the task had begun: if not, the task did not kill the worker.
    """

    def __init__(self, message: str, *, has_begun: bool = False) -> None:
        super().__init__(message)
        self.has_begun = has_begun


class NotShared(UsageError):
    """A worker cannot see the folder where snapshots are exchanged."""


class WorkerBug(Exception):
    """A worker met a bug of the harness; the message is its traceback."""


_KINDS: dict[str, type[BenchError]] = {
    kind.__name__: kind
    for kind in (
        BudgetSpent,
        DataError,
        JudgeFault,
        JudgeGone,
        NotShared,
        ReaderFault,
        ReaderPending,
        SystemGone,
        UsageError,
    )
}

WorkerMessage = TaskStarted | bytes | SnapshotReady | TaskFailure
"""The start, journal lines with their line ends, a snapshot, or why the task ended early."""

OnMessage = Callable[[bytes | SnapshotReady], None]


_LENGTH = struct.Struct(">I")
HEADER_BYTES = _LENGTH.size

WorkerHello = tuple[str, list[str]]
"""`hello` and the module search path: the first frame to a worker."""
WorkerCommand = (
    WorkerHello
    | tuple[str, RunSpec]
    | tuple[str, int, str, Task, TaskLimits]
    | tuple[str, int]
    | tuple[str, str, TaskFailure]
    | tuple[str]
)
"""`prepare`, `perform` with a ticket and a run, `cancel` with a ticket, `stop`, or `close`."""

WorkerReply = tuple[int, WorkerMessage | None]
"""The ticket of a task and a message about it; None when the task is over."""

READY = 0
"""The ticket with which a worker reports that it has started."""


def encode_frame(message: WorkerCommand | WorkerReply) -> bytes:
    """Encode one message with its length in front."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(content)) + content


def decode_length(header: bytes | bytearray) -> int:
    """Decode the length of the frame that follows."""
    return int(_LENGTH.unpack(header)[0])


def decode_frame(content: bytes) -> tuple[object, ...]:
    """Decode a message; the bytes come from our own processes only."""
    message: tuple[object, ...] = pickle.loads(content)  # noqa: S301 - we wrote it ourselves
    return message
