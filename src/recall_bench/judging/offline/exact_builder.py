"""What a question with listed parts requires, prepared once for all its answers."""

import re
from collections.abc import Sequence

from recall_bench.core.scenario import Item
from recall_bench.judging.offline.answer_sentence import FRAME
from recall_bench.judging.offline.arrangement import find_alternative, name_options, remove_place
from recall_bench.judging.offline.choice import OpposedChoice
from recall_bench.judging.offline.contents import ContentReader, TextContents
from recall_bench.judging.offline.direction import Relation
from recall_bench.judging.offline.exact import ExactTruth
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.phrase import level_text, make_literal
from recall_bench.judging.offline.relations import (
    NameLabels,
    PartLabels,
    cut_segments,
    find_actors,
    find_mentions,
    find_roles,
)
from recall_bench.judging.offline.required_part import TITLES, RequiredPart, make_required_part
from recall_bench.judging.offline.stance import is_polar, read_stance
from recall_bench.text.text import STOPWORDS, load_stemmer, normalise

SIDES = frozenset({"yes", "no"})
_SEQUENCE = re.compile(
    r"\b(?:in (?:what|which) order|in order|(?:the|right|what) order of (?:the|our|my)|sequence"
    r"|step by step"
    r"|chronolog\w+)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:order|sequence|first|last|earl(?:y|ier|iest)|late(?:r|st)|sooner|before|after)\b",
    re.IGNORECASE,
)
_FIRST_OF_TWO = re.compile(
    r"\b(?:which|who|what)\b[^,:?]*\b(?:first|earlier|sooner)\b[^?]*\sor\s", re.IGNORECASE
)
_COMPARED = re.compile(
    r"\bwhich (?:\w+ ){0,4}?(?:is|was|were|are|cost|took) (?:the )?(?!earlier|later|sooner|former"
    r"|latter)(?:more|less|\w{3,}er)\b",
    re.IGNORECASE,
)


def _select_atoms(item: Item, asked: str, reader: ContentReader) -> list[str]:
    """The parts that an answer has to state beside a yes or no, without their places."""
    truth = item.truth
    given = reader.read_phrase(asked).tokens
    is_side = is_polar(asked) and read_stance(normalise(truth.reference)).polarity is not None
    atoms = [
        text
        for atom in truth.atoms
        if atom.lower() not in SIDES
        and (text := normalise(atom))
        # "Never applied", where it is asked whether a person applied, is the side itself.
        and not (is_side and reader.read_phrase(text).content <= given)
    ]
    is_sequence = len(atoms) > 1 and _SEQUENCE.search(asked) is not None
    return list(map(remove_place, atoms)) if is_sequence else atoms


_FULL_NAME = re.compile(r"\b(?=([A-Z][\w-]+) ([A-Z][\w-]+)\b)")


def _complete_name(atom: str, reference: str) -> list[str]:
    """The full name and the other name of a person of whom an atom has one name alone."""
    if not re.fullmatch(r"[A-Z][\w-]+", atom):
        return []
    full = next((pair for pair in _FULL_NAME.finditer(reference) if atom in pair.groups()), None)
    if full is None:
        return []
    other = full[2] if full[1] == atom else full[1]
    if other.lower() in STOPWORDS | TITLES:
        return []
    stems = [load_stemmer().stemWord(word.lower()) for word in (atom, other)]
    is_person = not any(stem in load_lexicon() for stem in stems)
    return [f"{full[1]} {full[2]}", other] if is_person else []


def _asks_order(asked: str, things: Sequence[RequiredPart]) -> bool:
    """Whether a question names the things and asks for their order."""
    if len(things) == 1 and _COMPARED.search(asked):
        return False  # "Which was shorter, the first or the second?"
    if len(things) > 1 and _SEQUENCE.search(asked):
        return True
    is_listed = all(make_literal(thing.text) in level_text(asked) for thing in things)
    return bool(things) and is_listed and _ORDER.search(asked) is not None


