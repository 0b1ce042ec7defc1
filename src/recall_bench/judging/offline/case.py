"""A question prepared for judging."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from recall_bench.core.scenario import Disclosure, Expects, Item
from recall_bench.judging.offline.contents import ContentReader, TextContents, level_text
from recall_bench.judging.offline.stance import (
    Polarity,
    Stance,
    StanceReading,
    is_polar,
    read_stance,
)
from recall_bench.judging.offline.wanted import WantedPart, derive_parts, make_wanted_part
from recall_bench.text.text import STOPWORDS, normalise, split_normalised
from recall_bench.text.values import find_values


class RightResponse(StrEnum):
    """What a right answer does."""

    TELLS = "tell the reference"
    AFFIRMS = "say yes"
    DENIES = "say no"
    ABSTAINS = "say that there is no such thing"
    DECLINES = "decline"


_SIDES = {"yes": RightResponse.AFFIRMS, "no": RightResponse.DENIES}


@dataclass(frozen=True)
class JudgedCase:
    """One item, prepared once for all its answers."""

    item: Item
    right: RightResponse
    question: TextContents
    references: tuple[TextContents, ...]
    """The reference and its aliases."""
    wordings: frozenset[str]
    """The same, levelled."""
    required: tuple[WantedPart, ...]
    """What every right answer contains beside a yes or no: as the truth lists it, or else by its
    reference."""
    others: tuple[WantedPart, ...]
    """Superseded values and distractors."""
    stale: tuple[WantedPart, ...]
    secrets: tuple[WantedPart, ...]
    """Withheld values and canaries of the dataset."""
    short_secrets: frozenset[str]
    """The first and last names of the persons among them."""
    reader: ContentReader

    @cached_property
    def is_denial_due(self) -> bool:
        """Whether the truth is a No, so that only to deny is right."""
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
    def stems(self) -> frozenset[str]:
        """The stems of the truth and of the other candidates."""
        parts = (self.reader.read(part.text).stems for part in (*self.required, *self.others))
        return frozenset[str]().union(*(text.stems for text in self.references), *parts)


def prepare_case(item: Item, reader: ContentReader) -> JudgedCase:
    """Prepare the question, its reference and its aliases."""
    truth = item.truth
    asked = normalise(item.text)
    wordings = [normalise(text) for text in (truth.reference, *truth.aliases)]
    atoms = [normalise(atom) for atom in truth.atoms if atom.lower() not in _SIDES]
    aliases = truth.aliases if len(atoms) == 1 else ()
    stale = [text for text in truth.stale if text.lower() not in _SIDES]
    distractors = [
        text for text in truth.distractors if text not in truth.stale and text.lower() not in _SIDES
    ]
    secrets = [normalise(secret) for secret in (*truth.withheld, *truth.canaries)]

    def prepare(text: str) -> WantedPart:
        return make_wanted_part(normalise(text), (), reader, asked)

    return JudgedCase(
        item=item,
        right=_find_right_response(item),
        question=reader.read(asked),
        references=tuple(map(reader.read, wordings)),
        wordings=frozenset(map(level_text, wordings)),
        required=tuple(make_wanted_part(atom, aliases, reader, asked) for atom in atoms)
        if truth.atoms
        else derive_parts(wordings[0], asked, reader),
        others=tuple(map(prepare, [*stale, *distractors])),
        stale=tuple(map(prepare, stale)),
        secrets=tuple(make_wanted_part(secret, (), reader) for secret in secrets),
        short_secrets=frozenset(
            name for secret in map(normalise, truth.withheld) for name in _split_person(secret)
        ),
        reader=reader,
    )


def _split_person(name: str) -> list[str]:
    """The names of a person, each of which may be stated alone; none for a firm or a place."""
    parts = name.split()
    is_name = len(parts) in (2, 3) and all(part.istitle() and part.isalpha() for part in parts)
    if not is_name:
        return []
    return [
        part for part in (parts[0], parts[-1]) if len(part) > 2 and part.lower() not in STOPWORDS
    ]


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
