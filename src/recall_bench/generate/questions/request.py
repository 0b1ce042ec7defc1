"""What `generate-qa` is asked for."""

from dataclasses import dataclass

from recall_bench.errors import UsageError
from recall_bench.generate.request import PassRequest

STANDARD = "standard"
BOUNDARY_MODE = "boundary"
MODES = (STANDARD, BOUNDARY_MODE)

_DEFAULT_INTERVALS = {STANDARD: 7, BOUNDARY_MODE: 30}
_DEFAULT_AMOUNTS = {STANDARD: 12, BOUNDARY_MODE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionsRequest(PassRequest):
    """A story's days, and what is to be asked about them."""

    mode: str = STANDARD
    """`standard`, or `boundary` for the secrets of isolated sessions."""
    interval: int | None = None
    """Days from one checkpoint to the next; 7, or 30 for boundary."""
    per_checkpoint: int | None = None
    """Questions for each checkpoint, 12; for boundary secrets of each isolated session, 2."""
    query_session: str | None = None
    """Where questions are asked from; the principal's, or for boundary any that may not know."""

    def __post_init__(self) -> None:
        PassRequest.__post_init__(self)
        if self.mode not in MODES:
            raise UsageError(f"--mode: there is no mode {self.mode!r}; say {' or '.join(MODES)}")
        for flag, number in (
            ("interval", self.interval),
            ("pairs-per-checkpoint", self.per_checkpoint),
        ):
            if number is not None and number < 1:
                raise UsageError(f"--{flag}: {number} is too few; say 1 or more")

    @property
    def days_between(self) -> int:
        """Days from one checkpoint to the next."""
        return self.interval or _DEFAULT_INTERVALS[self.mode]

    @property
    def amount(self) -> int:
        """What is asked for at each checkpoint."""
        return self.per_checkpoint or _DEFAULT_AMOUNTS[self.mode]
