"""How much of a reference an answer states, and which other values it states instead.

Every part of the reference has a weight: a value weighs three words, a word of a name or of a
quotation two. What the question already says weighs a fifth. Only sentences that bear on the
reference count.

A rival is a value of the same kind and unit as an asked one that neither the reference nor the
question holds, in a sentence about the question: the first one, one without other words, or one
that shares enough words with it. In place of the right value it contradicts the reference. Beside
right values, one rival is allowed for each (people mention what was superseded); every further one
lowers the answer's focus. So a list of all candidates does not score, and other content costs
nothing.
"""

from dataclasses import dataclass
from functools import cached_property

import msgspec

from recall_bench.judging.offline.contents import (
    AnswerContents,
    ContentReader,
    TextContents,
    join_contents,
)
from recall_bench.judging.offline.required_part import is_day_of_month
from recall_bench.text.values import DATE, ValueAtom

VALUE_WEIGHT = 3.0
KEY_WEIGHT = 2.0
GIVEN = 0.2
"""The share of its weight that a part keeps if the question already says it."""
MIN_REFERENCE_SHARE = 0.3
"""A sentence bears on a reference if it holds this share of its weight,"""
MIN_SENTENCE_SHARE = 0.5
"""or if this share of its own words and values is the reference's. Others do not count."""
VALUES_DOMINATE = 0.5
"""From this share of new values on, a reference asks for values."""


@dataclass(frozen=True)
class Reference:
    """One accepted wording of the truth, with weights relative to the question."""

    contents: TextContents
    asked: tuple[ValueAtom, ...]
    """The values that the question does not give."""
    given: tuple[ValueAtom, ...]
    """The values that the question gives."""
    new: dict[str, float]
    """The weight of each content stem that is not in the question."""
    old: dict[str, float]
    """The weight of each that is."""

    @classmethod
    def build(cls, text: str, question: TextContents, reader: ContentReader) -> "Reference":
        """The reference of a normalised text."""
        contents = reader.read(text)
        keys = reader.find_key_stems(text, contents)
        words = contents.stems or contents.words
        weights = {word: KEY_WEIGHT if word in keys else 1.0 for word in sorted(words)}
        return cls(
            contents=contents,
            asked=tuple(atom for atom in contents.values if not question.holds(atom)),
            given=tuple(atom for atom in contents.values if question.holds(atom)),
            new={stem: w for stem, w in weights.items() if stem not in question.stems},
            old={stem: w * GIVEN for stem, w in weights.items() if stem in question.stems},
        )

    @cached_property
    def words(self) -> frozenset[str]:
        """Its stems, or its words if none has a stem."""
        return self.contents.stems or self.contents.words

    @cached_property
    def new_weight(self) -> float:
        """The weight of what the question does not say."""
        return VALUE_WEIGHT * len(self.asked) + sum(self.new.values())

    @cached_property
    def weight(self) -> float:
        """The weight of everything."""
        return self.new_weight + VALUE_WEIGHT * GIVEN * len(self.given) + sum(self.old.values())

    @property
    def asks_for_values(self) -> bool:
        """Whether the new part of the reference is mostly values."""
        return bool(self.asked) and (
            VALUE_WEIGHT * len(self.asked) >= VALUES_DOMINATE * self.new_weight
        )


class Coverage(msgspec.Struct, frozen=True, gc=False):
    """An answer compared with one reference."""

    recall: float
    """The weighted share of the reference that the answer states."""
    news: float
    """The same for what the question does not say; 0 where nothing is new."""
    found: tuple[ValueAtom, ...]
    """The asked values that the answer states."""
    cited: tuple[ValueAtom, ...]
    """The asked dates that it only cites."""
    missing: tuple[ValueAtom, ...]
    """The other asked values."""


def cover(reference: Reference, account: AnswerContents) -> Coverage:
    """How much of the reference the answer states. A date may be stated by citing it."""
    stated = join_contents(
        [passage for passage in account.passages if _is_bearing_on(reference, passage)]
    )
    found = tuple(
        atom
        for atom in reference.asked
        if stated.holds(atom) or any(is_day_of_month(value, atom) for value in stated.values)
    )
    cited = tuple(
        atom
        for atom in reference.asked
        if atom not in found and any(_is_date_of(each, atom) for each in account.cited)
    )
    new, old = _weigh_shares(reference, stated)
    by_citing = VALUE_WEIGHT * len(cited)
    return Coverage(
        recall=(new + by_citing + old) / (reference.weight or 1.0),
        news=new / (reference.new_weight or 1.0),
        found=found,
        cited=cited,
        missing=tuple(a for a in reference.asked if a not in found and a not in cited),
    )


