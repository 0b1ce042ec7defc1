"""Which side an answer takes in a question of yes or no.

In so many words, by what it concludes, by saying that there is no record, by telling what the
reference tells, by taking up the question ("it did not"), or by repeating it as a statement.
"""

import re

from recall_bench.judging.offline.abstention import Polarity, Reading, Stance
from recall_bench.judging.offline.answering import weighed
from recall_bench.judging.offline.case import Case, Right
from recall_bench.judging.offline.contents import Account

ABOUT_THE_QUESTION = 0.5
"""The share of the question's words from which on an opening speaks about the question."""
SAYS_THE_REFERENCE = 0.75
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


def side_of(case: Case, account: Account, reading: Reading) -> Polarity | None:
    """The side that an answer takes; None if it takes none."""
    if reading.polarity is not None:
        return reading.polarity
    concluded = _concluded(account) or _outright(account)
    if concluded is not None:
        return concluded
    if reading.stance is Stance.ABSENT:
        return Polarity.NO
    if _says_the_statement(case, account):
        return Polarity.YES if case.right is Right.AFFIRMS else Polarity.NO
    return _taken_up(case, account, reading)


def affirms_outright(case: Case, account: Account, reading: Reading) -> bool:
    """Whether an answer says yes in so many words, or that it did happen and nothing else."""
    outright = reading.polarity or _concluded(account) or _outright(account)
    if outright is not None:
        return outright is Polarity.YES
    opening = weighed(account, case.question.stems, frozenset())[0]
    if reading.is_negated or reading.stance is not Stance.ANSWERS or not opening.is_bare:
        return False
    repeats = opening.relevance >= ABOUT_THE_QUESTION * len(case.question.stems)
    return repeats or _TAKES_UP.search(opening.text) is not None


def _concluded(account: Account) -> Polarity | None:
    for sentence in account.sentences[:2]:
        match = _CONCLUSION.search(sentence)
        if match:
            return Polarity.NO if (match[1] or match[2]).lower() == "no" else Polarity.YES
    return None


def _outright(account: Account) -> Polarity | None:
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


def _says_the_statement(case: Case, account: Account) -> bool:
    if case.statement is None:
        return False
    opening = case.reader.phrase(account.sentences[0])
    return case.statement.likeness(opening) >= SAYS_THE_REFERENCE


def _taken_up(case: Case, account: Account, reading: Reading) -> Polarity | None:
    asked = case.question.stems
    opening = weighed(account, asked, frozenset())[0]
    is_about_it = opening.relevance >= ABOUT_THE_QUESTION * len(asked)
    if reading.is_negated:
        denies = reading.denies_existence and (opening.relevance or opening.is_direct)
        is_plain = opening.is_bare and _is_short(opening.text)
        return Polarity.NO if denies or is_plain or is_about_it else None
    takes_up = opening.is_bare and _TAKES_UP.search(opening.text) is not None
    return Polarity.YES if takes_up or is_about_it else None


def _is_short(sentence: str) -> bool:
    return len(sentence.split()) <= PLAIN_WORDS
