"""A question prepared for judging: what it says, and what a right answer does."""

from dataclasses import dataclass
from enum import StrEnum

from recall_bench.core.question import Disclosure, Expects, Item
from recall_bench.judging.offline.abstention import (
    Polarity,
    Stance,
    is_polar,
    read_stance,
    without_opener,
)
from recall_bench.judging.offline.contents import Contents, Reader
from recall_bench.judging.offline.coverage import Reference
from recall_bench.judging.offline.wording import plain


class Right(StrEnum):
    """What a right answer does."""

    TELLS = "tell the reference"
    AFFIRMS = "say yes"
    DENIES = "say no"
    ABSTAINS = "say that there is no such thing"
    DECLINES = "decline"


@dataclass(frozen=True, slots=True)
class Case:
    """One item, read once for all its answers."""

    item: Item
    right: Right
    question: Contents
    references: tuple[Reference, ...]
    """The reference and its aliases."""

    @property
    def has_secrets(self) -> bool:
        """Whether there is something that the asker may not be told."""
        disclosure = self.item.truth.disclosure
        return self.right is Right.DECLINES or disclosure is Disclosure.PARTIAL

    @property
    def known(self) -> tuple[Contents, ...]:
        """The texts whose atoms nobody has to have told."""
        return (self.question, *(reference.contents for reference in self.references))


def prepare(item: Item, reader: Reader) -> Case:
    """Read the question, its reference and the aliases of that."""
    question = reader.read(plain(item.text))
    right = _right(item)
    takes_side = right in (Right.AFFIRMS, Right.DENIES, Right.ABSTAINS)
    return Case(
        item=item,
        right=right,
        question=question,
        references=tuple(
            Reference.of(
                without_opener(plain(text)) if takes_side else plain(text), question, reader
            )
            for text in (item.truth.reference, *item.truth.aliases)
        ),
    )


def _right(item: Item) -> Right:
    truth = item.truth
    withhold = truth.disclosure is None and truth.expects is Expects.WITHHOLD
    if withhold or truth.disclosure is Disclosure.REFUSE:
        return Right.DECLINES
    if truth.expects is Expects.ABSTAIN:
        return Right.ABSTAINS
    reference = read_stance(plain(truth.reference))
    if reference.polarity is not None:
        return Right.DENIES if reference.polarity is Polarity.NO else Right.AFFIRMS
    if not is_polar(plain(item.text)) or " or " in item.text:
        return Right.TELLS
    denies = reference.is_negated or reference.stance is Stance.ABSENT
    return Right.DENIES if denies else Right.AFFIRMS
