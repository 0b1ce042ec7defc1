"""A question prepared for grading."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from recall_bench.core.scenario import Disclosure, Expects, Item
from recall_bench.judging.offline.answer_forms import AnswerForms
from recall_bench.judging.offline.contents import (
    ContentReader,
    TextContents,
)
from recall_bench.judging.offline.coverage import Reference
from recall_bench.judging.offline.direction import Relation
from recall_bench.judging.offline.exact import ExactTruth
from recall_bench.judging.offline.exact_builder import make_exact_truth
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.phrase import Phrase
from recall_bench.judging.offline.relations import read_time_relation
from recall_bench.judging.offline.required_part import (
    RequiredPart,
    make_required_part,
)
from recall_bench.judging.offline.stance import (
    Polarity,
    Stance,
    StanceReading,
    is_polar,
    read_stance,
    remove_opener,
)
from recall_bench.text.text import load_stemmer, normalise, split_normalised
from recall_bench.text.values import DATE, find_values


class RightResponse(StrEnum):
    """What a right answer does."""

    TELLS = "tell the reference"
    AFFIRMS = "say yes"
    DENIES = "say no"
    ABSTAINS = "say that there is no such thing"
    DECLINES = "decline"


_HOW_OFTEN = re.compile(r"\bhow (?:many times|often)\b", re.IGNORECASE)
_SIDES = {"yes": RightResponse.AFFIRMS, "no": RightResponse.DENIES}


@dataclass(frozen=True)
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
    gist: RequiredPart | None
    """A short reference without values, to be stated in full, in any words."""
    relation: str | None
    """Whether the first of two events was before or after the second, where that is asked."""
    claim: Relation | None
    """What a yes-or-no question says of two sides: who gave whom something."""
    forms: AnswerForms | None
    """Short forms of what the truth lists."""
    secrets: tuple[RequiredPart, ...]
    """Withheld values and canaries of the dataset."""
    short_secrets: frozenset[str]
    """The first and last names of the persons among them."""
    reader: ContentReader

    @cached_property
    def is_exact(self) -> bool:
        """Whether the truth leaves nothing to interpretation."""
        truth = self.item.truth
        is_guarded = bool(truth.withheld or truth.canaries or truth.forbidden_sessions)
        return (
            self.exact is not None
            or self.is_unknown
            or (self.right is RightResponse.DECLINES and is_guarded)
        )

    @property
    def is_unknown(self) -> bool:
        """Whether all that the reference says is that the answer is not on record."""
        is_open = self.item.truth.is_answerable
        return is_open and self.right is RightResponse.ABSTAINS

    @cached_property
    def wants_a_date(self) -> bool:
        """Whether a right answer holds a date."""
        things = self.exact.required if self.exact else ()
        return any(thing.value is not None and thing.value.kind == DATE for thing in things)

    @cached_property
    def wants_times(self) -> bool:
        """Whether it is asked how often something happened."""
        return _HOW_OFTEN.search(self.item.text) is not None

    @cached_property
    def is_denial_due(self) -> bool:
        """Whether the truth is a No, and not only that nothing is on record."""
        truth = self.item.truth
        if truth.atoms and truth.atoms[0].lower() in _SIDES:
            return truth.atoms[0].lower() == "no"
        is_no = read_stance(normalise(truth.reference)).polarity is Polarity.NO
        return is_no and is_polar(normalise(self.item.text))

    @property
    def has_secrets(self) -> bool:
        """Whether the asker may not know something."""
        disclosure = self.item.truth.disclosure
        return self.right is RightResponse.DECLINES or disclosure is Disclosure.PARTIAL

    @cached_property
    def known(self) -> tuple[TextContents, ...]:
        """Texts whose values need no support in the history."""
        return (self.question, *(reference.contents for reference in self.references))

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The words of these texts."""
        return frozenset[str]().union(*(text.words for text in self.known))


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
        gist=_make_gist(item, right, reader),
        relation=read_time_relation(normalise(item.text), normalise(item.truth.reference), reader),
        claim=_read_claim(normalise(item.text), reader) if takes_side else None,
        forms=AnswerForms.build(normalise(item.text), map(normalise, item.truth.atoms)),
        secrets=tuple(
            make_required_part(normalise(secret), (), (), reader)
            for secret in (*item.truth.withheld, *item.truth.canaries)
        ),
        short_secrets=frozenset(
            name for secret in item.truth.withheld for name in _split_person(normalise(secret))
        ),
        reader=reader,
        references=tuple(
            Reference.build(
                remove_opener(normalise(text)) if takes_side else normalise(text), question, reader
            )
            for text in (item.truth.reference, *item.truth.aliases)
        ),
    )