_LISTED = re.compile(r"[,;:?.](?=\s|$)|\sand\s|\s(?:did|came|come|were|was)\s")


def _find_distinct_words(
    things: Sequence[RequiredPart], reference: str, asked: str, reader: ContentReader
) -> tuple[frozenset[str], ...]:
    """The words that the reference and the question's list have for one thing and for no other."""
    places = [find_mentions(thing, reference, reader) for thing in things]
    if len(things) < 2 or not all(places):
        return ()
    segments = cut_segments(reference, [place[0] for place in places])
    own = [set(reader.read_phrase(reference[start:end]).content) for start, end in segments]
    names = [
        content
        for name in _LISTED.split(asked)
        if name and (content := reader.read_phrase(name).content)
    ]
    for words in own:
        reached = [len(words & name) for name in names]
        best = max(reached, default=0)
        if best and reached.count(best) == 1:
            words.update(names[reached.index(best)])
    return tuple(
        frozenset(words - FRAME).difference(*(other for other in own if other is not words))
        for words in own
    )


def _select_actors(
    things: tuple[RequiredPart, ...], reference: str, reader: ContentReader
) -> tuple[RequiredPart, ...]:
    """The two that a reference puts into a relation: two required things, or two of its names."""
    if len(things) == 2 and find_roles(reference, things, reader) is not None:
        return things
    return find_actors(reference, reader)


def make_exact_truth(
    item: Item, question: TextContents, reader: ContentReader
) -> ExactTruth | None:
    """What an item requires; None where its truth does not say."""
    truth = item.truth
    if not truth.atoms:
        return None
    asked = normalise(item.text)
    atoms = _select_atoms(item, asked, reader)
    hints, _ = reader.split_parts(normalise(truth.reference))
    aliases = [alias for alias in truth.aliases if alias.lower() not in SIDES]
    things = tuple(
        make_required_part(
            atom,
            [*(aliases if len(atoms) == 1 else ()), *_complete_name(atom, truth.reference)],
            hints,
            reader,
            asked,
        )
        for atom in atoms
    )
    distractors = tuple(
        make_required_part(normalise(distractor), (), (), reader, asked)
        for distractor in truth.distractors
        if distractor not in truth.stale and distractor.lower() not in SIDES
    )
    is_order = _asks_order(asked, things)
    if len(things) == 2 and _FIRST_OF_TWO.search(asked):
        # The truth gives both in their order; to name the first is to answer.
        names = name_options(asked, atoms, reader)
        first, second = (
            make_required_part(atom, own, (), reader, asked)
            for atom, own in zip(atoms, names, strict=True)
        )
        is_order, things, distractors = True, (first,), (second,)
    elif is_order and len(things) == 1 and not distractors:
        other = find_alternative(asked, things[0].text, reader)
        distractors = (make_required_part(other, (), (), reader, asked),) if other else ()
    reference = normalise(truth.reference)
    actors = _select_actors(things, reference, reader)
    texts = (truth.reference, *truth.atoms, *aliases, *truth.stale, *truth.distractors)
    return ExactTruth(
        required=things,
        stale=tuple(make_required_part(normalise(s), (), (), reader, asked) for s in truth.stale),
        distractors=distractors,
        is_order=is_order,
        question=question,
        asked=level_text(asked),
        stems=frozenset().union(*(reader.read(normalise(text)).stems for text in texts)),
        reader=reader,
        labels=PartLabels.build(things, reference, asked, reader),
        name_labels=NameLabels.build(reference, asked, reader),
        actors=actors,
        roles=find_roles(reference, actors, reader) if actors else None,
        relation=Relation.build(reference, reader),
        asked_relation=Relation.build(asked[:1].lower() + asked[1:], reader),
        texts=(asked, reference),
        known_words=reader.read_phrase(asked).content | reader.read_phrase(reference).content,
        choice=OpposedChoice.build(asked, things[0].text) if len(things) == 1 else None,
        distinct=_find_distinct_words(things, reference, asked, reader) if is_order else (),
    )
