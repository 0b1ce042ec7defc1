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

from recall_bench.core.memory import Passage
from recall_bench.core.scenario import Episode
from recall_bench.models.static_embedding import embed
from recall_bench.systems.builtin.chunks import Chunk, Chunker, join_chunks
from recall_bench.systems.builtin.consolidation import (
    Consolidation,
    OpenPeriods,
    Period,
    PeriodSummary,
    add_day,
    summarise_day,
)
from recall_bench.systems.builtin.word_index import (
    Bm25,
    Bm25Index,
    Postings,
    TermCounts,
    Vocabulary,
    WordVectorTable,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

from collections.abc import Iterable
from typing import TYPE_CHECKING

from recall_bench.core.memory import Answer
from recall_bench.systems.builtin.word_index import count_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_ROWS = 8192
"""Vectors are kept in blocks of about this many: few to multiply, cheap to add to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedDocument:
    """One episode, cut into passages, or the summary of a period that ends with it."""

    episode: str
    day: int
    on: date
    excerpts: tuple[Chunk, ...] = ()
    summary: Period | None = None
    """None of an episode as it was written."""
    words: tuple[NDArray[np.int32], ...] = ()
    """The words of each passage, as the lexicon numbers them, if somebody compares words."""
    small: tuple[str, ...] = ()
    """All that a search may match of each passage in small letters, if somebody reads letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDocument:
    """A page and what a search needs of it."""

    page: IndexedDocument
    counts: TermCounts | None = None
    vectors: NDArray[np.float32] | None = None
    gist: PeriodSummary | None = None
    """The day summed up, if summaries are kept."""


@dataclass(frozen=True, slots=True)
class IndexedPassage:
    """A passage, and where and when it was written."""

    page: IndexedDocument
    excerpt: Chunk

    @property
    def quote(self) -> str:
        """The passage as an answer gives it, with its date and its session."""
        period = self.page.summary
        said = format_quote(self.excerpt.text, self.page.on, self.excerpt.session)
        return said if period in (None, "day") else f"In the {period} to {said[len('On ') :]}"

    def to_passage(self, score: float | None = None) -> Passage:
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
class PassageIndex:
    """The pages that can be asked about, in order. Passages are numbered through."""

    pages: tuple[IndexedDocument, ...] = ()
    ends: tuple[int, ...] = ()
    """The number of the first passage after each page."""
    postings: Postings | None = None
    words: Bm25Index | None = None
    vectors: tuple[NDArray[np.float32], ...] = ()
    """One row a passage, in blocks."""
    unfinished: OpenPeriods = field(default_factory=OpenPeriods)
    """What later summaries will be made of."""

    def __len__(self) -> int:
        """How many passages there are."""
        return self.ends[-1] if self.ends else 0

    def get(self, number: int) -> IndexedPassage:
        """The passage of that number."""
        place = bisect_right(self.ends, number)
        page = self.pages[place]
        from_its_end = number - self.ends[place]
        return IndexedPassage(page, page.excerpts[from_its_end])

    def find_neighbours(self, number: int, reach: int) -> range:
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

    def merge_range(self, numbers: range) -> IndexedPassage:
        """Neighbouring passages of one page as one, what overlaps in it once."""
        first, *rest = (self.get(number) for number in numbers)
        text = first.excerpt.text
        for found in rest:
            text = join_chunks(text, found.excerpt)
        return IndexedPassage(first.page, replace(first.excerpt, text=text))

    def get_words(self, number: int) -> NDArray[np.int32]:
        """The words of the passage of that number, if its catalogue had them numbered."""
        place = bisect_right(self.ends, number)
        return self.pages[place].words[number - self.ends[place]]

    def list_dates(self) -> NDArray[np.int64]:
        """The date of each passage, as a day count."""
        import numpy as np

        days = np.fromiter((page.on.toordinal() for page in self.pages), np.int64, len(self.pages))
        return np.repeat(days, np.diff(self.ends, prepend=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """How pages are prepared: what the readers of a memory will need, and nothing else."""

    has_text: bool = True
    vocabulary: Vocabulary | None = None
    """None if nobody looks for words."""
    formula: Bm25 | None = None
    """None if nobody weighs them."""
    has_vectors: bool = False
    cutting: Chunker = field(default_factory=Chunker)
    lexicon: WordVectorTable | None = None
    """None if nobody compares words one by one."""
    has_letters: bool = False
    consolidation: Consolidation = "none"

    def prepare(self, episode: Episode) -> PreparedDocument:
        """Prepare one episode."""
        is_kept = self.has_text and self.consolidation != "only"
        cut = self.cutting(episode) if is_kept else ()
        page = IndexedDocument(
            episode=episode.id, day=episode.day, on=episode.at.date(), excerpts=cut
        )
        return self._index_document(
            page, summarise_day(episode) if self.consolidation != "none" else None
        )

    def extend(self, shelf: PassageIndex, prepared: Sequence[PreparedDocument]) -> PassageIndex:
        """A shelf with later pages added. The given one stays as it is."""
        unfinished = shelf.unfinished
        if self.consolidation != "none":
            prepared, unfinished = self._insert_summaries(prepared, unfinished)
        pages = [each.page for each in prepared]
        sizes = accumulate((len(page.excerpts) for page in pages), initial=len(shelf))
        postings, words = shelf.postings, shelf.words
        if self.vocabulary:
            counts = [each.counts for each in prepared if each.counts]
            postings = (postings or Postings.create_empty()).extend(counts)
            words = Bm25Index(postings, self.formula) if self.formula else None
        return PassageIndex(
            pages=(*shelf.pages, *pages),
            ends=(*shelf.ends, *list(sizes)[1:]),
            postings=postings,
            words=words,
            vectors=_append_vectors(shelf.vectors, prepared),
            unfinished=unfinished,
        )

    def _index_document(
        self, page: IndexedDocument, gist: PeriodSummary | None = None
    ) -> PreparedDocument:
        searched = [excerpt.search_text for excerpt in page.excerpts]
        if self.lexicon:
            page = replace(page, words=tuple(self.lexicon.number_words(text) for text in searched))
        if self.has_letters:
            page = replace(page, small=tuple(text.lower() for text in searched))
        return PreparedDocument(
            page=page,
            counts=self.vocabulary.count(searched) if self.vocabulary else None,
            vectors=embed(searched) if self.has_vectors else None,
            gist=gist,
        )

    def _insert_summaries(
        self, prepared: Sequence[PreparedDocument], unfinished: OpenPeriods
    ) -> tuple[list[PreparedDocument], OpenPeriods]:
        """The pages with every summary they complete, each in its place."""
        told: list[PreparedDocument] = []
        for each in prepared:
            if each.gist is None:
                raise AssertionError("every day is summed up when it is taken in")
            before, after, unfinished = add_day(unfinished, each.gist)
            told += [self._index_summary(made) for made in before]
            told.append(each)
            told += [self._index_summary(made) for made in after]
        return told, unfinished

    def _index_summary(self, made: PeriodSummary) -> PreparedDocument:
        return self._index_document(
            IndexedDocument(
                episode=made.episode,
                day=made.day,
                on=made.on,
                excerpts=made.chunks,
                summary=made.period,
            )
        )


def _append_vectors(
    blocks: tuple[NDArray[np.float32], ...], prepared: Sequence[PreparedDocument]
) -> tuple[NDArray[np.float32], ...]:
    import numpy as np

    rows = [each.vectors for each in prepared if each.vectors is not None]
    if blocks and len(blocks[-1]) < BLOCK_ROWS:
        blocks, rows = blocks[:-1], [blocks[-1], *rows]
    return (*blocks, np.concatenate(rows)) if rows else blocks


def format_quote(text: str, on: date, session: str | None) -> str:
    """A text with its date and its session, as every answer gives them."""
    return f"On {on} ({session}): {text}" if session else f"On {on}: {text}"


NO_RECORD = "There is no record of that."


def format_quotes(found: Iterable[IndexedPassage], quotes: int) -> str:
    """The first few passages with their dates, none of them twice."""
    seen: dict[str, str] = {}
    for each in found:
        seen.setdefault(each.excerpt.text, each.quote)
        if len(seen) == quotes:
            break
    return "\n".join(seen.values()) or NO_RECORD


def answer_no_record(passages: tuple[Passage, ...] = ()) -> Answer:
    """The honest answer where nothing found says enough."""
    return Answer(text=NO_RECORD, passages=passages)


def list_days(shelf: PassageIndex) -> tuple[int, ...]:
    """The days of which there is a passage to find, a summary being one; ascending."""
    return tuple(sorted({page.day for page in shelf.pages if page.excerpts}))


def measure_index(
    shelf: PassageIndex, prepared: Sequence[PreparedDocument], catalogue: Indexer
) -> int:
    """Bytes of the pages, what is searched in them, and what later pages will be added to."""
    pages = {id(page): page for page in (*shelf.pages, *(each.page for each in prepared))}
    summaries = {id(made): made for made in _list_open_summaries(shelf.unfinished)}
    return (
        sum(map(_measure_document, pages.values()))
        + sum(map(_measure_pending, prepared))
        + sum(map(_measure_summary, summaries.values()))
        + (0 if shelf.postings is None else _measure_postings(shelf.postings))
        + (0 if shelf.words is None else shelf.words.nbytes)
        + _measure_arrays(shelf.vectors)
        + (0 if catalogue.vocabulary is None else catalogue.vocabulary.nbytes)
        + (0 if catalogue.lexicon is None else catalogue.lexicon.nbytes)
    )


def _measure_document(page: IndexedDocument) -> int:
    texts = (excerpt.search_text for excerpt in page.excerpts)
    return count_bytes(texts) + count_bytes(page.small) + _measure_arrays(page.words)


def _measure_pending(each: PreparedDocument) -> int:
    counts = 0 if each.counts is None else _measure_counts(each.counts)
    return counts + (0 if each.vectors is None else each.vectors.nbytes)


def _measure_counts(counts: TermCounts) -> int:
    return _measure_arrays((counts.terms, counts.passages, counts.counts, counts.lengths))


def _measure_postings(postings: Postings) -> int:
    return _measure_arrays((postings.starts, postings.passages, postings.counts, postings.lengths))


def _list_open_summaries(unfinished: OpenPeriods) -> Iterable[PeriodSummary]:
    last = () if unfinished.last is None else (unfinished.last,)
    return (*unfinished.week, *unfinished.month, *last)


def _measure_summary(made: PeriodSummary) -> int:
    return sum(count_bytes(gist.texts) + gist.vectors.nbytes for gist in made.gists.values())


def _measure_arrays(arrays: Iterable[NDArray[np.generic]]) -> int:
    return sum(array.nbytes for array in arrays)
