"""What became of the days that tell an answer: held, returned, within the budget."""

from collections.abc import Collection
from typing import Protocol

import msgspec

from recall_bench.core.scenario import Evidence, Expects, Truth


class PassageSource(Protocol):
    """A passage, as far as it is known where it is from."""

    @property
    def day(self) -> int | None:
        """Its day."""
        ...

    @property
    def turn(self) -> int | None:
        """Its utterance."""
        ...

    @property
    def turns(self) -> tuple[int, ...]:
        """All of them, where it is of several."""
        ...


class FoundPassages(msgspec.Struct, frozen=True, gc=False):
    """Where the passages that were delivered are from."""

    days: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()
    """Those of which nobody knows which utterances were delivered."""
    turns: frozenset[tuple[int, int]] = frozenset()
    """The utterances delivered, each after its day."""

    @classmethod
    def from_passages(cls, passages: Collection[PassageSource]) -> "FoundPassages":
        """All that is known of them."""
        days = frozenset([each.day for each in passages if each.day is not None])
        if not any(each.turn is not None or each.turns for each in passages):
            return cls(days, days)
        whole: set[int] = set()
        turns: set[tuple[int, int]] = set()
        for each in passages:
            heard = each.turns if each.turn is None else (each.turn,)
            if each.day is not None and heard:
                turns.update((each.day, turn) for turn in heard)
            elif each.day is not None:
                whole.add(each.day)
        return cls(days, frozenset(whole), frozenset(turns))

    def contains(self, cited: Evidence) -> bool:
        """Whether whoever reads them may have read what is cited.

        Where the utterance is known, another one of its day does not do.
        """
        if cited.turn is None:
            return cited.day in self.days
        return cited.day in self.whole or (cited.day, cited.turn) in self.turns


NO_PASSAGES = FoundPassages()


class EvidenceTrail(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How many evidence days went missing, and where."""

    missing: int | None = None
    """Of these, nothing that tells the answer was delivered; None where nobody can say."""
    cut: int | None = None
    """Of these among them, a passage was returned and cut off by the budget."""
    lost: int | None = None
    """Of these, the memory holds nothing; None where it does not say what it holds."""


UNKNOWN_TRAIL = EvidenceTrail()
"""Nothing is needed, or nobody can say."""


def trace_evidence(
    truth: Truth,
    until: int,
    *,
    found: FoundPassages | None,
    cut: Collection[int] = (),
    lost: Collection[int] | None = None,
    unfed: Collection[int] = (),
) -> EvidenceTrail:
    """What became of the evidence that an answer needs; nothing is needed to decline.

    `until` is the last day there was to feed. `found` is None where the system does not show what
    it found, and `lost` where it does not say what it holds; what it was not fed it does not hold.
    """
    if not truth.evidence or truth.expects is not Expects.ANSWER:
        return UNKNOWN_TRAIL
    needed = [cited for cited in truth.evidence if cited.day <= until]
    if not needed:
        return UNKNOWN_TRAIL
    if found is None:
        return EvidenceTrail(lost=_count_lost({cited.day for cited in needed}, lost, unfed))
    missing = {cited.day for cited in needed if not found.contains(cited)}
    if not missing:
        return EvidenceTrail(missing=0, cut=0, lost=0)
    return EvidenceTrail(
        missing=len(missing),
        cut=sum(day in cut for day in missing),
        lost=_count_lost(missing - found.days, lost, unfed),
    )


def _count_lost(
    days: Collection[int], lost: Collection[int] | None, unfed: Collection[int]
) -> int | None:
    count = sum(day in unfed or (lost is not None and day in lost) for day in days)
    return None if lost is None and not count else count
