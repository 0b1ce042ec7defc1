"""Three ways to read a shelf without searching it: at random, from end to end, and with a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from recall_bench.core.memory import Answer, Passage
from recall_bench.core.question import Question
from recall_bench.core.shuffle import draws
from recall_bench.systems.builtin.extractive import quoted, silence
from recall_bench.systems.builtin.lexical import Vocabulary
from recall_bench.systems.builtin.shelf import Placed, Shelf, quote

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Quotes passages drawn by lot; the question's id is the lot, its words are not read."""

    seed: int
    k: int
    quotes: int

    def __call__(self, shelf: Shelf, question: Question) -> Answer:
        """Quote the first passages drawn."""
        found = [shelf.at(number) for number in self._drawn(len(shelf), question.id)]
        if not found:
            return silence()
        passages = tuple(each.passage() for each in found)
        return Answer(text=quoted(found, self.quotes), passages=passages)

    def _drawn(self, size: int, lot: str) -> list[int]:
        digest = sha256(f"{self.seed}\0{lot}".encode()).digest()
        drawn: dict[int, None] = {}
        for draw in draws(int.from_bytes(digest[:4], "big")):
            if len(drawn) == min(self.k, size):
                break
            drawn.setdefault(int(draw * size))
        return list(drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rereading:
    """Goes through everything and quotes the passage that holds most of the question's words.

    No word weighs more than another and no passage is left out beforehand, as in a model that is
    handed the whole history; the neighbours of the best passage are quoted with it. What it went
    through is reported as far as the budget reaches: best passages first, then the latest.
    """

    vocabulary: Vocabulary
    budget: int
    quotes: int
    threshold: float

    def __call__(self, shelf: Shelf, question: Question) -> Answer:
        """Quote the fullest passages between their neighbours, or say there is no record."""
        import numpy as np

        if not len(shelf):
            return silence()
        shares = self.shares(shelf, question)
        order = np.lexsort((-np.arange(len(shelf)), -shares)).tolist()
        passages = tuple(self._reported(shelf, order, shares.tolist()))
        if not 0 < shares[order[0]] >= self.threshold:
            return silence(passages)
        quotes = [_with_neighbours(shelf, number) for number in order[: self.quotes]]
        return Answer(text="\n".join(dict.fromkeys(quotes)), passages=passages)

    def shares(self, shelf: Shelf, question: Question) -> NDArray[np.float64]:
        """The part of the question's words that each passage holds."""
        import numpy as np

        query = self.vocabulary.query(question.text)
        held = np.zeros(len(shelf))
        if shelf.postings is not None:
            for term in set(shelf.postings.present(query)):
                held[shelf.postings.containing(term)] += 1
        return held / max(len(set(query.known)) + query.strangers, 1)

    def _reported(self, shelf: Shelf, order: list[int], shares: list[float]) -> Iterator[Passage]:
        left = self.budget
        for number in order:
            found = shelf.at(number)
            left -= len(found.excerpt.text)
            if left < 0:
                return
            yield found.passage(round(shares[number], 6))


def _with_neighbours(shelf: Shelf, number: int) -> str:
    middle = shelf.at(number)
    around = (shelf.at(n) for n in range(max(number - 1, 0), min(number + 2, len(shelf))))
    texts = [found.excerpt.text for found in around if _are_together(found, middle)]
    return quote(" ".join(texts), middle.page.on, middle.excerpt.session)


def _are_together(found: Placed, other: Placed) -> bool:
    return found.page is other.page and found.excerpt.session == other.excerpt.session


@dataclass(frozen=True, slots=True)
class Knowing:
    """Quotes the passages it was told of, once their days have been lived."""

    evidence: Mapping[str, tuple[Passage, ...]]

    def __call__(self, shelf: Shelf, question: Question) -> Answer:
        """Quote them word for word; nothing told, or nothing lived yet, is no record."""
        lived = {page.day: page for page in shelf.pages}
        quotes: dict[str, Passage] = {}
        for passage in self.evidence.get(question.id, ()):
            page = lived.get(passage.day) if passage.day is not None else None
            if page is not None:
                session = passage.source if passage.source != page.episode else None
                quotes[quote(passage.text, page.on, session)] = passage
        if not quotes:
            return silence()
        return Answer(text="\n".join(quotes), passages=tuple(quotes.values()))
