"""The rendered texts of a page beside a large journal, so that they are not read and packed again.

They are of the journal, of the days of the stories and of the code that renders them. A cache of
others, or one that is not whole, is passed over and written anew, and a folder that cannot be
written to has none. It may be deleted at any time.
"""

import zlib
from collections.abc import Mapping
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
    judge: int | None
    """The judge that the folder is a view of, as in `RunFolder`."""
    trials: int
    code: str
    stories: bytes


class _CachedTexts(msgspec.Struct):
    source: _TextSource
    places: TextPlaces
    markup: str


def render_texts(blocks: TrialBlocks) -> Markup:
    """Render all texts of a page; those of a large run come from its cache, if it has one."""
    source = _describe_source(blocks)
    found = None if source is None else _read_texts(blocks, source)
    if found is not None:
        blocks.places = found.places
        return Markup(found.markup)
    with ThreadPoolExecutor() as packers:
        # Blocks are compressed in threads while the next are collected.
        markup = "".join(packers.map(PageBlock.render, blocks.write_texts()))
    if source is not None:
        content = msgspec.msgpack.encode(_CachedTexts(source, blocks.places, markup))
        with suppress(OSError):
            write_sealed_file(blocks.folder.path / PAGE, _MAGIC, content)
    return Markup(markup)


def _describe_source(blocks: TrialBlocks) -> _TextSource | None:
    """Describe what the texts depend on; None for a run that gets no cache."""
    if not is_worth_caching(blocks.folder):
        return None
    with suppress(OSError):
        return _TextSource(
            journal=describe_journal(blocks.folder.path),
            judge=blocks.folder.other_judge,
            trials=len(blocks.table.rows),
            code=f"{digest_code('reporting/pages')} {zlib.ZLIB_RUNTIME_VERSION}",
            stories=_digest_stories(blocks.stories),
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
