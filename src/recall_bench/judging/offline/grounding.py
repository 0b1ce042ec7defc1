"""Whether an answer tells only what could be known.

Checkable are values and the words of names. They are invented if neither the question, nor the
reference, nor anything told up to the day of the answer holds them. Whole numbers up to twelve
without a unit are not checkable: they count an answer's own points. What is told but stale is
wrong, and not invented.
"""

import re
from dataclasses import dataclass

from recall_bench.judging.offline.atoms import QUANTITY, ValueAtom
from recall_bench.judging.offline.case import GradingCase
from recall_bench.judging.offline.contents import AnswerContents
from recall_bench.judging.offline.grading import RuleGrade
from recall_bench.judging.offline.history_index import HistoryIndex
from recall_bench.judging.offline.literal import level_text
from recall_bench.judging.offline.wording import split_words

_QUOTATION = re.compile(r'"([^"\n]{3,400}?)(?:\S*\.\.\.)?"')

SMALL_COUNT = 12
QUOTED_LETTERS = 4
"""Shorter words in quotation marks are not worth checking."""
NON_ANSWER_TRUST = 0.4
DOUBT_PER_EXTRA_VALUE = 0.1
MOST_EXTRA_VALUES = 5
DOUBT_OF_CONTRADICTION = 0.3


@dataclass(frozen=True, slots=True)
class ExtraClaims:
    """What an answer tells beyond the question and the reference."""

    invented: tuple[str, ...]
    """The values and names that had not been told by then."""
    extra: int
    """How many values are not the question's or the reference's, told or not."""


_NO_CLAIMS = ExtraClaims((), 0)


def find_extra_claims(
    case: GradingCase, account: AnswerContents, history: HistoryIndex, days: int
) -> ExtraClaims:
    """What an answer tells beyond its case, checked against the history up to a day.

    Where no history is known, nothing can be said to be invented.
    """
    if history.is_empty:
        return _NO_CLAIMS
    known, answer = case.known, account.contents
    extra = [
        value
        for value in answer.values
        if not _is_small_count(value) and not any(text.holds(value) for text in known)
    ]
    invented = [value.value for value in extra if not history.is_value_known(value, days)]
    said = frozenset[str]().union(*(text.words for text in known))
    names = {name for name in answer.names - said if not history.is_word_known(name, days)}
    quoted = {
        word for word in _list_quoted_words(account.text) if not history.is_stem_known(word, days)
    }
    unsaid = sorted(names | (quoted - said))
    told = _find_literals(case, account) if invented or unsaid else ""
    news = [thing for thing in (*invented, *unsaid) if level_text(thing) not in told]
    return ExtraClaims(tuple(news), len(extra))


def _find_literals(case: GradingCase, account: AnswerContents) -> str:
    """What the truth writes and the answer spells in its own way, as in PX 40817 for PX-40817."""
    things = case.exact.wanted if case.exact else ()
    said = level_text(account.text)
    return " ".join(one for thing in things for one in thing.literals if one in said)


def _list_quoted_words(text: str) -> list[str]:
    """The words of what a plain text puts in quotation marks: somebody must have said them."""
    if '"' not in text:
        return []
    found = (word for quoted in _QUOTATION.findall(text) for word in split_words(quoted))
    return [word for word in found if len(word) >= QUOTED_LETTERS and word.isalpha()]


def score_groundedness(grade: RuleGrade, grounds: ExtraClaims) -> float:
    """From 0 to 1; at least a half exactly where nothing is invented.

    The upper half ranks answers that invent nothing by how much else there is to believe.
    """
    if grounds.invented or grade.affirms_what_never_was:
        return 0.25 * grade.correctness
    trust = NON_ANSWER_TRUST if grade.is_non_answer else grade.correctness
    trust -= DOUBT_PER_EXTRA_VALUE * min(grounds.extra, MOST_EXTRA_VALUES)
    if grade.is_contradicted:
        trust -= DOUBT_OF_CONTRADICTION
    return 0.5 + 0.5 * max(trust, 0.0)


def _is_small_count(value: ValueAtom) -> bool:
    if value.kind != QUANTITY or not value.is_bare:
        return False
    number = float(value.core)
    return number <= SMALL_COUNT and number.is_integer()
