"""What reviews did to the scores: one-sided ones can hardly lower them, so both sides count."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from recall_bench.core.standing import ReviewChange


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewTally:
    """The reviews of first verdicts of one kind."""

    raised: int = 0
    lowered: int = 0
    same: int = 0
    """As many points as before, if not the same ones."""
    failed: int = 0
    """Reviews that were due and gave no verdict; the first one stands."""
    points: int = 0
    """Points added, less points taken."""

    def __add__(self, other: Self) -> "ReviewTally":
        return ReviewTally(
            raised=self.raised + other.raised,
            lowered=self.lowered + other.lowered,
            same=self.same + other.same,
            failed=self.failed + other.failed,
            points=self.points + other.points,
        )

    @property
    def done(self) -> int:
        """Reviews that gave a verdict."""
        return self.raised + self.lowered + self.same


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCounts:
    """All reviews of a run, by what the first judge had said."""

    failures: ReviewTally = ReviewTally()
    passes: ReviewTally = ReviewTally()
    open: int = 0
    """Reviews that are due and still to do."""

    @property
    def total(self) -> ReviewTally:
        """Both kinds together."""
        return self.failures + self.passes


def count_reviews(reviewed: Iterable[ReviewChange], *, still_open: int = 0) -> ReviewCounts:
    """Count what came of each review."""
    changes: dict[bool, list[int | None]] = {True: [], False: []}
    for review in reviewed:
        changes[review.was_failure].append(review.change)
    return ReviewCounts(
        failures=_tally_changes(changes[True]),
        passes=_tally_changes(changes[False]),
        open=still_open,
    )


def _tally_changes(changes: list[int | None]) -> ReviewTally:
    known = [change for change in changes if change is not None]
    return ReviewTally(
        raised=sum(change > 0 for change in known),
        lowered=sum(change < 0 for change in known),
        same=sum(change == 0 for change in known),
        failed=len(changes) - len(known),
        points=sum(known),
    )
