"""What a driver has a worker do, and what it hears back."""

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
    """A run as a worker has to know it: sent once, before the first assignment."""

    run: str
    """Names the run among those that share a crew."""
    plan: Plan
    hire: ComponentFactory


class TrialBatch(Record, frozen=True, kw_only=True):
    """Questions of one checkpoint and repeat that are still to be put."""

    checkpoint: str
    repeat: int
    items: tuple[int, ...]
    """As indexes into the scenario's items, in asked order."""


class AskTask(Record, frozen=True, kw_only=True):
    """Put these questions of a scenario, by the plan's lifecycle."""

    scenario: str
    papers: tuple[TrialBatch, ...]
    saved: str | None = None
    """The folder of a packed snapshot to ask copies of; None feeds a memory."""


class FeedTask(Record, frozen=True, kw_only=True):
    """Feed one memory, and pack a snapshot of it at each of these checkpoints."""

    scenario: str
    checkpoints: tuple[str, ...]
    place: str
    """A folder that all workers can read; each snapshot gets a folder in it."""
    ahead: int
    """So many snapshots may wait there before feeding pauses."""


class GradeTask(Record, frozen=True, kw_only=True):
    """Judge these answers."""

    scenario: str
    answers: tuple[Answered, ...]


class ReviewTask(Record, frozen=True, kw_only=True):
    """Put these verdicts before the appellate judge."""

    scenario: str
    verdicts: tuple[tuple[Answered, Verdict], ...]


Task = AskTask | FeedTask | GradeTask | ReviewTask


class TaskLimits(Record, frozen=True, kw_only=True):
    """Within what an assignment has to keep."""

    at_once: int = 1
    """How many questions, or verdicts, it may have under way."""
    max_calls: int | None = None
    """How many calls in all, feeding among them; None is no limit."""
    spent: Usage = Usage()
    """What the whole run has cost so far,"""
    allowed_usd: float | None = None
    """and may cost,"""
    allowed_tokens: int | None = None


class TaskStarted(Record, frozen=True):
    """The worker has heard of the assignment and is at it."""


class SnapshotReady(Record, frozen=True, kw_only=True):
    """A snapshot lies ready."""

    checkpoint: str
    place: str


class TaskFailure(Record, frozen=True, kw_only=True):
    """Why an assignment ended early."""

    kind: str
    message: str
    exit_code: int | None = None
    """None if it was no failure we raise on purpose: the message is its traceback."""

    @classmethod
    def from_error(cls, error: BenchError) -> "TaskFailure":
        """What can be sent of an error of ours."""
        return cls(kind=type(error).__name__, message=str(error), exit_code=error.exit_code)

    def to_error(self) -> Exception:
        """It once more, to be raised here."""
        if self.exit_code is None:
            return WorkerBug(self.message)
        found = _KINDS.get(self.kind, BenchError)(self.message)
        found.exit_code = self.exit_code
        return found


class WorkerLost(Exception):
    """A worker died, or its machine left, with an assignment under way.

    `has_begun` says whether it was at it already: if not, the assignment did it no harm.
    """

    def __init__(self, message: str, *, has_begun: bool = False) -> None:
        super().__init__(message)
        self.has_begun = has_begun


class NotShared(UsageError):
    """A worker cannot see the folder where snapshots are exchanged."""


class WorkerBug(Exception):
    """A worker met a fault of the harness; its traceback is the message."""


_KINDS: dict[str, type[BenchError]] = {
    kind.__name__: kind
    for kind in (
        BudgetSpent,
        DataError,
        JudgeFault,
        JudgeGone,
        NotShared,
        ReaderFault,
        SystemGone,
        UsageError,
    )
}

WorkerMessage = TaskStarted | bytes | SnapshotReady | TaskFailure
"""The start, journal lines with their ends, a snapshot that lies ready, or why it ended early."""

OnMessage = Callable[[bytes | SnapshotReady], None]


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
