"""A question prepared for grading, and the side an answer takes in a yes-or-no question.

A side is stated outright, concluded, implied by saying that there is no record, by repeating the
reference's statement, by taking up the question ("it did not"), or by restating it.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from recall_bench.core.scenario import Disclosure, Expects, Item
from recall_bench.core.text import normalise
from recall_bench.core.values import DATE
from recall_bench.judging.offline.contents import AnswerContents, ContentReader, TextContents
from recall_bench.judging.offline.coverage import Reference
from recall_bench.judging.offline.exact import ExactTruth, make_exact_truth
from recall_bench.judging.offline.phrase import Phrase
from recall_bench.judging.offline.required_part import (
    RequiredPart,
    make_required_part,
    weigh_sentences,
)
from recall_bench.judging.offline.stance import (
    Polarity,
    Stance,
    StanceReading,
    is_polar,
    read_stance,
    remove_opener,
)


class RightResponse(StrEnum):
    """What a right answer does."""

    TELLS = "tell the reference"
    AFFIRMS = "say yes"
    DENIES = "say no"
    ABSTAINS = "say that there is no such thing"
    DECLINES = "decline"


_SIDES = {"yes": RightResponse.AFFIRMS, "no": RightResponse.DENIES}


@dataclass(frozen=True, slots=True)
class GradingCase:
    """One item, prepared once for all its answers."""

    item: Item
    right: RightResponse
    question: TextContents
    references: tuple[Reference, ...]
    """The reference and its aliases."""
    exact: ExactTruth | None
    """What every right answer contains, where the truth lists it."""
    statement: Phrase | None
    """What the reference says beside its yes or no."""
    secrets: tuple[RequiredPart, ...]
    """Withheld values and canaries of the dataset."""
    reader: ContentReader

    @property
    def is_exact(self) -> bool:
        """Whether the truth leaves nothing to interpretation."""
        truth = self.item.truth
        is_guarded = bool(truth.withheld or truth.canaries or truth.forbidden_sessions)
        return self.exact is not None or (self.right is RightResponse.DECLINES and is_guarded)

    @property
    def wants_a_date(self) -> bool:
        """Whether a right answer holds a date."""
        things = self.exact.required if self.exact else ()
        return any(thing.value is not None and thing.value.kind == DATE for thing in things)

    @property
    def has_secrets(self) -> bool:
        """Whether the asker may not know something."""
        disclosure = self.item.truth.disclosure
        return self.right is RightResponse.DECLINES or disclosure is Disclosure.PARTIAL

    @property
    def known(self) -> tuple[TextContents, ...]:
        """Texts whose values need no support in the history."""
        return (self.question, *(reference.contents for reference in self.references))


def prepare_case(item: Item, reader: ContentReader) -> GradingCase:
    """Prepare the question, its reference and its aliases."""
    question = reader.read(normalise(item.text))
    right = _find_right_response(item)
    takes_side = right in (RightResponse.AFFIRMS, RightResponse.DENIES, RightResponse.ABSTAINS)
    statement = (
        reader.read_phrase(remove_opener(normalise(item.truth.reference))) if takes_side else None
    )
    return GradingCase(
        item=item,
        right=right,
        question=question,
        exact=make_exact_truth(item, question, reader),
        statement=statement if statement and statement.content else None,
        secrets=tuple(
            make_required_part(normalise(secret), (), (), reader)
            for secret in (*item.truth.withheld, *item.truth.canaries)
        ),
        reader=reader,
        references=tuple(
            Reference.build(
                remove_opener(normalise(text)) if takes_side else normalise(text), question, reader
            )
            for text in (item.truth.reference, *item.truth.aliases)
        ),
    )


def _find_right_response(item: Item) -> RightResponse:
    truth = item.truth
    withhold = truth.disclosure is None and truth.expects is Expects.WITHHOLD
    if withhold or truth.disclosure is Disclosure.REFUSE:
        return RightResponse.DECLINES
    if truth.expects is Expects.ABSTAIN:
        return RightResponse.ABSTAINS
    if truth.atoms:
        return _SIDES.get(truth.atoms[0].lower(), RightResponse.TELLS)
    reference = read_stance(normalise(truth.reference))
    if reference.polarity is not None:
        return RightResponse.DENIES if reference.polarity is Polarity.NO else RightResponse.AFFIRMS
    if not is_polar(normalise(item.text)) or " or " in item.text:
        return RightResponse.TELLS
    denies = reference.is_negated or reference.stance is Stance.ABSENT
    return RightResponse.DENIES if denies else RightResponse.AFFIRMS


QUESTION_SHARE = 0.5
"""The share of the question's words that makes an opening be about the question."""
STATEMENT_SHARE = 0.75
"""The share of the reference's statement that puts an opening on its side."""
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
    """Whether an answer says yes outright, or only that it did happen."""
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
    """The side of an answer that opens "certainly not", or is just "certainly"."""
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
