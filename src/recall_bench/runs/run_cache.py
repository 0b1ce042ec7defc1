"""A cache beside the journal, so that reports of a large run do not read all of it again.

It holds what the events of the trials come to, in columns. The journal remains the only source: a
cache of another journal, of other code, or that is not whole is passed over and written anew, and a
folder that cannot be written to has none. It may be deleted at any time. `verify`, bundles and
continuing a run open the journal itself, with `RunFolder.open`.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec

from recall_bench.core.errors import BenchError
from recall_bench.runs.journal import JOURNAL, is_busy
from recall_bench.runs.run_folder import RunFolder
from recall_bench.runs.run_snapshot import FolderSnapshot
from recall_bench.runs.sealed_file import (
    CACHE,
    FIGURES,
    digest_code,
    is_large,
    read_sealed_file,
    write_sealed_file,
)
from recall_bench.runs.trial_columns import TrialColumns

_MAGIC = b"recall-bench journal cache\n"
_SETTLED_S = 2.0
"""A file that changed more recently may change again within one tick of its clock."""
_TAIL = 4096
"""How much of the end of a journal identifies it: its last link covers all lines."""


class JournalState(msgspec.Struct, frozen=True):
    """What a cache is of."""

    code: str
    size: int
    mtime_ns: int
    tail: bytes


class _CacheContent(msgspec.Struct):
    state: JournalState
    folder: msgspec.Raw
    trials: msgspec.Raw


_COLUMNS: WeakKeyDictionary[RunFolder, tuple[int, msgspec.Raw]] = WeakKeyDictionary()
"""Of each folder that comes from a cache, how much of its journal the columns are of, and they."""

_DAMAGE = (msgspec.DecodeError, ValueError, LookupError, OSError, RecursionError, BenchError)
"""What a cache that is not whole, or of another journal, can raise."""


def open_run_folder(path: Path) -> RunFolder:
    """Open a run to read it, from its cache where that is of the journal as it is.

    Figures that were computed of it before are known then. Raises as `RunFolder.open`.
    """
    if os.path.exists(path / FIGURES):  # noqa: PTH110 - a name that is too long is no error here
        # Lazy: a run without such figures may be read without numpy.
        from recall_bench.runs.figure_cache import load_figures

        load_figures(path)
    with suppress(*_DAMAGE):
        content = _read_cache(path)
        if content is not None:
            found = msgspec.msgpack.decode(content.folder, type=FolderSnapshot)
            folder = RunFolder.restore(path, found)
            _COLUMNS[folder] = folder.read_bytes, content.trials
            return folder
    return RunFolder.open(path)


def load_columns(folder: RunFolder) -> TrialColumns | None:
    """Return the columns of the run's trials from the cache that it was opened from."""
    size, columns = _COLUMNS.get(folder, (0, None))
    if columns is None or size != folder.read_bytes:
        return None
    with suppress(*_DAMAGE):
        return msgspec.msgpack.decode(columns, type=TrialColumns)
    return None


def is_worth_caching(folder: RunFolder) -> bool:
    """Whether the journal is large, at rest and read to its end."""
    if not is_large(folder.read_bytes):
        return False
    with suppress(OSError):
        journal = folder.path / JOURNAL
        found = journal.stat()
        is_old = time.time() - found.st_mtime > _SETTLED_S
        return is_old and found.st_size == folder.read_bytes and not is_busy(journal)
    return False


def write_cache(folder: RunFolder, columns: TrialColumns) -> None:
    """Write the cache of a run; nothing where its folder cannot be written to."""
    snapshot = folder.take_snapshot()
    if snapshot is None:
        return
    with suppress(OSError):
        content = msgspec.msgpack.encode(
            _CacheContent(
                state=describe_journal(folder.path),
                folder=msgspec.Raw(msgspec.msgpack.encode(snapshot)),
                trials=msgspec.Raw(msgspec.msgpack.encode(columns)),
            )
        )
        write_sealed_file(folder.path / CACHE, _MAGIC, content)


def _read_cache(path: Path) -> _CacheContent | None:
    content = read_sealed_file(path / CACHE, _MAGIC)
    if content is None:
        return None
    found = msgspec.msgpack.decode(content, type=_CacheContent)
    return found if found.state == describe_journal(path) else None


def describe_journal(path: Path) -> JournalState:
    """Describe the journal of a run as it is; OSError if there is none."""
    with (path / JOURNAL).open("rb") as file:
        found = os.fstat(file.fileno())
        file.seek(max(0, found.st_size - _TAIL))
        return JournalState(digest_code(), found.st_size, found.st_mtime_ns, file.read())
