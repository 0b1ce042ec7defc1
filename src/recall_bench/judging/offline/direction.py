"""Answers that name the two sides of a relation, and exchange them.

A relation is what stands between two names, or two things, in one clause: "Rhea is older than
Nils", "from Leeds to York". It is reversed if the sides are exchanged, if the words between them
mean the opposite, or if it is said in the passive; two of these cancel out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from recall_bench.judging.offline.contents import ContentReader
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.phrase import Phrase
from recall_bench.judging.offline.relations import Span, find_mentions, split_clauses
from recall_bench.judging.offline.required_part import RequiredPart, make_required_part
from recall_bench.text.text import STOPWORDS

_NAME_RUN = re.compile(r"\b[A-Z][\w'-]*(?:\s[A-Z][\w'-]*)*")
_THINGS = re.compile(
    r"^(?:The|An?)\s(?P<one>[a-z]+)\s.*\b(?:of|than|to|from|by|on|with)\s(?:the|an?)\s"
    r"(?P<other>[a-z]+)\W*$"
)
_ADDRESSED = re.compile(r"\b(?:[Yy]ou|I|me|[Ww]e|us)\b")
_PRONOUN = re.compile(r"\b(?:he|she|him|her|they|them)\b", re.IGNORECASE)
_BREAK = re.compile(r"[.;!?:,](?=\s|$)|\n|\b(?:and|or|while|but)\b")
_PASSIVE = re.compile(r"\b(?:was|were|is|are|been|being|got|be)\b[^,]*\bby\b", re.IGNORECASE)
_SOURCE = re.compile(r"\b(?:from|left|leaving)\s(?:the\s)?$", re.IGNORECASE)
_TARGET = re.compile(r"\b(?:to|into|for|towards?)\s(?:the\s)?$", re.IGNORECASE)
_COMPARATIVE = re.compile(r"(?:(.)\1)?(?:ier|er)$")


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """What a clause says between two sides."""

    first: int
    """The side that is named first."""
    words: frozenset[str]
    is_passive: bool
    source: int | None = None
    """The side that something comes from, where that is said,"""
    target: int | None = None
    """and the one that it goes to."""
    owner: int | None = None
    """The side that has something: "Nils's brother"."""


def find_sides(reference: str, reader: ContentReader) -> tuple[RequiredPart, ...]:
    """The two sides of a reference's relation; nothing if it has not two."""
    names = dict.fromkeys(
        name
        for run in _NAME_RUN.findall(reference)
        if (name := " ".join(word for word in run.split() if word.lower() not in STOPWORDS))
        and (name := name.removesuffix("'s"))
    )
    texts: list[tuple[str, tuple[str, ...]]] = [(name, ()) for name in names]
    things = _THINGS.match(reference)
    if len(texts) == 1 and (addressed := _ADDRESSED.search(reference)):
        texts.append((addressed[0], ("you", "I", "me", "we", "us")))
    elif not texts and things:
        texts = [(things["one"], ()), (things["other"], ())]
    if len(texts) != 2:
        return ()
    return tuple(make_required_part(text, aliases, (), reader) for text, aliases in texts)


def read_relations(
    text: str, sides: Sequence[RequiredPart], reader: ContentReader
) -> Iterator[StatedRelation]:
    """The relations between two sides in a text, one for each clause with both."""
    mentions = sorted(
        (span, number)
        for number, side in enumerate(sides)
        for span in find_mentions(side, text, reader)
    )
    named = {number for _, number in mentions}
    if len(named) == 1:
        # The other side may be a pronoun.
        pronouns = [(match.span(), 1 - min(named)) for match in _PRONOUN.finditer(text)]
        mentions = sorted([*mentions, *pronouns])
    for (one, first), (other, second) in pairwise(mentions):
        between = text[one[1] : other[0]]
        if first == second or _BREAK.search(between):
            continue
        words = _list_words(between, reader)
        if not words:
            start = max((m.end() for m in _BREAK.finditer(text, 0, one[0])), default=0)
            stop = _BREAK.search(text, other[1])
            rest = text[start : one[0]], text[other[1] : stop.start() if stop else len(text)]
            words = _list_words(" ".join(rest), reader)
        yield StatedRelation(
            first,
            words,
            _PASSIVE.search(between) is not None,
            _find_end(_SOURCE, text, ((one, first), (other, second))),
            _find_end(_TARGET, text, ((one, first), (other, second))),
            next(
                (n for s, n in ((one, first), (other, second)) if text.startswith("'s", s[1])), None
            ),
        )


def _find_end(
    pattern: re.Pattern[str], text: str, mentions: Sequence[tuple[Span, int]]
) -> int | None:
    return next((side for (start, _), side in mentions if pattern.search(text, 0, start)), None)


