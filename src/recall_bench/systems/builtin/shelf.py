"""Everything a memory has lived, prepared once and never changed: a copy is a reference.

An episode becomes a page when it is taken in: cut, counted and embedded. Settling puts the new
pages on a new shelf that shares everything with the old one but the merged word counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING

from recall_bench.core.history import Episode
from recall_bench.core.memory import Passage
from recall_bench.systems.builtin.embedding import embed
from recall_bench.systems.builtin.lexical import Bm25, Counts, Postings, Vocabulary, WordIndex
from recall_bench.systems.builtin.passages import Excerpt, excerpts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


BLOCK_ROWS = 8192
"""Vectors are kept in blocks of about this many: few to multiply, cheap to add to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One episode, cut into passages."""

    episode: str
    day: int
    on: date
    excerpts: tuple[Excerpt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A page and what a search needs of it."""

    page: Page
    counts: Counts | None = None
    vectors: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A passage, and where and when it was written."""

    page: Page
    excerpt: Excerpt

    @property
    def quote(self) -> str:
        """The passage as an answer gives it, with its date and its session."""
        return quote(self.excerpt.text, self.page.on, self.excerpt.session)

    def passage(self, score: float | None = None) -> Passage:
        """The passage as the harness records it."""
        return Passage(
            text=self.excerpt.text,
            day=self.page.day,
            source=self.excerpt.session or self.page.episode,
            score=score,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The pages that can be asked about, in order. Passages are numbered through."""

    pages: tuple[Page, ...] = ()
    ends: tuple[int, ...] = ()
    """The number of the first passage after each page."""
    postings: Postings | None = None
    words: WordIndex | None = None
    vectors: tuple[NDArray[np.float32], ...] = ()
    """One row a passage, in blocks."""

    def __len__(self) -> int:
        """How many passages there are."""
        return self.ends[-1] if self.ends else 0

    def at(self, number: int) -> Found:
        """The passage of that number."""
        place = bisect_right(self.ends, number)
        page = self.pages[place]
        from_its_end = number - self.ends[place]
        return Found(page, page.excerpts[from_its_end])

    def dates(self) -> NDArray[np.int64]:
        """The date of each passage, as a day count."""
        import numpy as np

        days = np.fromiter((page.on.toordinal() for page in self.pages), np.int64, len(self.pages))
        return np.repeat(days, np.diff(self.ends, prepend=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """How pages are prepared: what the readers of a memory will need, and nothing else."""

    has_text: bool = True
    vocabulary: Vocabulary | None = None
    """None if nobody looks for words."""
    formula: Bm25 | None = None
    """None if nobody weighs them."""
    has_vectors: bool = False

    def prepared(self, episode: Episode) -> Prepared:
        """Prepare one episode."""
        cut = excerpts(episode) if self.has_text else ()
        searched = [excerpt.searched for excerpt in cut]
        return Prepared(
            page=Page(episode=episode.id, day=episode.day, on=episode.at.date(), excerpts=cut),
            counts=self.vocabulary.count(searched) if self.vocabulary else None,
            vectors=embed(searched) if self.has_vectors else None,
        )

    def shelve(self, shelf: Shelf, prepared: Sequence[Prepared]) -> Shelf:
        """A shelf with later pages added. The given one stays as it is."""
        pages = [each.page for each in prepared]
        sizes = accumulate((len(page.excerpts) for page in pages), initial=len(shelf))
        postings, words = shelf.postings, shelf.words
        if self.vocabulary:
            counts = [each.counts for each in prepared if each.counts]
            postings = (postings or Postings.empty()).extended(counts)
            words = WordIndex(postings, self.formula) if self.formula else None
        return Shelf(
            pages=(*shelf.pages, *pages),
            ends=(*shelf.ends, *list(sizes)[1:]),
            postings=postings,
            words=words,
            vectors=_appended(shelf.vectors, prepared),
        )


def _appended(
    blocks: tuple[NDArray[np.float32], ...], prepared: Sequence[Prepared]
) -> tuple[NDArray[np.float32], ...]:
    import numpy as np

    rows = [each.vectors for each in prepared if each.vectors is not None]
    if blocks and len(blocks[-1]) < BLOCK_ROWS:
        blocks, rows = blocks[:-1], [blocks[-1], *rows]
    return (*blocks, np.concatenate(rows)) if rows else blocks


def quote(text: str, on: date, session: str | None) -> str:
    """A text with its date and its session, as every answer gives them."""
    return f"On {on} ({session}): {text}" if session else f"On {on}: {text}"
