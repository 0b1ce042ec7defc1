"""Questions that offer a word and its opposite: "larger or smaller", "for or against".

An answer takes the side of its words, in any form. A negation turns it, and so does saying it of
the thing that the question compares with ("the old one was larger").
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recall_bench.judging.offline.direction import find_bases
from recall_bench.judging.offline.lexicon import load_lexicon
from recall_bench.judging.offline.relations import split_clauses
from recall_bench.text.text import STOPWORDS, WORD, load_stemmer

_OFFER = re.compile(r"\b(?P<one>[a-z]+)\sor\s(?P<other>[a-z]+)\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|neither|hardly)\b|n't\b", re.IGNORECASE)
_MEASURED = re.compile(r"\s(?:than|of|from)\s")
_STANDS_FOR = {"for": "favor"}


@dataclass(frozen=True, slots=True)
class OpposedChoice:
    """The two sides of a choice, and what a question compares."""

    wanted: frozenset[str]
    """The words of the right side,"""
    other: frozenset[str]
    """and of the other one."""
    subject: frozenset[str]
    """The words of the thing that is asked about,"""
    measure: frozenset[str]
    """and of the one that it is compared with."""

    @classmethod
    def build(cls, question: str, wanted: str) -> "OpposedChoice | None":
        """The choice of a question, one side of which is the truth; None if it has none."""
        for match in _OFFER.finditer(question):
            sides = [_collect_words(match[name]) for name in ("one", "other")]
            stems = [_collect_bases(match[name]) for name in ("one", "other")]
            if stems[1].isdisjoint(_find_opposites(stems[0])):
                continue
            own = frozenset().union(*(_collect_bases(word) for word in wanted.split()))
            right = next((n for n in (0, 1) if not own.isdisjoint(stems[n])), None)
            if right is None:
                return None
            before, _, after = _MEASURED.sub("\n", question[match.end() :], count=1).partition("\n")
            subject = _list_stems(f"{question[: match.start()]} {before}")
            measure = _list_stems(after)
            shared = sides[0] & sides[1]
            return cls(
                sides[right] - shared,
                sides[1 - right] - shared,
                subject - measure,
                measure - subject,
            )
        return None

    def read(self, text: str) -> bool | None:
        """Whether a text takes the right side; None if it takes none, or both."""
        for start, end in split_clauses(text):
            clause = text[start:end]
            located = list(_locate_stems(clause))
            stated = [
                (place, form in self.wanted)
                for word, place in located
                if word not in self.subject and word not in self.measure
                for form in (word, *find_bases(word))
                if form in self.wanted or form in self.other
            ]
            if not stated:
                continue
            if len({side for _, side in stated}) == 2:
                return None
            first, is_right = stated[0]
            before = {word for word, place in located if place < first}
            is_of_other = not before.isdisjoint(self.measure) and before.isdisjoint(self.subject)
            turns = (len(_NEGATION.findall(clause)) + is_of_other) % 2
            return is_right is (turns == 0)
        return None


def _locate_stems(text: str) -> Iterator[tuple[str, int]]:
    for match in WORD.finditer(text.lower()):
        yield _STANDS_FOR.get(match[0]) or load_stemmer().stemWord(match[0]), match.start()


def _list_stems(text: str) -> frozenset[str]:
    words = (match[0] for match in WORD.finditer(text.lower()) if match[0] not in STOPWORDS)
    return frozenset(map(load_stemmer().stemWord, words))


def _collect_bases(word: str) -> frozenset[str]:
    stem = _STANDS_FOR.get(word.lower()) or load_stemmer().stemWord(word.lower())
    return frozenset({stem, *find_bases(stem)})


def _find_opposites(stems: frozenset[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(load_lexicon().find_opposites, stems))


def _collect_words(word: str) -> frozenset[str]:
    stems = _collect_bases(word)
    return stems.union(*map(load_lexicon().find_alike, stems))
