"""What a built-in memory holds, and how large it is: texts in UTF-8, arrays as they lie in memory.

The word vectors that all memories of a process share belong to none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from recall_bench.systems.builtin.consolidation import OpenPeriods, PeriodSummary
from recall_bench.systems.builtin.lexical import Postings, TermCounts, count_bytes
from recall_bench.systems.builtin.shelf import (
    IndexedDocument,
    Indexer,
    PassageIndex,
    PreparedDocument,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
