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
from recall_bench.judging.offline.atoms import DATE
from recall_bench.judging.offline.contents import Contents, Reader
from recall_bench.judging.offline.coverage import Reference
from recall_bench.judging.offline.exact import Exact, exact_of
from recall_bench.judging.offline.phrasing import Phrase
from recall_bench.judging.offline.wanted import Wanted, wanted
from recall_bench.judging.offline.wording import plain


class Right(StrEnum):
    """What a right answer does."""

    TELLS = "tell the reference"
    AFFIRMS = "say yes"
    DENIES = "say no"
    ABSTAINS = "say that there is no such thing"
    DECLINES = "decline"


_SIDES = {"yes": Right.AFFIRMS, "no": Right.DENIES}


@dataclass(frozen=True, slots=True)
class Case:
    """One item, read once for all its answers."""

    item: Item
    right: Right
    question: Contents
    references: tuple[Reference, ...]
    """The reference and its aliases."""
    exact: Exact | None
    """What every right answer contains, where the truth says it."""
    statement: Phrase | None
    """What the reference says beside its yes or no."""
    secrets: tuple[Wanted, ...]
    """What the dataset names as not to be told: values, and the strings planted beside them."""
    reader: Reader

    @property
    def is_exact(self) -> bool:
        """Whether the truth leaves nothing to interpretation."""
        truth = self.item.truth
        is_guarded = bool(truth.withheld or truth.canaries or truth.forbidden_sessions)
        return self.exact is not None or (self.right is Right.DECLINES and is_guarded)

    @property
    def wants_a_date(self) -> bool:
        """Whether a right answer holds a date."""
        things = self.exact.wanted if self.exact else ()
        return any(thing.value is not None and thing.value.kind == DATE for thing in things)

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
    statement = reader.phrase(without_opener(plain(item.truth.reference))) if takes_side else None
    return Case(
        item=item,
        right=right,
        question=question,
        exact=exact_of(item, question, reader),
        statement=statement if statement and statement.content else None,
        secrets=tuple(
            wanted(plain(secret), (), (), reader)
            for secret in (*item.truth.withheld, *item.truth.canaries)
        ),
        reader=reader,
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
    if truth.atoms:
        return _SIDES.get(truth.atoms[0].lower(), Right.TELLS)
    reference = read_stance(plain(truth.reference))
    if reference.polarity is not None:
        return Right.DENIES if reference.polarity is Polarity.NO else Right.AFFIRMS
    if not is_polar(plain(item.text)) or " or " in item.text:
        return Right.TELLS
    denies = reference.is_negated or reference.stance is Stance.ABSENT
    return Right.DENIES if denies else Right.AFFIRMS
