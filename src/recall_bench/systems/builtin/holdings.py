"""What a built-in memory holds, and how large it is: texts in UTF-8, arrays as they lie in memory.

The word vectors that all memories of a process share belong to none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from recall_bench.systems.builtin.consolidation import Summary, Unfinished
from recall_bench.systems.builtin.lexical import Counts, Postings, utf8
from recall_bench.systems.builtin.shelf import Catalogue, Page, Prepared, Shelf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def days_on(shelf: Shelf) -> tuple[int, ...]:
    """The days of which there is a passage to find, a summary being one; ascending."""
    return tuple(sorted({page.day for page in shelf.pages if page.excerpts}))


def size_of(shelf: Shelf, prepared: Sequence[Prepared], catalogue: Catalogue) -> int:
    """Bytes of the pages, what is searched in them, and what later pages will be added to."""
    pages = {id(page): page for page in (*shelf.pages, *(each.page for each in prepared))}
    summaries = {id(made): made for made in _kept(shelf.unfinished)}
    return (
        sum(map(_page, pages.values()))
        + sum(map(_prepared, prepared))
        + sum(map(_summary, summaries.values()))
        + (0 if shelf.postings is None else _postings(shelf.postings))
        + (0 if shelf.words is None else shelf.words.nbytes)
        + _arrays(shelf.vectors)
        + (0 if catalogue.vocabulary is None else catalogue.vocabulary.nbytes)
        + (0 if catalogue.lexicon is None else catalogue.lexicon.nbytes)
    )


def _page(page: Page) -> int:
    texts = (excerpt.searched for excerpt in page.excerpts)
    return utf8(texts) + utf8(page.small) + _arrays(page.words)


def _prepared(each: Prepared) -> int:
    counts = 0 if each.counts is None else _counts(each.counts)
    return counts + (0 if each.vectors is None else each.vectors.nbytes)


def _counts(counts: Counts) -> int:
    return _arrays((counts.terms, counts.passages, counts.counts, counts.lengths))


def _postings(postings: Postings) -> int:
    return _arrays((postings.starts, postings.passages, postings.counts, postings.lengths))


def _kept(unfinished: Unfinished) -> Iterable[Summary]:
    last = () if unfinished.last is None else (unfinished.last,)
    return (*unfinished.week, *unfinished.month, *last)


def _summary(made: Summary) -> int:
    return sum(utf8(gist.texts) + gist.vectors.nbytes for gist in made.gists.values())


def _arrays(arrays: Iterable[NDArray[np.generic]]) -> int:
    return sum(array.nbytes for array in arrays)
