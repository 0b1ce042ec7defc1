"""An append-only file of lines that survives a killed process, and a chain of checksums over it.

`append_line` returns after the operating system has the line, so a killed process loses nothing.
The file is synced at least every fifth of a second while lines are written, so a power cut costs at
most the last moment.

The last key of a line, `link`, is a checksum of the line without it and of the link before: a
changed, added or missing line is found. Lines of earlier versions have none; from the first line
with a link on, every line has one.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from recall_bench.core.errors import DISK_FULL, FolderBusy, JournalLost, UsageError
from recall_bench.core.untrusted_json import open_regular_file

_SYNC_EVERY_S = 0.2

JOURNAL = "journal.jsonl"
"""The name of a run's journal."""


def read_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield offset and content of every whole line from `start` on; a torn last one is skipped."""
    offset = start
    with open_regular_file(path) as file:
        file.seek(start)
        for line in file:
            if line.endswith(b"\n"):
                yield offset, line[:-1]
            offset += len(line)


def make_lock(path: Path) -> FileLock:
    """Make the lock of the file's writers; it raises Timeout at once while another holds it."""
    return FileLock(path.with_name(f".{path.name}.lock"), timeout=0)


def is_busy(path: Path) -> bool:
    """Whether a process is appending to the file now; this writes nothing."""
    lock = make_lock(path)
    if not Path(lock.lock_file).exists():
        return False
    try:
        with lock:
            return False
    except Timeout:
        return True
    except OSError:
        # Nothing writes to a folder that cannot be written to.
        return False


class AppendLog:
    """Appends to a file within a `with` block.

    Only one process at a time can do so; its lock ends with the process. Entering truncates a torn
    last line.
    """

    def __init__(self, path: Path, *, otherwise: str, elsewhere: str) -> None:
        """The messages: what to do if another process writes, and if the folder is read-only."""
        self._path = path
        self._otherwise = otherwise
        self._elsewhere = elsewhere
        self._lock = make_lock(path)
        self._lost: JournalLost | None = None
        self.end = 0
        """The length of the file, while it is open."""
        self._synced_at = 0.0

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            raise FolderBusy(
                f"{self._path.parent}: another run is writing to this folder; "
                f"wait for it, or {self._otherwise}"
            ) from error
        except OSError as error:
            _refuse_full_disk(self._path, error)
            raise UsageError(
                f"{self._path.parent}: cannot write there ({error.strerror}); {self._elsewhere}"
            ) from error
        try:
            # A link would have the lines written elsewhere.
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            self._file = os.open(self._path, flags, 0o644)
            end = _find_line_end(self._file)
            os.ftruncate(self._file, end)
            self.end = end
            self._continue_after(end)
        except OSError as error:
            self._lock.release()
            _refuse_full_disk(self._path, error)
            raise UsageError(f"{self._path}: cannot be opened ({error.strerror})") from error
        return self

    def _continue_after(self, end: int) -> None:
        """Called once the file is open and ends with a whole line, at this offset."""

    def _read_last_line(self, end: int) -> bytes:
        """Read the last line of the open file; empty if there is none."""
        start = _find_line_end(self._file, max(0, end - 1))
        os.lseek(self._file, start, os.SEEK_SET)
        line = b""
        while len(line) < end - start:
            line += os.read(self._file, end - start - len(line))
        return line[:-1]

    def append_line(self, line: bytes) -> None:
        """Write one line to the operating system.

        After a failure nothing more is accepted: a line after a torn one would break both.
        """
        if self._lost is not None:
            raise self._lost
        try:
            self._write(line + b"\n")
            self.end += len(line) + 1
            now = time.monotonic()
            if now - self._synced_at > _SYNC_EVERY_S:
                os.fsync(self._file)
                self._synced_at = now
        except OSError as error:
            self._lost = JournalLost(
                f"{self._path}: cannot be written ({error.strerror}); what it holds is whole: "
                "free some space and run the same command again to continue"
            )
            raise self._lost from error

    def _write(self, line: bytes) -> None:
        written = os.write(self._file, line)
        try:
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError:
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)
        self._lock.release()


def _refuse_full_disk(path: Path, error: OSError) -> None:
    if error.errno in DISK_FULL:
        raise JournalLost(f"{path}: {JournalLost.FULL_DISK}") from error


def _find_line_end(file: int, before: int | None = None) -> int:
    """Find the length of the file up to and including its last newline before an offset."""
    end = os.fstat(file).st_size if before is None else before
    while end:
        start = max(0, end - 65536)
        os.lseek(file, start, os.SEEK_SET)
        newline = os.read(file, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


_OPENING = b',"link":"'
_DIGEST_BYTES = 16
_LINK_LENGTH = 2 * _DIGEST_BYTES
_CLOSING = b'"}'
_SUFFIX_LENGTH = len(_OPENING) + _LINK_LENGTH + len(_CLOSING)


def split_link(line: bytes) -> tuple[bytes, bytes]:
    """Split a line into the JSON object without its link, and the link; empty if it has none."""
    suffix = line[-_SUFFIX_LENGTH:]
    if not (suffix.startswith(_OPENING) and suffix.endswith(_CLOSING)):
        return line, b""
    return line[:-_SUFFIX_LENGTH] + b"}", suffix[len(_OPENING) : -len(_CLOSING)]


class LineChain:
    """The link of the last line, and what follows from it."""

    def __init__(self, last: bytes = b"") -> None:
        """Continue after a line with this link."""
        self._last = last

    @property
    def is_started(self) -> bool:
        """Whether the last line had a link."""
        return bool(self._last)

    @property
    def last_link(self) -> str | None:
        """The link of the last line; None if it had none."""
        return self._last.decode() or None

    def add(self, content: bytes) -> bytes:
        """Return the JSON object of the next line with its link."""
        self._last = self._compute(content)
        return content[:-1] + _OPENING + self._last + _CLOSING

    def check(self, line: bytes) -> bytes:
        """Return the next line without its link; ValueError if it does not follow."""
        content, link = split_link(line)
        if link != (self._compute(content) if link else self._last):
            raise ValueError(
                "does not follow from the line before: one of the two was changed, added or "
                "removed after it was written; restore the file from a copy, or run again into "
                "another folder"
            )
        self._last = link
        return content

    def _compute(self, content: bytes) -> bytes:
        return blake2b(self._last + content, digest_size=_DIGEST_BYTES).hexdigest().encode()
