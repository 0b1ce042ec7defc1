"""Which side an answer takes in a question of yes or no.

In so many words, by what it concludes, by saying that there is no record, by telling what the
reference tells, by taking up the question ("it did not"), or by repeating it as a statement.
"""

import re

from recall_bench.judging.offline.abstention import Polarity, Stance, StanceReading
from recall_bench.judging.offline.answering import weigh_sentences
from recall_bench.judging.offline.case import GradingCase, RightResponse
from recall_bench.judging.offline.contents import AnswerContents

QUESTION_SHARE = 0.5
"""The share of the question's words from which on an opening speaks about the question."""
STATEMENT_SHARE = 0.75
"""How much of the reference's statement an opening must say to be on its side."""
PLAIN_WORDS = 25
"""The longest sentence that can be nothing but a yes or a no."""

_CONCLUSION = re.compile(
    r"[,;:-]\s*(?:(?:so|hence|therefore|thus|in short)\b,?\s*)?"
    r"(?:(?:the answer|that) is |I(?:'d| would|'ll) say )?(yes|no)\W*$"
    r"|\b(?:answer (?:is|was|would be|must be)|it is|it's|that is|that's|makes (?:it|that)|so)"
    r"\W+(?:an? )?(?:\w+ )?(yes|no)\b",
    re.IGNORECASE,
)
_OUTRIGHT = re.compile(
    r"\W*(?P<sure>definitely|certainly|absolutely|clearly|apparently|indeed|of course|surely)?\W*"
    r"(?P<no>not\b)?",
    re.IGNORECASE,
)
_TAKES_UP = re.compile(
    r"\b(?:it|that|this|he|she|they|there|indeed)\b.{0,30}?\b(?:did|does|do|was|were|is|are|has"
    r"|have|had|happened|took place|occurred)\b",
    re.IGNORECASE,
)


def find_side(
    case: GradingCase, account: AnswerContents, reading: StanceReading
) -> Polarity | None:
    """The side that an answer takes; None if it takes none."""
    if reading.polarity is not None:
        return reading.polarity
    concluded = _find_conclusion(account) or _find_outright(account)
    if concluded is not None:
        return concluded
    if reading.stance is Stance.ABSENT:
        return Polarity.NO
    if _is_statement_repeat(case, account):
        return Polarity.YES if case.right is RightResponse.AFFIRMS else Polarity.NO
    return _find_implied_side(case, account, reading)


def is_plain_yes(case: GradingCase, account: AnswerContents, reading: StanceReading) -> bool:
    """Whether an answer says yes in so many words, or that it did happen and nothing else."""
    outright = reading.polarity or _find_conclusion(account) or _find_outright(account)
    if outright is not None:
        return outright is Polarity.YES
    opening = weigh_sentences(account, case.question.stems, frozenset())[0]
    if reading.is_negated or reading.stance is not Stance.ANSWERS or not opening.is_bare:
        return False
    repeats = opening.relevance >= QUESTION_SHARE * len(case.question.stems)
    return repeats or _TAKES_UP.search(opening.text) is not None


def _find_conclusion(account: AnswerContents) -> Polarity | None:
    for sentence in account.sentences[:2]:
        match = _CONCLUSION.search(sentence)
        if match:
            return Polarity.NO if (match[1] or match[2]).lower() == "no" else Polarity.YES
    return None


def _find_outright(account: AnswerContents) -> Polarity | None:
    """The side of an answer that opens "certainly not", or is "certainly" and nothing more."""
    opening = account.sentences[0]
    match = _OUTRIGHT.match(opening)
    if match is None or not (match["sure"] or match["no"]):
        return None
    if not _is_short(opening):
        return None
    if match["no"]:
        return Polarity.NO
    return Polarity.YES if not opening[match.end() :].strip(" .!") else None


def _is_statement_repeat(case: GradingCase, account: AnswerContents) -> bool:
    if case.statement is None:
        return False
    opening = case.reader.read_phrase(account.sentences[0])
    return case.statement.measure_likeness(opening) >= STATEMENT_SHARE


def _find_implied_side(
    case: GradingCase, account: AnswerContents, reading: StanceReading
) -> Polarity | None:
    asked = case.question.stems
    opening = weigh_sentences(account, asked, frozenset())[0]
    is_about_it = opening.relevance >= QUESTION_SHARE * len(asked)
    if reading.is_negated:
        denies = reading.denies_existence and (opening.relevance or opening.is_direct)
        is_plain = opening.is_bare and _is_short(opening.text)
        return Polarity.NO if denies or is_plain or is_about_it else None
    takes_up = opening.is_bare and _TAKES_UP.search(opening.text) is not None
    return Polarity.YES if takes_up or is_about_it else None


def _is_short(sentence: str) -> bool:
    return len(sentence.split()) <= PLAIN_WORDS
