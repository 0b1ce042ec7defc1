"""Values told in the place of, or beside, the ones that were asked for.

A rival is a value of the same kind and unit as an asked one that neither the reference nor the
question holds, in a sentence that is about the question: the first one, one without any other
words, or one that shares enough words with it. In place of the right value it contradicts the
reference. Beside right values as many rivals are allowed as there are right
values, because people name what was superseded; every further one takes its share of the
answer's focus. So a list of all candidates does not score, and a long answer that tells other
things as well loses nothing.
"""

from dataclasses import dataclass

from recall_bench.judging.offline.atoms import DATE, ValueAtom
from recall_bench.judging.offline.contents import AnswerContents, TextContents
from recall_bench.judging.offline.coverage import Coverage, Reference

RIVALS_PER_RIGHT_VALUE = 1
AS_RELEVANT = 0.5
"""A rival's sentence must share this part of the question words that the right one's shares."""


@dataclass(frozen=True, slots=True)
class RivalValues:
    """The rivals in one answer."""

    contradicting: tuple[ValueAtom, ...]
    """Rivals of values that the answer does not tell."""
    diluting: tuple[ValueAtom, ...]
    """Rivals of values that it does."""
    focus: float
    """The share of right values once the allowed rivals are forgiven; 1 is undiluted."""


_NO_RIVALS = RivalValues((), (), 1.0)


def find_rivals(
    reference: Reference, question: TextContents, account: AnswerContents, coverage: Coverage
) -> RivalValues:
    """The rivals of the asked values in what the answer tells."""
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
    # Citing is not telling, but an answer that gives its only date by citing it lists every
    # date it cites.
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
