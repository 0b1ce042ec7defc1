"""Three ways to read a shelf without searching it: at random, from end to end, and with a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from recall_bench.core.memory import Answer, Passage
from recall_bench.core.question import Question
from recall_bench.core.shuffle import generate_numbers
from recall_bench.systems.builtin.extractive import answer_no_record, format_quotes
from recall_bench.systems.builtin.lexical import Vocabulary
from recall_bench.systems.builtin.shelf import IndexedPassage, PassageIndex, format_quote

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomAnswerer:
    """Quotes passages drawn by lot; the question's id is the lot, its words are not read."""

    seed: int
    k: int
    quotes: int

    def __call__(self, shelf: PassageIndex, question: Question) -> Answer:
        """Quote the first passages drawn."""
        found = [shelf.get(number) for number in self._draw_numbers(len(shelf), question.id)]
        if not found:
            return answer_no_record()
        passages = tuple(each.to_passage() for each in found)
        return Answer(text=format_quotes(found, self.quotes), passages=passages)

    def _draw_numbers(self, size: int, lot: str) -> list[int]:
        digest = sha256(f"{self.seed}\0{lot}".encode()).digest()
        drawn: dict[int, None] = {}
        for draw in generate_numbers(int.from_bytes(digest[:4], "big")):
            if len(drawn) == min(self.k, size):
                break
            drawn.setdefault(int(draw * size))
        return list(drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullContextAnswerer:
    """Goes through everything and quotes the passage that holds most of the question's words.

    No word weighs more than another and no passage is left out beforehand, as in a model that is
    handed the whole history; the neighbours of the best passage are quoted with it. What it went
    through is reported as far as the budget reaches: best passages first, then the latest.
    """

    vocabulary: Vocabulary
    budget: int
    quotes: int
    threshold: float

    def __call__(self, shelf: PassageIndex, question: Question) -> Answer:
        """Quote the fullest passages between their neighbours, or say there is no record."""
        import numpy as np

        if not len(shelf):
            return answer_no_record()
        shares = self.compute_shares(shelf, question)
        order = np.lexsort((-np.arange(len(shelf)), -shares)).tolist()
        passages = tuple(self._fill_budget(shelf, order, shares.tolist()))
        if not 0 < shares[order[0]] >= self.threshold:
            return answer_no_record(passages)
        quotes = [_quote_neighbours(shelf, number) for number in order[: self.quotes]]
        return Answer(text="\n".join(dict.fromkeys(quotes)), passages=passages)

    def compute_shares(self, shelf: PassageIndex, question: Question) -> NDArray[np.float64]:
        """The part of the question's words that each passage holds."""
        import numpy as np

        query = self.vocabulary.parse_query(question.text)
        held = np.zeros(len(shelf))
        if shelf.postings is not None:
            for term in set(shelf.postings.select_present(query)):
                held[shelf.postings.get_passages(term)] += 1
        return held / max(len(set(query.known)) + query.strangers, 1)

    def _fill_budget(
        self, shelf: PassageIndex, order: list[int], shares: list[float]
    ) -> Iterator[Passage]:
        left = self.budget
        for number in order:
            found = shelf.get(number)
            left -= len(found.excerpt.text)
            if left < 0:
                return
            yield found.to_passage(round(shares[number], 6))


def _quote_neighbours(shelf: PassageIndex, number: int) -> str:
    middle = shelf.get(number)
    around = (shelf.get(n) for n in range(max(number - 1, 0), min(number + 2, len(shelf))))
    texts = [found.excerpt.text for found in around if _is_same_session(found, middle)]
    return format_quote(" ".join(texts), middle.page.on, middle.excerpt.session)


def _is_same_session(found: IndexedPassage, other: IndexedPassage) -> bool:
    return found.page is other.page and found.excerpt.session == other.excerpt.session


@dataclass(frozen=True, slots=True)
class OracleAnswerer:
    """Quotes the passages it was told of, once their days have been lived."""

    evidence: Mapping[str, tuple[Passage, ...]]

    def __call__(self, shelf: PassageIndex, question: Question) -> Answer:
        """Quote them word for word; nothing told, or nothing lived yet, is no record."""
        lived = {page.day: page for page in shelf.pages}
        quotes: dict[str, Passage] = {}
        for passage in self.evidence.get(question.id, ()):
            page = lived.get(passage.day) if passage.day is not None else None
            if page is not None:
                session = passage.source if passage.source != page.episode else None
                quotes[format_quote(passage.text, page.on, session)] = passage
        if not quotes:
            return answer_no_record()
        return Answer(text="\n".join(quotes), passages=tuple(quotes.values()))
