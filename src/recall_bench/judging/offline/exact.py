"""Answers to questions whose truth says what every right answer contains.

All wanted things must be told, in a sentence that answers the question, and in the right order
where an order is asked for. Another value in the place of a wanted one contradicts it. What held
once may stand beside what holds if the answer says which is which.
"""

import re
from dataclasses import dataclass

from recall_bench.core.question import Item
from recall_bench.judging.offline.answering import AnswerSentence, select_deciding, weigh_sentences
from recall_bench.judging.offline.assertion import (
    is_given_as_past,
    is_one_of_several,
    is_total,
)
from recall_bench.judging.offline.atoms import DATE, ValueAtom
from recall_bench.judging.offline.contents import AnswerContents, ContentReader, TextContents
from recall_bench.judging.offline.literal import level_text, make_literal
from recall_bench.judging.offline.ordering import arrange
from recall_bench.judging.offline.wanted import RequiredPart, make_required_part
from recall_bench.judging.offline.wording import normalise

SIDES = frozenset({"yes", "no"})
ALLOWED_PER_RIGHT_VALUE = 1
"""Other values that may stand beside each right one: people name what was superseded."""
_ORDER = re.compile(
    r"\b(?:order|sequence|first|last|earl(?:y|ier|iest)|late(?:r|st)|sooner|before|after)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ExactCoverage:
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
class ExactTruth:
    """What one item wants, read once for all its answers."""

    wanted: tuple[RequiredPart, ...]
    stale: tuple[RequiredPart, ...]
    distractors: tuple[RequiredPart, ...]
    is_order: bool
    """Whether the question names the things itself and asks for their order."""
    question: TextContents
    asked: str
    """The question's own text, levelled."""
    stems: frozenset[str]
    """The words of the truth."""
    reader: ContentReader

    def compare(self, account: AnswerContents) -> ExactCoverage:
        """What an answer tells."""
        if self.is_order:
            return self._compare_order(account)
        sentences = weigh_sentences(account, self.question.stems, self.stems)
        finds = [self._find(one, sentences, account.cited) for one in self.wanted]
        found = [one for one, find in zip(self.wanted, finds, strict=True) if find.is_told]
        missing = [one for one, find in zip(self.wanted, finds, strict=True) if not find.is_told]
        others = {r for f in finds if f.is_told for r in f.rivals}
        excess = len(others) - ALLOWED_PER_RIGHT_VALUE * len(found)
        return ExactCoverage(
            share=len(found) / (len(self.wanted) or 1),
            missing=tuple(one.text for one in missing),
            instead=tuple(r for f in finds if not f.is_told for r in f.rivals),
            is_stale=any(find.is_stale for find in finds),
            focus=len(found) / (len(found) + excess) if found and excess > 0 else 1.0,
        )

    def _find(
        self, one: RequiredPart, sentences: list[AnswerSentence], cited: tuple[ValueAtom, ...]
    ) -> "_PartMatch":
        hits = [hit for sentence in sentences if (hit := self._find_hit(one, sentence))]
        counting = select_deciding(
            [hit.sentence for hit in hits if hit.is_told],
            [hit.sentence for hit in hits if not hit.is_told],
        )
        if not any(sentence.is_direct for sentence in counting) and _is_date_in_citations(
            one, cited
        ):
            return _PartMatch(is_told=True, rivals=(), is_stale=False)
        deciders = [hit for hit in hits if hit.sentence in counting]
        told = [hit for hit in deciders if hit.is_told]
        rivals = list(dict.fromkeys(r for hit in deciders for r in hit.rivals))
        stale = any(hit.is_stale for hit in deciders)
        is_past = bool(told) and stale and all(_is_past(one, hit.sentence.text) for hit in told)
        return _PartMatch(
            is_told=bool(told) and not is_past,
            rivals=tuple(rivals),
            is_stale=stale and (is_past or not told),
        )

    def _find_hit(self, one: RequiredPart, sentence: AnswerSentence) -> "_SentenceHit | None":
        if one.value is not None and not sentence.contents.values:
            return None
        is_told = one.is_in(sentence, self.reader)
        stale = self._find_others(self.stale, one, sentence, is_told=is_told)
        others = [*stale, *self._find_others(self.distractors, one, sentence, is_told=is_told)]
        if is_told and one.value is None:
            is_told = not others or one.measure_likeness(sentence, self.reader) == 1.0
        rivals = {other.display: None for other in others}
        for rival in one.find_rivals(sentence, is_told=is_told):
            if not self._is_given(rival, sentence):
                rivals[rival] = None
        place = one.find_place(sentence.text) if is_told and rivals else None
        if place is not None and is_total(sentence.text, place):
            rivals = {}
        if not (is_told or rivals):
            return None
        is_hedged = place is not None and bool(rivals) and is_one_of_several(sentence.text, place)
        return _SentenceHit(sentence, is_told and not is_hedged, tuple(rivals), bool(stale))

    def _find_others(
        self,
        others: tuple[RequiredPart, ...],
        one: RequiredPart,
        sentence: AnswerSentence,
        *,
        is_told: bool,
    ) -> list[RequiredPart]:
        """The other values that a sentence tells; beside the right one, not as past or less so."""
        told = [o for o in others if o.text != one.text and o.is_in(sentence, self.reader)]
        if not (is_told and told):
            return told
        own = one.measure_likeness(sentence, self.reader) if one.value is None else 0.0
        return [
            other
            for other in told
            if not _is_past(other, sentence.text)
            and (one.value is not None or other.measure_likeness(sentence, self.reader) >= own)
        ]

    def _is_given(self, rival: str, sentence: AnswerSentence) -> bool:
        """Whether a value is the question's own, or one of the other wanted things."""
        if f" {rival} " in self.asked:
            return True
        known = [v for v in sentence.contents.values if v.value == rival]
        return any(
            self.question.holds(value)
            or any(other.value is not None and other.value.matches(value) for other in self.wanted)
            for value in known
        )

    def _compare_order(self, account: AnswerContents) -> ExactCoverage:
        things = (*self.wanted, *self.distractors)
        order = arrange(things, account.text, self.reader)
        if len(self.wanted) == 1:
            first = order.order[:1]
            is_other_last = first == (1,) and order.is_placed_last
            is_right = is_other_last or (first == (0,) and not order.is_placed_last)
            missing = () if is_right else (self.wanted[0].text,)
            return ExactCoverage(
                float(is_right), missing, is_disordered=bool(order.order) and not is_right
            )
        told = [number for number in order.order if number < len(self.wanted)]
        return ExactCoverage(
            share=len(told) / len(self.wanted),
            missing=tuple(w.text for n, w in enumerate(self.wanted) if n not in told),
            is_disordered=told != sorted(told),
        )


@dataclass(frozen=True, slots=True)
class _SentenceHit:
    """A sentence that tells the wanted thing or another in its place."""

    sentence: AnswerSentence
    is_told: bool
    rivals: tuple[str, ...]
    is_stale: bool


@dataclass(frozen=True, slots=True)
class _PartMatch:
    is_told: bool
    rivals: tuple[str, ...]
    is_stale: bool


def _is_date_in_citations(one: RequiredPart, cited: tuple[ValueAtom, ...]) -> bool:
    """Whether a date is told by citing it, and not among many."""
    if one.value is None or one.value.kind != DATE:
        return False
    dates = [atom for atom in cited if atom.kind == DATE]
    is_there = any(map(one.value.matches, dates))
    return is_there and len(dates) <= 1 + ALLOWED_PER_RIGHT_VALUE


def _is_past(one: RequiredPart, text: str) -> bool:
    place = one.find_place(text)
    return place is not None and is_given_as_past(text, place)


def make_exact_truth(
    item: Item, question: TextContents, reader: ContentReader
) -> ExactTruth | None:
    """What an item wants; None where its truth does not say."""
    truth = item.truth
    atoms = [normalise(atom) for atom in truth.atoms if atom.lower() not in SIDES]
    if not truth.atoms:
        return None
    asked = normalise(item.text)
    hints, _ = reader.split_parts(normalise(truth.reference))
    aliases = [alias for alias in truth.aliases if alias.lower() not in SIDES]
    count = len(question.stems)
    things = tuple(
        make_required_part(atom, aliases if len(atoms) == 1 else (), hints, reader, count)
        for atom in atoms
    )
    distractors = [d for d in truth.distractors if d not in truth.stale and d.lower() not in SIDES]
    is_order = (
        bool(things)
        and _ORDER.search(asked) is not None
        and all(make_literal(thing.text) in level_text(asked) for thing in things)
    )
    texts = (truth.reference, *truth.atoms, *aliases)
    return ExactTruth(
        wanted=things,
        stale=tuple(make_required_part(normalise(s), (), (), reader, count) for s in truth.stale),
        distractors=tuple(
            make_required_part(normalise(d), (), (), reader, count) for d in distractors
        ),
        is_order=is_order,
        question=question,
        asked=level_text(asked),
        stems=frozenset().union(*(reader.read(normalise(text)).stems for text in texts)),
        reader=reader,
    )
