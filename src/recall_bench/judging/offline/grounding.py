"""Whether an answer tells only what could be known.

Checkable are values and the words of names. They are invented if neither the question, nor the
reference, nor anything told up to the day of the answer holds them. Whole numbers up to twelve
without a unit are not checkable: they count an answer's own points. What is told but stale is
wrong, and not invented.
"""

from dataclasses import dataclass

from recall_bench.judging.offline.atoms import QUANTITY, Atom
from recall_bench.judging.offline.case import Case
from recall_bench.judging.offline.contents import Contents
from recall_bench.judging.offline.grading import Grade
from recall_bench.judging.offline.history_index import HistoryIndex

SMALL_COUNT = 12
NON_ANSWER_TRUST = 0.4
DOUBT_PER_EXTRA_VALUE = 0.1
MOST_EXTRA_VALUES = 5
DOUBT_OF_CONTRADICTION = 0.3


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an answer tells beyond the question and the reference."""

    invented: tuple[str, ...]
    """The values and names that had not been told by then."""
    extra: int
    """How many values are not the question's or the reference's, told or not."""


def find_grounds(case: Case, answer: Contents, history: HistoryIndex, days: int) -> Grounds:
    """What an answer tells beyond its case, checked against the history up to a day."""
    known = case.known
    extra = [
        value
        for value in answer.values
        if not _is_small_count(value) and not any(text.holds(value) for text in known)
    ]
    invented = [value.value for value in extra if not history.has_told(value, days)]
    said = frozenset[str]().union(*(text.words for text in known))
    names = (name for name in answer.names - said if not history.has_said(name, days))
    return Grounds((*invented, *sorted(names)), len(extra))


def groundedness(grade: Grade, grounds: Grounds) -> float:
    """From 0 to 1; at least a half exactly where nothing is invented.

    The upper half ranks answers that invent nothing by how much else there is to believe.
    """
    if grounds.invented or grade.affirms_what_never_was:
        return 0.25 * grade.correctness
    trust = NON_ANSWER_TRUST if grade.is_non_answer else grade.correctness
    trust -= DOUBT_PER_EXTRA_VALUE * min(grounds.extra, MOST_EXTRA_VALUES)
    if grade.contradicting:
        trust -= DOUBT_OF_CONTRADICTION
    return 0.5 + 0.5 * max(trust, 0.0)


def _is_small_count(value: Atom) -> bool:
    if value.kind != QUANTITY or not value.is_bare:
        return False
    number = float(value.core)
    return number <= SMALL_COUNT and number.is_integer()
