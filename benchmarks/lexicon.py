"""Make the offline judge's lexicon from the database files of WordNet 3.0.

    python benchmarks/lexicon.py /usr/share/wordnet src/recall_bench/judging/offline/lexicon.txt.gz

A line of the first part is a stem with the concepts it names, those it comes near, and those that
are its opposites. Only the first senses of a word count: rare senses make everything alike. A line
of the second part is an irregular form and the stem of its base form.
"""

import argparse
import gzip
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from Stemmer import Stemmer

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
SENSES = {"n": 3, "v": 5, "a": 3, "r": 2}
"""How many senses of a word count, the most frequent first."""
MOST_HYPONYMS = 12
"""A verb above more verbs than this, such as "change", says too little to come near to them."""
PARTICLES = frozenset(
    "up down off out over away back in on through along aside forward around together apart".split()
)
SAME, SIMILAR, ABOVE, OPPOSITE = "+", "&", "@", "!"

Concepts = dict[str, set[str]]
Stem = Callable[[str], str]


class Pointer(NamedTuple):
    kind: str
    concept: str
    source: int
    target: int


class Synset(NamedTuple):
    words: list[str]
    pointers: list[Pointer]


class WordNet:
    """The database files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.frequency = self._count_words()
        self.ranks = dict(self._read_ranks())
        self.synsets = dict(self._read_synsets())

    def is_common(self, word: str, concept: str) -> bool:
        """Whether the concept is one of the word's first senses."""
        rank = self.ranks.get((word, concept), 99)
        return rank == 1 or rank <= SENSES[concept[0]]

    def read_irregular(self) -> Iterator[tuple[str, str]]:
        """Every irregular form with its base form."""
        for name in ("noun", "verb", "adj"):
            for line in (self._folder / f"{name}.exc").read_text().splitlines():
                form, base, *_ = line.split()
                yield form, base

    def _count_words(self) -> Counter[str]:
        found = Counter[str]()
        for line in (self._folder / "cntlist.rev").read_text().splitlines():
            key, _, count = line.split()
            found[key.partition("%")[0]] += int(count)
        return found

    def _read_ranks(self) -> Iterator[tuple[tuple[str, str], int]]:
        for kind, name in FILES.items():
            for line in (self._folder / f"index.{name}").read_text().splitlines():
                if line.startswith("  "):
                    continue
                word, _, count, *rest = line.split()
                for rank, offset in enumerate(rest[-int(count) :], start=1):
                    yield (word, kind + offset), rank

    def _read_synsets(self) -> Iterator[tuple[str, Synset]]:
        for kind, name in FILES.items():
            for line in (self._folder / f"data.{name}").read_text().splitlines():
                if not line.startswith("  "):
                    parts = line.partition("|")[0].split()
                    yield kind + parts[0], _parse_synset(parts)


def _parse_synset(parts: list[str]) -> Synset:
    size = int(parts[3], 16)
    words = [word.lower().partition("(")[0] for word in parts[4 : 4 + 2 * size : 2]]
    start = 4 + 2 * size
    pointers = []
    for at in range(start + 1, start + 1 + 4 * int(parts[start]), 4):
        kind, offset, part, places = parts[at : at + 4]
        concept = ("a" if part == "s" else part) + offset
        pointers.append(
            Pointer(kind, concept, *(int(place, 16) for place in (places[:2], places[2:])))
        )
    return Synset(words, pointers)


def make_lexicon(net: WordNet) -> str:
    """The text of the lexicon."""
    stem = Stemmer("english").stemWord
    tables = _collect_concepts(net, stem)
    users = Counter(concept for table in tables for found in table.values() for concept in found)
    named = {concept for found in tables[0].values() for concept in found}
    numbers: dict[str, str] = {}
    lines = []
    for word in sorted(tables[0]):
        row = [
            " ".join(
                numbers.setdefault(concept, f"{len(numbers):x}")
                for concept in sorted(table.get(word, ()))
                if users[concept] > 1 and concept in named
            )
            for table in tables
        ]
        if any(row):
            lines.append("\t".join((word, *row)).rstrip("\t"))
    forms = {
        form: stem(base)
        for form, base in net.read_irregular()
        if form.isalpha() and base.isalpha() and net.frequency[base] and stem(form) != stem(base)
    }
    return "\n".join([*lines, "", *(f"{form}\t{base}" for form, base in sorted(forms.items())), ""])


def _collect_concepts(net: WordNet, stem: Stem) -> tuple[Concepts, Concepts, Concepts]:
    own, near, opposite = (defaultdict[str, set[str]](set) for _ in range(3))
    below = Counter(
        pointer.concept
        for concept, synset in net.synsets.items()
        if concept[0] == "v"
        for pointer in synset.pointers
        if pointer.kind == ABOVE
    )
    for concept, synset in net.synsets.items():
        for place, word in enumerate(synset.words, start=1):
            key = _make_key(word, stem)
            is_rare = not net.frequency[word] and (
                concept[0] != "v" or net.ranks.get((word, concept), 99) > 1
            )
            if key is None or is_rare or not net.is_common(word, concept):
                continue
            own[key].add(concept)
            for pointer in synset.pointers:
                if pointer.kind == SAME and pointer.source in (0, place):
                    target = net.synsets[pointer.concept].words[max(pointer.target - 1, 0)]
                    if net.is_common(target, pointer.concept):
                        own[key].add(pointer.concept)
                elif pointer.kind == SIMILAR or (
                    pointer.kind == ABOVE
                    and concept[0] == "v"
                    and below[pointer.concept] <= MOST_HYPONYMS
                ):
                    near[key].add(pointer.concept)
                elif pointer.kind == OPPOSITE and pointer.source in (0, place):
                    opposite[key].add(pointer.concept)
    return own, near, opposite


def _make_key(word: str, stem: Stem) -> str | None:
    """The stem of a word, or of a verb with its particle; None for anything longer."""
    first, _, rest = word.partition("_")
    if not first.isalpha() or (rest and rest not in PARTICLES):
        return None
    return f"{stem(first)} {rest}" if rest else stem(first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    text = make_lexicon(WordNet(options.wordnet))
    options.out.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