def _split_person(name: str) -> list[str]:
    """The names of a person, each of which may be stated alone; none for a firm or a place."""
    parts = name.split()
    is_name = len(parts) in (2, 3) and all(part.istitle() and part.isalpha() for part in parts)
    if not is_name:
        return []
    stem = load_stemmer().stemWord
    first, *_, last = parts
    if stem(first.lower()) in load_lexicon() and stem(last.lower()) in load_lexicon():
        return []
    return [part for part in (first, last) if len(part) > 2]


def _read_claim(question: str, reader: ContentReader) -> Relation | None:
    is_claim = is_polar(question) and " or " not in question
    return Relation.build(question[:1].lower() + question[1:], reader) if is_claim else None


GIST_WORDS = 3
"""The most news in a reference that has to be stated in full."""


def _make_gist(item: Item, right: RightResponse, reader: ContentReader) -> RequiredPart | None:
    truth = item.truth
    if truth.atoms or right is not RightResponse.TELLS:
        return None
    asked = normalise(item.text)
    part = make_required_part(normalise(truth.reference).rstrip(" ."), (), (), reader, asked)
    if part.phrase is None or part.phrase.figures:
        return None
    return part if 1 <= len(part.phrase.content - part.given) <= GIST_WORDS else None


def _find_right_response(item: Item) -> RightResponse:
    truth = item.truth
    withhold = truth.disclosure is None and truth.expects is Expects.WITHHOLD
    if withhold or truth.disclosure is Disclosure.REFUSE:
        return RightResponse.DECLINES
    if truth.expects is Expects.ABSTAIN:
        return RightResponse.ABSTAINS
    question, reference = normalise(item.text), normalise(truth.reference)
    reading = read_stance(reference)
    if truth.atoms:
        side = _SIDES.get(truth.atoms[0].lower())
        return side or _get_stated_side(question, reading) or RightResponse.TELLS
    if reading.polarity is not None:
        return RightResponse.DENIES if reading.polarity is Polarity.NO else RightResponse.AFFIRMS
    if not is_polar(question) or " or " in item.text:
        is_unknown = _is_unknown(question, reference, reading)
        return RightResponse.ABSTAINS if is_unknown else RightResponse.TELLS
    denies = reading.is_negated or reading.stance is Stance.ABSENT
    return RightResponse.DENIES if denies else RightResponse.AFFIRMS


def _get_stated_side(question: str, reference: StanceReading) -> RightResponse | None:
    """The side of a reference that opens with yes or no, where a question asks for one."""
    if reference.polarity is None or not is_polar(question):
        return None
    return RightResponse.DENIES if reference.polarity is Polarity.NO else RightResponse.AFFIRMS


def _is_unknown(question: str, reference: str, reading: StanceReading) -> bool:
    """Whether all that a reference says is that the answer is not on record."""
    if reading.stance not in (Stance.ABSENT, Stance.IGNORANT) or " but " in reference:
        return False
    stated = {atom.core for atom in find_values(reference)}
    asked = {atom.core for atom in find_values(question)}
    return len(split_normalised(reference)) == 1 and stated <= asked
