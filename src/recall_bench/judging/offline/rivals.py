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

from recall_bench.judging.offline.atoms import DATE, Atom
from recall_bench.judging.offline.contents import Account, Contents
from recall_bench.judging.offline.coverage import Coverage, Reference

ALLOWED_PER_RIGHT_VALUE = 1
AS_RELEVANT = 0.5
"""A rival's sentence must share this part of the question words that the right one's shares."""


@dataclass(frozen=True, slots=True)
class Rivalry:
    """The rivals in one answer."""

    contradicting: tuple[Atom, ...]
    """Rivals of values that the answer does not tell."""
    diluting: tuple[Atom, ...]
    """Rivals of values that it does."""
    focus: float
    """The share of right values once the allowed rivals are forgiven; 1 is undiluted."""


_NONE = Rivalry((), (), 1.0)


def find_rivals(
    reference: Reference, question: Contents, account: Account, coverage: Coverage
) -> Rivalry:
    """The rivals of the asked values in what the answer tells."""
    suspects = _suspects(reference, question, account, coverage)
    if not suspects:
        return _NONE
    about = _about_the_question(question, account, coverage)
    rivals = [s for s in suspects if s in account.cited or any(p.holds(s) for p in about)]
    right = (*coverage.found, *coverage.cited)
    diluting = tuple(r for r in rivals if any(r.rivals(value) for value in right))
    excess = len(diluting) - ALLOWED_PER_RIGHT_VALUE * len(right)
    return Rivalry(
        contradicting=tuple(r for r in rivals if any(r.rivals(v) for v in coverage.missing)),
        diluting=diluting,
        focus=len(right) / (len(right) + excess) if right and excess > 0 else 1.0,
    )


def _suspects(
    reference: Reference, question: Contents, account: Account, coverage: Coverage
) -> list[Atom]:
    # Citing is not telling, but an answer that gives its only date by citing it lists every
    # date it cites.
    listed = [a for a in account.cited if a.kind == DATE] if coverage.cited else []
    return [
        value
        for value in dict.fromkeys((*account.contents.values, *listed))
        if any(value.rivals(asked) for asked in reference.asked)
        and not reference.contents.holds(value)
        and not question.holds(value)
    ]


def _about_the_question(question: Contents, account: Account, coverage: Coverage) -> list[Contents]:
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