def _list_words(text: str, reader: ContentReader) -> frozenset[str]:
    """The words of a text that have content, comparatives also in their base form."""
    phrase = reader.read_phrase(text)
    words = phrase.content - phrase.figures
    return words | {base for word in words for base in find_bases(word)}


def find_bases(word: str) -> Iterator[str]:
    """The base form of a comparative, as far as it is a word."""
    match = _COMPARATIVE.search(word) if word.endswith("er") else None
    if match is None:
        return
    stem = word[: match.start()] + (match[1] or "")
    yield from (base for base in (stem, f"{stem}i", f"{stem}e") if base in load_lexicon())


@dataclass(frozen=True, slots=True)
class Relation:
    """The first relation of a text, with its sides."""

    sides: tuple[RequiredPart, ...]
    stated: StatedRelation

    @classmethod
    def build(cls, text: str, reader: ContentReader) -> "Relation | None":
        """The relation of a reference or a question; None if it states none."""
        sides = find_sides(text, reader)
        stated = next(read_relations(text, sides, reader), None) if sides else None
        return None if stated is None else cls(sides, stated)

    def is_reversed(self, text: str, reader: ContentReader) -> bool:
        """Whether a text exchanges the sides, and never has them right."""
        found = [_compare(self.stated, other) for other in read_relations(text, self.sides, reader)]
        return False in found and True not in found

    def is_role_reversed(self, text: str, reader: ContentReader) -> bool:
        """Whether the addressee of a statement in a question makes it in an answer."""
        hearer = self.sides[1 - self.stated.first]
        verbs = Phrase((), frozenset(), self.stated.words, frozenset())
        for start, end in split_clauses(text):
            clause = text[start:end].lstrip()
            spans = find_mentions(hearer, clause, reader)
            if not spans or spans[0][0]:
                continue
            after = reader.read_phrase(" ".join(clause[spans[0][1] :].split()[:2]))
            if len(verbs.find_missing(after)) < len(self.stated.words):
                return True
        return False


def _compare(wanted: StatedRelation, stated: StatedRelation) -> bool | None:
    """Whether two relations agree; None if they are about different things."""
    ends = (wanted.source, wanted.target), (stated.source, stated.target)
    if None not in ends[0] and None not in ends[1] and wanted.source != wanted.target:
        return ends[0] == ends[1]
    if wanted.source is not None and wanted.source == stated.target and stated.source is None:
        return False  # "sent to Cormac" for "from Cormac"
    if wanted.owner is not None and stated.owner is not None:
        return wanted.owner == stated.owner if wanted.words & stated.words else None
    whole = Phrase((), frozenset(), wanted.words, frozenset())
    target = Phrase((), frozenset(), stated.words, stated.words)
    is_shared = len(whole.find_missing(target)) < len(wanted.words)
    find_opposites = load_lexicon().find_opposites
    is_opposed = any(not find_opposites(word).isdisjoint(stated.words) for word in wanted.words)
    if not is_shared and not is_opposed:
        return None
    turns = (wanted.first != stated.first) + is_opposed + (wanted.is_passive != stated.is_passive)
    return turns % 2 == 0


_NEGATED = re.compile(r"\b(?:not|no|never|neither|nor)\b|n't\b", re.IGNORECASE)


def is_comparison_reversed(
    question: str, part: RequiredPart, text: str, reader: ContentReader
) -> bool:
    """Whether an answer says the opposite of what is asked for: "more expensive" for "cheaper"."""
    phrase = reader.read_phrase(question)
    asked = frozenset(base for word in phrase.content for base in find_bases(word))
    if not asked:
        return False
    asked = asked.union(*map(load_lexicon().find_same, asked))
    find_opposites = load_lexicon().find_opposites
    opposites = frozenset[str]().union(*map(find_opposites, asked)) - phrase.tokens - asked
    if not opposites:
        return False
    for start, end in split_clauses(text):
        clause = text[start:end]
        spans = find_mentions(part, clause, reader)
        if not spans or _NEGATED.search(clause):
            continue
        words = _list_words(clause, reader)
        than = clause.find(" than ")
        is_before = than < 0 or spans[0][0] < than
        if not opposites.isdisjoint(words):
            return is_before
        if not asked.isdisjoint(words):
            return not is_before
    return False


_GOES_TO = re.compile(r"\bto\s(?:the\s)?$", re.IGNORECASE)
_COMES_FROM = re.compile(r"^\W*from\s(?:the\s)?$", re.IGNORECASE)


def is_origin_exchanged(
    reference: str, part: RequiredPart, text: str, reader: ContentReader
) -> bool:
    """Whether an answer is just "from" a person that something went to."""
    wanted, stated = (find_mentions(part, each, reader)[:1] for each in (reference, text))
    if not wanted or not stated:
        return False
    goes_to = _GOES_TO.search(reference, 0, wanted[0][0]) is not None
    return goes_to and _COMES_FROM.search(text, 0, stated[0][0]) is not None
