"""A cache of the rendered texts of a page, so that a second report does not pack them again.

It lies beside a large journal. It is used only if the journal, the days of the stories and the code
are those that it was written from. A cache that is damaged or out of date is replaced. A folder
that cannot be written to gets no cache. It may be deleted at any time.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b

import msgspec

from recall_bench.reporting.pages.markup import Markup, PageBlock
from recall_bench.reporting.pages.trial_blocks import TextPlaces, TrialBlocks
from recall_bench.runs.run_cache import JournalState, describe_journal, is_worth_caching
from recall_bench.runs.sealed_file import (
    DIGEST_BYTES,
    PAGE,
    digest_code,
    read_sealed_file,
    write_sealed_file,
)

_MAGIC = b"recall-bench page cache\n"


class _TextSource(msgspec.Struct, frozen=True):
    """What rendered texts depend on."""

    journal: JournalState
    code: str
    stories_digest: bytes


class _CachedTexts(msgspec.Struct):
    source: _TextSource
    places: TextPlaces
    pieces: Sequence[str]


def render_texts(blocks: TrialBlocks) -> Iterable[Markup]:
    """Render all texts of a page, piece by piece; their places are known when it returns.

    Those of a large run come from its cache, if it has one.
    """
    source = _describe_source(blocks)
    found = None if source is None else _read_texts(blocks, source)
    if found is not None:
        blocks.places = found.places
        return map(Markup, found.pieces)
    with ThreadPoolExecutor() as packers:
        # Blocks are compressed in threads while the next are collected.
        pieces = list(packers.map(PageBlock.render, blocks.write_texts()))
    if source is not None:
        found = _CachedTexts(source, blocks.places, pieces)
        content = msgspec.msgpack.encode(found, enc_hook=str)
        with suppress(OSError):
            write_sealed_file(blocks.folder.path / PAGE, _MAGIC, content)
    return pieces


def _describe_source(blocks: TrialBlocks) -> _TextSource | None:
    """Describe what the texts depend on; None for a run that gets no cache."""
    if blocks.folder.other_judge is not None or not is_worth_caching(blocks.folder):
        return None
    with suppress(OSError):
        return _TextSource(
            journal=describe_journal(blocks.folder.path),
            code=f"{digest_code('reporting/pages')} {zlib.ZLIB_RUNTIME_VERSION}",
            stories_digest=_digest_stories(blocks.stories),
        )
    return None


def _digest_stories(stories: Mapping[str, Mapping[int, str]]) -> bytes:
    return blake2b(msgspec.msgpack.encode(stories), digest_size=DIGEST_BYTES).digest()


def _read_texts(blocks: TrialBlocks, source: _TextSource) -> _CachedTexts | None:
    with suppress(OSError, msgspec.DecodeError, ValueError, RecursionError):
        content = read_sealed_file(blocks.folder.path / PAGE, _MAGIC)
        if content is not None:
            found = msgspec.msgpack.decode(content, type=_CachedTexts)
            return found if found.source == source else None
    return None
