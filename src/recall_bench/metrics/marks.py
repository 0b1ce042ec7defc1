"""Counts and means of a group of trials, and of reviews.

The system's failures count against the system, ours against the run: a trial that the system did
not answer has no points, a trial without a verdict is missing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Self, TypeVar

import msgspec

from recall_bench.core.trial_states import ReviewChange, TrialState, TrialStatus
from recall_bench.core.verdict import FULL_MARKS

Counts = TypeVar("Counts")


def add_counts(one: Counts, other: Counts) -> Counts:
    """Add two slotted dataclasses of counts, field by field."""
    names: tuple[str, ...] = type(one).__slots__  # type: ignore[attr-defined]
    return type(one)(**{name: getattr(one, name) + getattr(other, name) for name in names})


class TrialTally(msgspec.Struct, frozen=True):
    """The owed trials of a group: a checkpoint, a category, a run."""

    owed: int = 0
    judged: int = 0
    not_answered: int = 0
    not_judged: int = 0
    awaiting: int = 0
    """Answered, without a verdict yet. Part of `open`."""
    measured: int = 0
    """Finished without marks, because none were to be given."""
    points: int = 0
    ungrounded: int = 0
    """Judged trials whose answer is not grounded."""
    invented: int = 0
    """Those of them whose answer does not leak: a leak may be true, an invention is not."""
    guarded: int = 0
    """Answers in which a leak could be noticed."""
    leaked: int = 0
    """Those of them that leak."""
    eligible: int = 0
    """Questions that the story supports by then, asked or not."""

    def __add__(self, other: Self) -> "TrialTally":
        """Add two groups; means are weighted by their counts."""
        return sum_tallies((self, other))

    @property
    def counted(self) -> int:
        """The trials of the mean: judged, or not answered."""
        return self.judged + self.not_answered

    @property
    def missing(self) -> int:
        """Owed trials without points."""
        return self.owed - self.counted

    @property
    def open(self) -> int:
        """Trials still to ask or to judge."""
        return self.owed - self.counted - self.not_judged - self.measured

    @property
    def failed(self) -> int:
        """Trials without the outcome that was owed, for whatever reason."""
        return self.owed - self.judged - self.measured

    @property
    def without_open(self) -> "TrialTally":
        """The same group as if no more were owed than has an outcome."""
        return msgspec.structs.replace(self, owed=self.owed - self.open)

    @property
    def mean(self) -> float | None:
        """Points a trial, six at best; None where nothing was measured."""
        return self.points / self.counted if self.counted else None

    @property
    def share(self) -> float | None:
        """The mean as a share of full marks; None where nothing was measured."""
        return None if self.mean is None else self.mean / FULL_MARKS

    @property
    def hallucination_rate(self) -> float | None:
        """The share of judged answers that are not grounded; None where none was judged."""
        return self.ungrounded / self.judged if self.judged else None

    @property
    def invention_rate(self) -> float | None:
        """The share of judged answers that are invented; None where none was judged."""
        return self.invented / self.judged if self.judged else None


def sum_tallies(tallies: Iterable[TrialTally]) -> TrialTally:
    """Add all groups."""
    return TrialTally(*map(sum, zip(*map(_TALLY_FIELDS, tallies), strict=True)))


_TALLY_FIELDS = attrgetter(*TrialTally.__struct_fields__)


def tally_states(counts_by_status: Mapping[TrialStatus, int]) -> TrialTally:
    """Tally trials, given as counts by status. Leaks are not part of a status: see `add_leaks`."""
    states = [0] * len(TrialState)
    points = ungrounded = 0
    for status, count in counts_by_status.items():
        states[status.state] += count
        if status.state is TrialState.JUDGED:
            points += status.composite * count
            ungrounded += count if status.grounded == 0 else 0
    return TrialTally(
        owed=sum(states),
        judged=states[TrialState.JUDGED],
        not_answered=states[TrialState.NOT_ANSWERED],
        not_judged=states[TrialState.NOT_JUDGED],
        awaiting=states[TrialState.ANSWERED],
        measured=states[TrialState.MEASURED],
        points=points,
        ungrounded=ungrounded,
        invented=ungrounded,
    )


def add_leaks(tally: TrialTally, guarded: int, leaked: Iterable[TrialStatus]) -> TrialTally:
    """Add the answers in which a leak could be noticed, and the statuses of those that leak."""
    statuses = list(leaked)
    ungrounded = sum(
        status.state is TrialState.JUDGED and status.grounded == 0 for status in statuses
    )
    return msgspec.structs.replace(
        tally,
        invented=tally.invented - ungrounded,
        guarded=tally.guarded + guarded,
        leaked=tally.leaked + len(statuses),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewTally:
    """The reviews of first verdicts that were failures, or passes."""

    raised: int = 0
    lowered: int = 0
    same: int = 0
    """As many points as before, perhaps for other marks."""
    failed: int = 0
    """Reviews that were due and gave no verdict; the first one stands."""
    points: int = 0
    """Points added, less points taken."""

    def __add__(self, other: Self) -> "ReviewTally":
        return add_counts(self, other)

    @property
    def done(self) -> int:
        """Reviews that gave a verdict."""
        return self.raised + self.lowered + self.same

    @property
    def attempted(self) -> int:
        """Reviews that gave a verdict or failed."""
        return self.done + self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCounts:
    """All reviews of a run, by the first verdict."""

    failures: ReviewTally = ReviewTally()
    passes: ReviewTally = ReviewTally()
    open: int = 0
    """Reviews that are due and still to do."""

    @property
    def total(self) -> ReviewTally:
        """Both kinds together."""
        return self.failures + self.passes


def count_reviews(reviewed: Iterable[ReviewChange], *, still_open: int = 0) -> ReviewCounts:
    """Count the outcomes of reviews."""
    changes: dict[bool, list[int | None]] = {True: [], False: []}
    for review in reviewed:
        changes[review.was_failure].append(review.change)
    return ReviewCounts(
        failures=_tally_changes(changes[True]),
        passes=_tally_changes(changes[False]),
        open=still_open,
    )


def _tally_changes(changes: list[int | None]) -> ReviewTally:
    done = [change for change in changes if change is not None]
    return ReviewTally(
        raised=sum(change > 0 for change in done),
        lowered=sum(change < 0 for change in done),
        same=sum(change == 0 for change in done),
        failed=len(changes) - len(done),
        points=sum(done),
    )
