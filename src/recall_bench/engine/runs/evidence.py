"""What happened to the evidence of an answer: stored or not, returned or not, cut off or not."""

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from recall_bench.core.scenario import Evidence, Expects, Truth


class PassageSource(Protocol):
    """The source of a passage, as far as it is known."""

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
    """The sources of the passages that were delivered."""

    days: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()
    """Days of which the delivered utterances are unknown."""
    turns: frozenset[tuple[int, int]] = frozenset()
    """The utterances delivered, each after its day."""
    spans: tuple[tuple[int, int, int], ...] = ()
    """The ranges of text delivered, each after its day."""
    vague: frozenset[int] = frozenset()
    """Days of which a delivered passage has no range."""

    @classmethod
    def from_passages(
        cls, passages: Sequence[PassageSource], spans: Sequence[tuple[int, int] | None] = ()
    ) -> "FoundPassages":
        """Collect the sources of passages, and their ranges where these are known."""
        days = frozenset([passage.day for passage in passages if passage.day is not None])
        if not any(passage.turn is not None or passage.turns for passage in passages):
            ranges = spans or [None] * len(passages)
            pairs = [
                (passage.day, span)
                for passage, span in zip(passages, ranges, strict=True)
                if passage.day is not None
            ]
            return cls(
                days,
                days,
                spans=tuple((day, *span) for day, span in pairs if span is not None),
                vague=frozenset(day for day, span in pairs if span is None),
            )
        whole: set[int] = set()
        turns: set[tuple[int, int]] = set()
        for passage in passages:
            numbers = passage.turns if passage.turn is None else (passage.turn,)
            if passage.day is not None and numbers:
                turns.update((passage.day, turn) for turn in numbers)
            elif passage.day is not None:
                whole.add(passage.day)
        return cls(days, frozenset(whole), frozenset(turns))

    def contains(self, cited: Evidence) -> bool:
        """Whether the cited evidence may have been delivered.

        If the utterance is known, another one of the same day does not count; if the sentence is
        known, neither does another sentence.
        """
        if cited.turn is None:
            if cited.start is None or cited.end is None or cited.day in self.vague:
                return cited.day in self.days
            return any(
                day == cited.day and start <= cited.start and cited.end <= end
                for day, start, end in self.spans
            )
        return cited.day in self.whole or (cited.day, cited.turn) in self.turns

    def is_exact(self, cited: Evidence) -> bool:
        """Whether it is known if the cited utterance or sentence itself was delivered."""
        if cited.turn is not None:
            return cited.day not in self.whole
        return cited.start is not None and cited.end is not None and cited.day not in self.vague


NO_PASSAGES = FoundPassages()


class EvidenceTrail(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How many evidence days are missing, and where they were lost."""

    missing: int | None = None
    """Days of which no evidence was delivered; None if unknown."""
    cut: int | None = None
    """Those of them with a passage that was returned and cut off by the budget."""
    lost: int | None = None
    """Days that the memory does not hold; None if it does not say."""
    is_exact: bool = False
    """Whether all evidence was looked for by utterance or sentence, and not by day alone."""


UNKNOWN_TRAIL = EvidenceTrail()
"""No evidence is needed, or nothing is known."""


def trace_evidence(
    truth: Truth,
    until: int,
    *,
    found: FoundPassages | None,
    cut: Collection[int] = (),
    lost: Collection[int] | None = None,
    unfed: Collection[int] = (),
) -> EvidenceTrail:
    """What happened to the evidence that an answer needs; declining needs none.

    `until` is the last day fed. `found` is None if the system returns no passages, and `lost` if it
    does not say what it holds; days that were not fed are not held.
    """
    if not truth.evidence or truth.expects is not Expects.ANSWER:
        return UNKNOWN_TRAIL
    needed = [cited for cited in truth.evidence if cited.day <= until]
    if not needed:
        return UNKNOWN_TRAIL
    if found is None:
        return EvidenceTrail(lost=_count_lost({cited.day for cited in needed}, lost, unfed))
    missing = {cited.day for cited in needed if not found.contains(cited)}
    is_exact = all(map(found.is_exact, needed))
    if not missing:
        return EvidenceTrail(missing=0, cut=0, lost=0, is_exact=is_exact)
    return EvidenceTrail(
        missing=len(missing),
        cut=sum(day in cut for day in missing),
        lost=_count_lost(missing - found.days, lost, unfed),
        is_exact=is_exact,
    )


def _count_lost(
    days: Collection[int], lost: Collection[int] | None, unfed: Collection[int]
) -> int | None:
    count = sum(day in unfed or (lost is not None and day in lost) for day in days)
    return None if lost is None and not count else count
