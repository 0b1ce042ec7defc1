"""What a driver and its workers say to each other: `run this unit`, and `these events`.

A worker does one unit at a time and answers with events until one says that it is over. Meanwhile
the driver may only cancel it, or stop what costs money.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from recall_bench.core import errors
from recall_bench.core.errors import BenchError, UsageError
from recall_bench.core.event import Answered
from recall_bench.core.plan import Plan
from recall_bench.core.record import Record
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import Verdict
from recall_bench.engine.components import ComponentFactory


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """What a worker has to know of a run."""

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


class UnitKind(StrEnum):
    """What a unit is about, for the display of progress."""

    FEED = "feed"
    ASK = "ask"
    GRADE = "grade"


class Unit(Record, frozen=True, kw_only=True):
    """Work on one scenario: something to feed, to ask or to judge."""

    scenario: str
    batches: tuple[TrialBatch, ...] = ()
    """To be asked in the way of the plan's lifecycle; the answers are judged as they come."""
    snapshot: str | None = None
    """The folder of a packed snapshot to ask copies of; None feeds a memory."""
    saves: tuple[str, ...] = ()
    """Checkpoints up to which one memory is fed, and a snapshot of it packed at each."""
    place: str = ""
    """The folder for these snapshots, which all workers can read."""
    ahead: int = 1
    """How many snapshots may wait there before feeding pauses."""
    answers: tuple[Answered, ...] = ()
    """To be judged."""
    reviews: tuple[tuple[Answered, Verdict], ...] = ()
    """First verdicts for the appellate judge to review."""
    others: tuple[tuple[Answered, int], ...] = ()
    """To be judged by other judges of the plan, each given with its judge's place."""

    @property
    def kind(self) -> UnitKind:
        """What it is about."""
        if self.saves:
            return UnitKind.FEED
        return UnitKind.ASK if self.batches else UnitKind.GRADE

    def __str__(self) -> str:
        if not self.batches:
            return f"{self.scenario}, {'feeding' if self.saves else 'judging'}"
        first, *others = self.batches
        more = f" and {len(others)} more" if others else ""
        return f"{self.scenario}@{first.checkpoint}#{first.repeat}{more}"


class UnitLimits(Record, frozen=True, kw_only=True):
    """The limits of one unit."""

    at_once: int = 1
    """Questions or verdicts at a time."""
    max_calls: int | None = None
    """Calls at a time to the system, and to any one provider; None is no limit."""
    spent: Usage = Usage()
    """What the whole run has spent so far."""
    allowed_usd: float | None = None
    allowed_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUnit:
    """The message to a worker."""

    run: str
    spec: RunSpec | None
    """None if the worker was sent it before."""
    unit: Unit
    limits: UnitLimits


class SnapshotReady(Record, frozen=True, kw_only=True):
    """A snapshot can be asked."""

    checkpoint: str
    place: str


class UnitFailure(Record, frozen=True, kw_only=True):
    """Why a unit ended early: an error as text, because some cannot be unpickled."""

    kind: str
    message: str
    exit_code: int | None = None
    """None for a bug: the message is its traceback."""

    @classmethod
    def from_error(cls, error: BenchError) -> "UnitFailure":
        """Describe an error so that it can be sent."""
        return cls(kind=type(error).__name__, message=str(error), exit_code=error.exit_code)

    def to_error(self) -> Exception:
        """Rebuild the error, to be raised in the driver."""
        if self.exit_code is None:
            return WorkerBug(self.message)
        kind = getattr(errors, self.kind, NotShared if self.kind == "NotShared" else BenchError)
        # Not by calling it: some take other arguments than their message.
        error: BenchError = kind.__new__(kind, self.message)
        error.exit_code = self.exit_code
        return error


class UnitEvents(Record, frozen=True, kw_only=True):
    """The message from a worker. The first one of a unit, which is empty, says that it began."""

    lines: bytes = b""
    """Journal lines with their line ends."""
    snapshot: SnapshotReady | None = None
    failure: UnitFailure | None = None
    is_over: bool = False


OnEvents = Callable[[UnitEvents], None]


class WorkerLost(Exception):
    """A worker died, or its machine left, during a unit.

    `has_begun` says whether the unit had begun: if not, the unit did not kill the worker.
    """

    def __init__(self, message: str, *, has_begun: bool = False) -> None:
        super().__init__(message)
        self.has_begun = has_begun


class NotShared(UsageError):
    """A worker cannot see the folder where snapshots are exchanged."""


class WorkerBug(Exception):
    """A worker met a bug of the harness; the message is its traceback."""
