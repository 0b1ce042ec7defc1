"""What an examination of a system before any run found out about it."""

from enum import StrEnum

from msgspec import field

from recall_bench.core.history import WallTime
from recall_bench.core.memory import Asker, Clock
from recall_bench.core.record import Record


class SystemHealth(StrEnum):
    """Whether numbers about a system can be believed."""

    VALID = "valid"
    SUSPECT = "suspect"
    """Something is odd enough to be looked at before its numbers are quoted."""
    INVALID = "invalid"
    """Its numbers would measure a fault of the connection or of the system, not its memory."""


class DoctorFinding(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong."""

    check: str
    """The name of the check that found it."""
    health: SystemHealth
    """How bad it is: `suspect` or `invalid`."""
    message: str
    """What was expected, what happened, what to do."""


class Diagnosis(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict of `doctor` on one system as its card describes it."""

    health: SystemHealth
    system: str
    """The digest of the card of the system that was examined."""
    at: WallTime
    code: str
    """Version and digest of the harness that examined it."""
    complaints: tuple[DoctorFinding, ...] = ()
    clock: Clock | None = None
    """How it was seen to know the date; None if that could not be told."""
    asker: Asker | None = None
    """What it was seen to make of who asks; None if that could not be told."""
    figures: dict[str, float] = field(default_factory=dict)
    """What was measured on the way, by name."""
