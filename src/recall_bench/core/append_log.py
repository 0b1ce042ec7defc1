"""A file of lines that only grows, and that a killed process leaves whole.

A line is in the operating system's hands before `append_line` returns, so a killed process loses
nothing it wrote. It is on the disk within a fifth of a second of steady work, and at once when
lines are further apart than that: a power cut costs at most the last moment.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from recall_bench.core.errors import FolderBusy, JournalLost, UsageError

_SYNC_EVERY_S = 0.2


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and content of every whole line, oldest first. A torn last line is not one."""
    offset = 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield offset, line[:-1]
            offset += len(line)


def make_lock(path: Path) -> FileLock:
    """What every writer of the file holds; Timeout at once while another does."""
    return FileLock(path.with_name(f".{path.name}.lock"), timeout=0)


def is_busy(path: Path) -> bool:
    """Whether a process is appending to the file now; nothing is written to find out."""
    lock = make_lock(path)
    if not Path(lock.lock_file).exists():
        return False
    try:
        with lock:
            return False
    except Timeout:
        return True
    except OSError:
        # A folder that cannot be written to is written to by nobody.
        return False


class AppendLog:
    """Appends to a file for as long as the `with` block lasts.

    Only one process may do so at a time; the lock dies with its holder. Entering forgets a torn
    last line.
    """

    def __init__(self, path: Path, *, otherwise: str, elsewhere: str) -> None:
        """What to do, other than wait, while another process writes; and where nobody can."""
        self._path = path
        self._otherwise = otherwise
        self._elsewhere = elsewhere
        self._lock = make_lock(path)
        self._lost: JournalLost | None = None
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
            raise UsageError(
                f"{self._path.parent}: cannot write there ({error.strerror}); {self._elsewhere}"
            ) from error
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._file, _find_last_line_end(self._file))
        except OSError as error:
            self._lock.release()
            raise UsageError(f"{self._path}: cannot be opened ({error.strerror})") from error
        return self

    def append_line(self, line: bytes) -> None:
        """Write one line through to the operating system before returning.

        After a failure nothing more is accepted: a line behind a broken one would break both.
        """
        if self._lost is not None:
            raise self._lost
        try:
            self._write(line + b"\n")
            now = time.monotonic()
            if now - self._synced_at > _SYNC_EVERY_S:
                os.fsync(self._file)
                self._synced_at = now
        except OSError as error:
            self._lost = JournalLost(
                f"{self._path}: cannot be written ({error.strerror}); what it holds is whole: "
                "make room, and the same command goes on"
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)
        self._lock.release()


def _find_last_line_end(file: int) -> int:
    """The length of the file up to and including its last newline."""
    end = os.fstat(file).st_size
    while end:
        start = max(0, end - 65536)
        os.lseek(file, start, os.SEEK_SET)
        newline = os.read(file, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
