"""The index of a built-in memory. It is immutable, so that a copy is a reference.

An episode becomes a document when it is ingested: split, counted and embedded. Settling makes a new
index with the new documents, which shares everything with the old one but the merged word counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from recall_bench.core.memory import Answer, Passage
from recall_bench.core.scenario import Episode
from recall_bench.systems.builtin.chunks import Chunk, Chunker, count_bytes, join_chunks
from recall_bench.systems.builtin.consolidation import (
    OpenPeriods,
    Period,
    PeriodSummary,
    add_day,
    summarise_day,
)
from recall_bench.systems.builtin.no_memory import NO_RECORD
from recall_bench.systems.builtin.options import Consolidation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recall_bench.systems.builtin.dialogue_context import DialogueTurns
    from recall_bench.systems.builtin.word_index import (
        Bm25,
        Bm25Index,
        Postings,
        TermCounts,
        Vocabulary,
        WordVectorTable,
    )

TextEmbedder = Callable[[Sequence[str]], "NDArray[np.float32]"]
"""Makes a unit vector of each text."""

BLOCK_ROWS = 8192
"""Vectors are kept in blocks of about this many rows: few to multiply, cheap to append to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedDocument:
    """One episode split into chunks, or the summary of a period that ends with it."""

    episode: str
    day: int
    on: date
    chunks: tuple[Chunk, ...] = ()
    summary: Period | None = None
    """None for an episode as it was written."""
    words: tuple[NDArray[np.int32], ...] = ()
    """The numbers of the words of each chunk, if the indexer has a lexicon."""
    lowercase: tuple[str, ...] = ()
    """The search text of each chunk in lower case, if the indexer keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDocument:
    """A document and what a search needs of it."""

    document: IndexedDocument
    counts: TermCounts | None = None
    vectors: NDArray[np.float32] | None = None
    summary: PeriodSummary | None = None
    """The summary of the day, if summaries are kept."""


class IndexedPassage(NamedTuple):
    """A chunk and the document it belongs to."""

    document: IndexedDocument
    chunk: Chunk

    @property
    def quote(self) -> str:
        """The text with its date and session, as answers give it."""
        return self._quote_text(self.chunk.text)

    def _quote_text(self, text: str) -> str:
        period = self.document.summary
        quote = format_quote(text, self.document.on, self.chunk.session)
        return quote if period in (None, "day") else f"In the {period} to {quote[len('On ') :]}"

    def to_reading(self) -> Passage:
        """The passage as the reader sees it: with its date, session and headings."""
        chunk = self.chunk
        headings = chunk.context.removeprefix(chunk.session or "").strip()
        text = f"{headings}\n{chunk.text}" if headings else chunk.text
        return Passage(text=self._quote_text(text))

    def to_passage(self, score: float | None = None) -> Passage:
        """The passage as the harness records it."""
        return Passage(text=self.chunk.text, day=self.document.day, source=self._place, score=score)

    @property
    def _place(self) -> str:
        place = self.chunk.session or self.document.episode
        return (
            place if self.document.summary is None else f"{place}, {self.document.summary} summary"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageIndex:
    """The documents that can be searched, in order. Chunks are numbered across documents."""

    documents: tuple[IndexedDocument, ...] = ()
    ends: tuple[int, ...] = ()
    """The number of the first chunk after each document."""
    postings: Postings | None = None
    words: Bm25Index | None = None
    vectors: tuple[NDArray[np.float32], ...] = ()
    """One row per chunk, in blocks."""
    dates: NDArray[np.int64] | None = None
    """The date of each chunk, as an ordinal; None without documents."""
    dialogue: DialogueTurns | None = None
    """The turn and the session of each chunk; None if nothing of it is a dialogue."""
    open_periods: OpenPeriods = field(default_factory=OpenPeriods)
    """What later summaries will be made from."""

    def __len__(self) -> int:
        """The number of chunks."""
        return self.ends[-1] if self.ends else 0

    def get(self, number: int) -> IndexedPassage:
        """The chunk with this number."""
        place = bisect_right(self.ends, number)
        document = self.documents[place]
        from_its_end = number - self.ends[place]
        return IndexedPassage(document, document.chunks[from_its_end])

    def find_neighbours(self, number: int, reach: int) -> range:
        """The chunk and up to `reach` on either side, of the same document and session."""
        place = bisect_right(self.ends, number)
        document, end = self.documents[place], self.ends[place]
        sessions = [chunk.session for chunk in document.chunks]
        here = number - (end - len(sessions))
        low = high = here
        while low > max(0, here - reach) and sessions[low - 1] == sessions[here]:
            low -= 1
        while high < min(len(sessions) - 1, here + reach) and sessions[high + 1] == sessions[here]:
            high += 1
        return range(number - (here - low), number + (high - here) + 1)

    def merge_range(self, numbers: range) -> IndexedPassage:
        """Neighbouring chunks of one document as one; overlapping text appears once."""
        first, *rest = (self.get(number) for number in numbers)
        text = first.chunk.text
        for passage in rest:
            text = join_chunks(text, passage.chunk)
        return IndexedPassage(first.document, replace(first.chunk, text=text))

    def get_words(self, number: int) -> NDArray[np.int32]:
        """The word numbers of this chunk, if the indexer has a lexicon."""
        place = bisect_right(self.ends, number)
        return self.documents[place].words[number - self.ends[place]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """Prepares documents with what the searches of a memory need, and nothing else."""

    has_text: bool = True
    vocabulary: Vocabulary | None = None
    """None if words are not searched."""
    formula: Bm25 | None = None
    """None if words have no weights."""
    embed: TextEmbedder | None = None
    """None if there are no vectors."""
    chunker: Chunker = field(default_factory=Chunker)
    lexicon: WordVectorTable | None = None
    """None if words are not compared one by one."""
    keeps_lowercase: bool = False
    consolidation: Consolidation = "none"

    def prepare(self, episode: Episode) -> PreparedDocument:
        """Prepare one episode."""
        is_kept = self.has_text and self.consolidation != "only"
        cut = self.chunker(episode) if is_kept else ()
        document = IndexedDocument(
            episode=episode.id, day=episode.day, on=episode.at.date(), chunks=cut
        )
        return self.index_document(
            document, summarise_day(episode) if self.consolidation != "none" else None
        )

    def extend(self, index: PassageIndex, prepared: Sequence[PreparedDocument]) -> PassageIndex:
        """A new index with later documents added."""
        open_periods = index.open_periods
        if self.consolidation != "none":
            prepared, open_periods = self._insert_summaries(prepared, open_periods)
        return self._append_documents(index, prepared, open_periods)

    def build_index(
        self, documents: Iterable[IndexedDocument], open_periods: OpenPeriods
    ) -> PassageIndex:
        """An index of documents that are split already, summaries included."""
        prepared = [self.index_document(document) for document in documents]
        return self._append_documents(PassageIndex(), prepared, open_periods)

    def _append_documents(
        self, index: PassageIndex, prepared: Sequence[PreparedDocument], open_periods: OpenPeriods
    ) -> PassageIndex:
        documents = [one.document for one in prepared]
        sizes = accumulate((len(document.chunks) for document in documents), initial=len(index))
        postings, words = index.postings, index.words
        if self.vocabulary:
            from recall_bench.systems.builtin.word_index import Bm25Index, Postings

            counts = [one.counts for one in prepared if one.counts]
            postings = (postings or Postings.create_empty()).extend(counts)
            words = Bm25Index(postings, self.formula) if self.formula else None
        return PassageIndex(
            documents=(*index.documents, *documents),
            ends=(*index.ends, *list(sizes)[1:]),
            postings=postings,
            words=words,
            vectors=_append_vectors(index.vectors, prepared),
            dates=_append_dates(index.dates, documents),
            dialogue=_append_turns(index, documents),
            open_periods=open_periods,
        )

    def index_document(
        self, document: IndexedDocument, summary: PeriodSummary | None = None
    ) -> PreparedDocument:
        """Prepare a document that is split already."""
        searched = [chunk.search_text for chunk in document.chunks]
        if self.lexicon:
            document = replace(
                document, words=tuple(self.lexicon.number_words(text) for text in searched)
            )
        if self.keeps_lowercase:
            document = replace(document, lowercase=tuple(text.lower() for text in searched))
        return PreparedDocument(
            document=document,
            counts=self.vocabulary.count(searched) if self.vocabulary else None,
            vectors=self.embed(searched) if self.embed else None,
            summary=summary,
        )

    def _insert_summaries(
        self, prepared: Sequence[PreparedDocument], open_periods: OpenPeriods
    ) -> tuple[list[PreparedDocument], OpenPeriods]:
        """The documents and every summary they complete, in order."""

        def index_summary(summary: PeriodSummary) -> PreparedDocument:
            return self.index_document(
                IndexedDocument(
                    episode=summary.episode,
                    day=summary.day,
                    on=summary.on,
                    chunks=summary.chunks,
                    summary=summary.period,
                )
            )

        result: list[PreparedDocument] = []
        for day in prepared:
            if day.summary is None:
                raise AssertionError("every day is summarised when it is ingested")
            before, after, open_periods = add_day(open_periods, day.summary)
            result += [*map(index_summary, before), day, *map(index_summary, after)]
        return result, open_periods


def _append_vectors(
    blocks: tuple[NDArray[np.float32], ...], prepared: Sequence[PreparedDocument]
) -> tuple[NDArray[np.float32], ...]:
    import numpy as np

    rows = [one.vectors for one in prepared if one.vectors is not None]
    if blocks and len(blocks[-1]) < BLOCK_ROWS:
        blocks, rows = blocks[:-1], [blocks[-1], *rows]
    return (*blocks, np.concatenate(rows)) if rows else blocks


def _append_dates(
    dates: NDArray[np.int64] | None, documents: Sequence[IndexedDocument]
) -> NDArray[np.int64]:
    import numpy as np

    days = np.array([document.on.toordinal() for document in documents], np.int64)
    added = np.repeat(days, [len(document.chunks) for document in documents])
    return added if dates is None else np.concatenate([dates, added])


def _append_turns(
    index: PassageIndex, documents: Sequence[IndexedDocument]
) -> DialogueTurns | None:
    chunks = [document.chunks for document in documents]
    if index.dialogue is not None:
        return index.dialogue.append(chunks)
    if all(chunk.turn is None for document_chunks in chunks for chunk in document_chunks):
        return None
    from recall_bench.systems.builtin.dialogue_context import DialogueTurns

    before = [document.chunks for document in index.documents]
    return DialogueTurns.create_empty().append([*before, *chunks])


def format_quote(text: str, on: date, session: str | None) -> str:
    """A text with its date and session, as every answer gives them."""
    return f"On {on} ({session}): {text}" if session else f"On {on}: {text}"


def answer_no_record(passages: tuple[Passage, ...] = ()) -> Answer:
    """The answer if nothing that was found is good enough."""
    return Answer(text=NO_RECORD, passages=passages)


def list_days(index: PassageIndex) -> tuple[int, ...]:
    """The days with at least one chunk or summary, ascending."""
    return tuple(sorted({document.day for document in index.documents if document.chunks}))


def measure_index(
    index: PassageIndex, prepared: Sequence[PreparedDocument], indexer: Indexer
) -> int:
    """Bytes of the documents and of everything searched: texts in UTF-8, arrays as in memory.

    The word vectors that all memories of a process share belong to none of them.
    """
    size = 0
    documents = (*index.documents, *(waiting.document for waiting in prepared))
    for document in {id(document): document for document in documents}.values():
        size += count_bytes(chunk.search_text for chunk in document.chunks)
        size += count_bytes(document.lowercase) + sum(words.nbytes for words in document.words)
    periods = index.open_periods
    summaries = (*periods.week, *periods.month, *filter(None, (periods.last,)))
    for summary in {id(summary): summary for summary in summaries}.values():
        for sentences in summary.by_session.values():
            size += count_bytes(sentences.texts) + sentences.vectors.nbytes
    arrays = (
        *(part for waiting in prepared for part in (waiting.counts, waiting.vectors)),
        *(index.postings, index.words, index.dialogue, *index.vectors),
        *(indexer.vocabulary, indexer.lexicon),
    )
    return size + sum(part.nbytes for part in arrays if part is not None)
