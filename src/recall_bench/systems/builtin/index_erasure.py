"""Erasing from the index of a built-in memory, and listing what it holds.

What is kept is indexed anew, with a new vocabulary, so that neither words, counts nor vectors of
what was erased remain. A summary cannot be made again without the days it was made from, so every
summary of a session and time from which something was erased is erased too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from recall_bench.core.memory import EraseScope, StoredEntry, parse_kept_days
from recall_bench.systems.builtin.chunks import Chunk
from recall_bench.systems.builtin.consolidation import OpenPeriods, Period, PeriodSummary
from recall_bench.systems.builtin.passage_index import (
    IndexedDocument,
    PassageIndex,
    PreparedDocument,
)
from recall_bench.systems.builtin.word_index import list_stems

EntryTest = Callable[[IndexedDocument, Chunk], bool]
"""Whether a chunk of a document is to be erased."""

_REACH: Mapping[Period, timedelta] = {
    "day": timedelta(days=0),
    "week": timedelta(days=6),
    "month": timedelta(days=31 + 6),
}
"""How far before its last day a summary reaches at most; a month has the weeks that end in it."""


def build_test(scope: EraseScope, value: str, latest: date | None) -> EntryTest:
    """The test of the chunks that a request names; UsageError if it names no number of days."""
    match scope:
        case EraseScope.FORGET:
            stems = list_stems(value, is_question=True)
            return lambda _, chunk: bool(stems) and stems <= list_stems(chunk.search_text)
        case EraseScope.DELETE:
            return lambda document, _: document.episode == value
        case EraseScope.SESSION:
            return lambda _, chunk: chunk.session == value
        case EraseScope.PERSON:
            name = re.compile(rf"(?<!\w){re.escape(value.casefold().strip())}(?!\w)")
            is_named = bool(value.strip())
            return lambda _, chunk: is_named and bool(name.search(chunk.search_text.casefold()))
        case EraseScope.DAYS:
            days, oldest = parse_kept_days(value), date.min
            if latest is not None and days < latest.toordinal():
                oldest = latest - timedelta(days=days)
            return lambda document, _: document.on < oldest


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """What is left after erasing, to be indexed anew."""

    documents: tuple[IndexedDocument, ...]
    """Those that were in the index."""
    prepared: tuple[PreparedDocument, ...]
    """Those that were ingested and wait, of which only document and summary count."""
    open_periods: OpenPeriods
    count: int
    """How many entries were erased."""


def subtract_entries(
    index: PassageIndex, prepared: Sequence[PreparedDocument], is_erased: EntryTest
) -> Remainder:
    """What is left without the entries that a test names, and the summaries made from them."""
    everything = list(_list_documents(index, prepared))
    places = {
        (chunk.session, document.on)
        for document in everything
        if document.summary in (None, "day")
        for chunk in document.chunks
        if is_erased(document, chunk)
    }

    def is_touched(session: str | None, period: Period, last: date) -> bool:
        first = last - _REACH[period]
        return any(session == where and first <= on <= last for where, on in places)

    def keeps(document: IndexedDocument, chunk: Chunk) -> bool:
        period = document.summary
        is_derived = period is not None and is_touched(chunk.session, period, document.on)
        return not (is_derived or is_erased(document, chunk))

    def clean_summary(made: PeriodSummary) -> PeriodSummary:
        by_session = {
            session: sentences
            for session, sentences in made.by_session.items()
            if not is_touched(session, made.period, made.on)
        }
        return replace(made, by_session=by_session)

    def clean_document(document: IndexedDocument) -> IndexedDocument | None:
        chunks = tuple(chunk for chunk in document.chunks if keeps(document, chunk))
        if not chunks and (document.chunks or is_erased(document, _EMPTY)):
            return None
        return replace(document, chunks=chunks, words=(), lowercase=())

    waiting: list[PreparedDocument] = []
    for one in prepared:
        summary = None if one.summary is None else clean_summary(one.summary)
        document = clean_document(one.document)
        if document is not None or (summary is not None and summary.by_session):
            document = document or replace(one.document, chunks=(), words=(), lowercase=())
            waiting.append(PreparedDocument(document=document, summary=summary))
    periods = index.open_periods
    return Remainder(
        documents=tuple(filter(None, map(clean_document, index.documents))),
        prepared=tuple(waiting),
        open_periods=OpenPeriods(
            week=tuple(map(clean_summary, periods.week)),
            month=tuple(map(clean_summary, periods.month)),
            last=None if periods.last is None else clean_summary(periods.last),
        ),
        count=sum(
            not keeps(document, chunk) for document in everything for chunk in document.chunks
        ),
    )


def list_entries(
    index: PassageIndex, prepared: Sequence[PreparedDocument]
) -> Iterator[StoredEntry]:
    """Everything that a memory holds, summaries included."""
    for document in _list_documents(index, prepared):
        for chunk in document.chunks:
            yield StoredEntry(text=chunk.search_text, id=document.episode, day=document.day)


def find_latest_date(index: PassageIndex, prepared: Sequence[PreparedDocument]) -> date | None:
    """The date of the latest episode."""
    return max((document.on for document in _list_documents(index, prepared)), default=None)


_EMPTY = Chunk(text="", context="", session=None)
"""Stands for a document that is kept without its text."""


def _list_documents(
    index: PassageIndex, prepared: Sequence[PreparedDocument]
) -> Iterator[IndexedDocument]:
    """Each document once: those of the index, and those that wait, with their summaries."""
    yield from index.documents
    indexed = {id(document) for document in index.documents}
    for waiting in prepared:
        if id(waiting.document) in indexed:
            continue
        yield waiting.document
        summary = waiting.summary
        if summary is not None:
            yield replace(waiting.document, chunks=summary.chunks, summary=summary.period)
