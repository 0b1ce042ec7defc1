"""Everything a memory has lived, prepared once and never changed: a copy is a reference.

An episode becomes a page when it is taken in: cut, counted and embedded. Settling puts the new
pages on a new shelf that shares everything with the old one but the merged word counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING

from recall_bench.core.history import Episode
from recall_bench.core.memory import Passage
from recall_bench.systems.builtin.consolidation import (
    Consolidation,
    Period,
    Summary,
    Unfinished,
    day_of,
    lived,
)
from recall_bench.systems.builtin.embedding import embed
from recall_bench.systems.builtin.lexical import Bm25, Counts, Postings, Vocabulary, WordIndex
from recall_bench.systems.builtin.passages import Cutting, Excerpt, joined
from recall_bench.systems.builtin.reranking import Lexicon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


BLOCK_ROWS = 8192
"""Vectors are kept in blocks of about this many: few to multiply, cheap to add to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One episode, cut into passages, or the summary of a period that ends with it."""

    episode: str
    day: int
    on: date
    excerpts: tuple[Excerpt, ...] = ()
    summary: Period | None = None
    """None of an episode as it was written."""
    words: tuple[NDArray[np.int32], ...] = ()
    """The words of each passage, as the lexicon numbers them, if somebody compares words."""
    small: tuple[str, ...] = ()
    """All that a search may match of each passage in small letters, if somebody reads letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A page and what a search needs of it."""

    page: Page
    counts: Counts | None = None
    vectors: NDArray[np.float32] | None = None
    gist: Summary | None = None
    """The day summed up, if summaries are kept."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A passage, and where and when it was written."""

    page: Page
    excerpt: Excerpt

    @property
    def quote(self) -> str:
        """The passage as an answer gives it, with its date and its session."""
        period = self.page.summary
        said = quote(self.excerpt.text, self.page.on, self.excerpt.session)
        return said if period in (None, "day") else f"In the {period} to {said[len('On ') :]}"

    def passage(self, score: float | None = None) -> Passage:
        """The passage as the harness records it."""
        return Passage(
            text=self.excerpt.text,
            day=self.page.day,
            source=self._source,
            score=score,
        )

    @property
    def _source(self) -> str:
        place = self.excerpt.session or self.page.episode
        return place if self.page.summary is None else f"{place}, {self.page.summary} summary"


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
    unfinished: Unfinished = field(default_factory=Unfinished)
    """What later summaries will be made of."""

    def __len__(self) -> int:
        """How many passages there are."""
        return self.ends[-1] if self.ends else 0

    def at(self, number: int) -> Placed:
        """The passage of that number."""
        place = bisect_right(self.ends, number)
        page = self.pages[place]
        from_its_end = number - self.ends[place]
        return Placed(page, page.excerpts[from_its_end])

    def around(self, number: int, reach: int) -> range:
        """The passage and so many either side that are of the same page and session."""
        place = bisect_right(self.ends, number)
        page, end = self.pages[place], self.ends[place]
        sessions = [excerpt.session for excerpt in page.excerpts]
        here = number - (end - len(sessions))
        low = high = here
        while low > max(0, here - reach) and sessions[low - 1] == sessions[here]:
            low -= 1
        while high < min(len(sessions) - 1, here + reach) and sessions[high + 1] == sessions[here]:
            high += 1
        return range(number - (here - low), number + (high - here) + 1)

    def together(self, numbers: range) -> Placed:
        """Neighbouring passages of one page as one, what overlaps in it once."""
        first, *rest = (self.at(number) for number in numbers)
        text = first.excerpt.text
        for found in rest:
            text = joined(text, found.excerpt)
        return Placed(first.page, replace(first.excerpt, text=text))

    def words_of(self, number: int) -> NDArray[np.int32]:
        """The words of the passage of that number, if its catalogue had them numbered."""
        place = bisect_right(self.ends, number)
        return self.pages[place].words[number - self.ends[place]]

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
    cutting: Cutting = field(default_factory=Cutting)
    lexicon: Lexicon | None = None
    """None if nobody compares words one by one."""
    has_letters: bool = False
    consolidation: Consolidation = "none"

    def prepared(self, episode: Episode) -> Prepared:
        """Prepare one episode."""
        is_kept = self.has_text and self.consolidation != "only"
        cut = self.cutting(episode) if is_kept else ()
        page = Page(episode=episode.id, day=episode.day, on=episode.at.date(), excerpts=cut)
        return self._searchable(page, day_of(episode) if self.consolidation != "none" else None)

    def shelve(self, shelf: Shelf, prepared: Sequence[Prepared]) -> Shelf:
        """A shelf with later pages added. The given one stays as it is."""
        unfinished = shelf.unfinished
        if self.consolidation != "none":
            prepared, unfinished = self._consolidated(prepared, unfinished)
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
            unfinished=unfinished,
        )

    def _searchable(self, page: Page, gist: Summary | None = None) -> Prepared:
        searched = [excerpt.searched for excerpt in page.excerpts]
        if self.lexicon:
            page = replace(page, words=tuple(self.lexicon.numbered(text) for text in searched))
        if self.has_letters:
            page = replace(page, small=tuple(text.lower() for text in searched))
        return Prepared(
            page=page,
            counts=self.vocabulary.count(searched) if self.vocabulary else None,
            vectors=embed(searched) if self.has_vectors else None,
            gist=gist,
        )

    def _consolidated(
        self, prepared: Sequence[Prepared], unfinished: Unfinished
    ) -> tuple[list[Prepared], Unfinished]:
        """The pages with every summary they complete, each in its place."""
        told: list[Prepared] = []
        for each in prepared:
            if each.gist is None:
                raise AssertionError("every day is summed up when it is taken in")
            before, after, unfinished = lived(unfinished, each.gist)
            told += [self._summary(made) for made in before]
            told.append(each)
            told += [self._summary(made) for made in after]
        return told, unfinished

    def _summary(self, made: Summary) -> Prepared:
        return self._searchable(
            Page(
                episode=made.episode,
                day=made.day,
                on=made.on,
                excerpts=made.excerpts,
                summary=made.period,
            )
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
