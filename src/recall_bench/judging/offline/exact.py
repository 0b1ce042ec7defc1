"""Answers to questions whose truth says what every right answer contains.

All wanted things must be told, in a sentence that answers the question, and in the right order
where an order is asked for. Another value in the place of a wanted one contradicts it. What held
once may stand beside what holds if the answer says which is which.
"""

import re
from dataclasses import dataclass

from recall_bench.core.question import Item
from recall_bench.judging.offline.answering import Sentence, deciding, weighed
from recall_bench.judging.offline.assertion import (
    is_given_as_past,
    is_one_of_several,
    is_total,
)
from recall_bench.judging.offline.atoms import DATE, Atom
from recall_bench.judging.offline.contents import Account, Contents, Reader
from recall_bench.judging.offline.literal import levelled, literal_of
from recall_bench.judging.offline.ordering import arrange
from recall_bench.judging.offline.wanted import Wanted, wanted
from recall_bench.judging.offline.wording import plain

SIDES = frozenset({"yes", "no"})
ALLOWED_PER_RIGHT_VALUE = 1
"""Other values that may stand beside each right one: people name what was superseded."""
_ORDER = re.compile(
    r"\b(?:order|sequence|first|last|earl(?:y|ier|iest)|late(?:r|st)|sooner|before|after)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer tells of what is wanted."""

    share: float
    """Of the wanted things, those that are told."""
    missing: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    """What stands in the place of missing things."""
    is_stale: bool = False
    """Whether it gives as current what was overtaken."""
    is_disordered: bool = False
    focus: float = 1.0
    """The share of right values once the allowed others are forgiven."""


@dataclass(frozen=True, slots=True)
class Exact:
    """What one item wants, read once for all its answers."""

    wanted: tuple[Wanted, ...]
    stale: tuple[Wanted, ...]
    distractors: tuple[Wanted, ...]
    is_order: bool
    """Whether the question names the things itself and asks for their order."""
    question: Contents
    asked: str
    """The question's own text, levelled."""
    stems: frozenset[str]
    """The words of the truth."""
    reader: Reader

    def told(self, account: Account) -> Told:
        """What an answer tells."""
        if self.is_order:
            return self._ordered(account)
        sentences = weighed(account, self.question.stems, self.stems)
        finds = [self._find(one, sentences, account.cited) for one in self.wanted]
        found = [one for one, find in zip(self.wanted, finds, strict=True) if find.is_told]
        missing = [one for one, find in zip(self.wanted, finds, strict=True) if not find.is_told]
        others = {r for f in finds if f.is_told for r in f.rivals}
        excess = len(others) - ALLOWED_PER_RIGHT_VALUE * len(found)
        return Told(
            share=len(found) / (len(self.wanted) or 1),
            missing=tuple(one.text for one in missing),
            instead=tuple(r for f in finds if not f.is_told for r in f.rivals),
            is_stale=any(find.is_stale for find in finds),
            focus=len(found) / (len(found) + excess) if found and excess > 0 else 1.0,
        )

    def _find(self, one: Wanted, sentences: list[Sentence], cited: tuple[Atom, ...]) -> "_Find":
        hits = [hit for sentence in sentences if (hit := self._hit(one, sentence))]
        counting = deciding(
            [hit.sentence for hit in hits if hit.is_told],
            [hit.sentence for hit in hits if not hit.is_told],
        )
        if not any(sentence.is_direct for sentence in counting) and _is_cited(one, cited):
            return _Find(is_told=True, rivals=(), is_stale=False)
        deciders = [hit for hit in hits if hit.sentence in counting]
        told = [hit for hit in deciders if hit.is_told]
        rivals = list(dict.fromkeys(r for hit in deciders for r in hit.rivals))
        stale = any(hit.is_stale for hit in deciders)
        is_past = bool(told) and stale and all(_is_past(one, hit.sentence.text) for hit in told)
        return _Find(
            is_told=bool(told) and not is_past,
            rivals=tuple(rivals),
            is_stale=stale and (is_past or not told),
        )

    def _hit(self, one: Wanted, sentence: Sentence) -> "_Hit | None":
        if one.value is not None and not sentence.contents.values:
            return None
        is_told = one.told_in(sentence, self.reader)
        stale = self._others(self.stale, one, sentence, is_told=is_told)
        others = [*stale, *self._others(self.distractors, one, sentence, is_told=is_told)]
        if is_told and one.value is None:
            is_told = not others or one.likeness(sentence, self.reader) == 1.0
        rivals = {other.told_as: None for other in others}
        for rival in one.rivals_in(sentence, is_told=is_told):
            if not self._is_given(rival, sentence):
                rivals[rival] = None
        place = one.place_in(sentence.text) if is_told and rivals else None
        if place is not None and is_total(sentence.text, place):
            rivals = {}
        if not (is_told or rivals):
            return None
        is_hedged = place is not None and bool(rivals) and is_one_of_several(sentence.text, place)
        return _Hit(sentence, is_told and not is_hedged, tuple(rivals), bool(stale))

    def _others(
        self, others: tuple[Wanted, ...], one: Wanted, sentence: Sentence, *, is_told: bool
    ) -> list[Wanted]:
        """The other values that a sentence tells; beside the right one, not as past or less so."""
        told = [o for o in others if o.text != one.text and o.told_in(sentence, self.reader)]
        if not (is_told and told):
            return told
        own = one.likeness(sentence, self.reader) if one.value is None else 0.0
        return [
            other
            for other in told
            if not _is_past(other, sentence.text)
            and (one.value is not None or other.likeness(sentence, self.reader) >= own)
        ]

    def _is_given(self, rival: str, sentence: Sentence) -> bool:
        """Whether a value is the question's own, or one of the other wanted things."""
        if f" {rival} " in self.asked:
            return True
        known = [v for v in sentence.contents.values if v.value == rival]
        return any(
            self.question.holds(value)
            or any(other.value is not None and other.value.matches(value) for other in self.wanted)
            for value in known
        )

    def _ordered(self, account: Account) -> Told:
        things = (*self.wanted, *self.distractors)
        order = arrange(things, account.text, self.reader)
        if len(self.wanted) == 1:
            first = order.order[:1]
            is_other_last = first == (1,) and order.is_placed_last
            is_right = is_other_last or (first == (0,) and not order.is_placed_last)
            missing = () if is_right else (self.wanted[0].text,)
            return Told(float(is_right), missing, is_disordered=bool(order.order) and not is_right)
        told = [number for number in order.order if number < len(self.wanted)]
        return Told(
            share=len(told) / len(self.wanted),
            missing=tuple(w.text for n, w in enumerate(self.wanted) if n not in told),
            is_disordered=told != sorted(told),
        )


@dataclass(frozen=True, slots=True)
class _Hit:
    """A sentence that tells the wanted thing or another in its place."""

    sentence: Sentence
    is_told: bool
    rivals: tuple[str, ...]
    is_stale: bool


@dataclass(frozen=True, slots=True)
class _Find:
    is_told: bool
    rivals: tuple[str, ...]
    is_stale: bool


def _is_cited(one: Wanted, cited: tuple[Atom, ...]) -> bool:
    """Whether a date is told by citing it, and not among many."""
    if one.value is None or one.value.kind != DATE:
        return False
    dates = [atom for atom in cited if atom.kind == DATE]
    is_there = any(map(one.value.matches, dates))
    return is_there and len(dates) <= 1 + ALLOWED_PER_RIGHT_VALUE


def _is_past(one: Wanted, text: str) -> bool:
    place = one.place_in(text)
    return place is not None and is_given_as_past(text, place)


def exact_of(item: Item, question: Contents, reader: Reader) -> Exact | None:
    """What an item wants; None where its truth does not say."""
    truth = item.truth
    atoms = [plain(atom) for atom in truth.atoms if atom.lower() not in SIDES]
    if not truth.atoms:
        return None
    asked = plain(item.text)
    hints, _ = reader.parts(plain(truth.reference))
    aliases = [alias for alias in truth.aliases if alias.lower() not in SIDES]
    count = len(question.stems)
    things = tuple(
        wanted(atom, aliases if len(atoms) == 1 else (), hints, reader, count) for atom in atoms
    )
    distractors = [d for d in truth.distractors if d not in truth.stale and d.lower() not in SIDES]
    is_order = (
        bool(things)
        and _ORDER.search(asked) is not None
        and all(literal_of(thing.text) in levelled(asked) for thing in things)
    )
    texts = (truth.reference, *truth.atoms, *aliases)
    return Exact(
        wanted=things,
        stale=tuple(wanted(plain(s), (), (), reader, count) for s in truth.stale),
        distractors=tuple(wanted(plain(d), (), (), reader, count) for d in distractors),
        is_order=is_order,
        question=question,
        asked=levelled(asked),
        stems=frozenset().union(*(reader.read(plain(text)).stems for text in texts)),
        reader=reader,
    )