def _is_date_of(cited: ValueAtom, asked: ValueAtom) -> bool:
    return (asked.kind == DATE and asked.matches(cited)) or is_day_of_month(cited, asked)


def _is_bearing_on(reference: Reference, passage: TextContents) -> bool:
    # Without this, a long answer collects the reference's common words one by one from sentences
    # about other things.
    new, old = _weigh_shares(reference, passage)
    if new + old >= MIN_REFERENCE_SHARE * reference.weight:
        return True
    theirs = len(reference.words & _get_words(reference, passage))
    theirs += sum(map(reference.contents.holds, passage.values))
    return theirs >= MIN_SENTENCE_SHARE * (len(passage.stems) + len(passage.values))


def _weigh_shares(reference: Reference, stated: TextContents) -> tuple[float, float]:
    """The weight of the stated part of what is new and of what is old in the reference."""
    stated_words = _get_words(reference, stated)
    return (
        VALUE_WEIGHT * sum(map(stated.holds, reference.asked))
        + _sum_common(reference.new, stated_words),
        VALUE_WEIGHT * GIVEN * sum(map(stated.holds, reference.given))
        + _sum_common(reference.old, stated_words),
    )


def _get_words(reference: Reference, stated: TextContents) -> frozenset[str]:
    # A reference without a content word ("It is on.") can only be compared word by word.
    return stated.stems if reference.contents.stems else stated.words


def _sum_common(weights: dict[str, float], stated_words: frozenset[str]) -> float:
    return sum(weight for word, weight in weights.items() if word in stated_words)


RIVALS_PER_RIGHT_VALUE = 1
AS_RELEVANT = 0.5
"""A rival's sentence must share this part of the question words that the right one's shares."""


class RivalValues(msgspec.Struct, frozen=True, gc=False):
    """The rival values in one answer."""

    contradicting: tuple[ValueAtom, ...]
    """Rivals of values that the answer does not state."""
    diluting: tuple[ValueAtom, ...]
    """Rivals of values that it states."""
    focus: float
    """The share of right values, not counting the allowed rivals; 1 is undiluted."""


_NO_RIVALS = RivalValues((), (), 1.0)


def find_rivals(
    reference: Reference, question: TextContents, account: AnswerContents, coverage: Coverage
) -> RivalValues:
    """The rivals of the asked values in an answer."""
    suspects = _find_suspects(reference, question, account, coverage)
    if not suspects:
        return _NO_RIVALS
    about = _select_relevant(question, account, coverage)
    rivals = [s for s in suspects if s in account.cited or any(p.holds(s) for p in about)]
    right = (*coverage.found, *coverage.cited)
    diluting = tuple(r for r in rivals if any(r.is_rival_of(value) for value in right))
    excess = len(diluting) - RIVALS_PER_RIGHT_VALUE * len(right)
    return RivalValues(
        contradicting=tuple(r for r in rivals if any(r.is_rival_of(v) for v in coverage.missing)),
        diluting=diluting,
        focus=len(right) / (len(right) + excess) if right and excess > 0 else 1.0,
    )


def _find_suspects(
    reference: Reference, question: TextContents, account: AnswerContents, coverage: Coverage
) -> list[ValueAtom]:
    # A citation is not a statement, but an answer whose only date is cited lists every date it
    # cites.
    listed = [a for a in account.cited if a.kind == DATE] if coverage.cited else []
    return [
        value
        for value in dict.fromkeys((*account.contents.values, *listed))
        if any(value.is_rival_of(asked) for asked in reference.asked)
        and not reference.contents.holds(value)
        and not question.holds(value)
    ]


def _select_relevant(
    question: TextContents, account: AnswerContents, coverage: Coverage
) -> list[TextContents]:
    opening, *others = account.passages
    right = [
        len(passage.stems & question.stems)
        for passage in account.passages
        if any(map(passage.holds, coverage.found))
    ]
    bar = AS_RELEVANT * max(right) if right else 1
    return [
        opening,
        *(p for p in others if len(p.stems & question.stems) >= bar or not p.stems),
    ]
