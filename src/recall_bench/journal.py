"""An append-only file of events: the only state a run has.

A line is in the operating system's hands before `append` returns, so a killed process loses
nothing it recorded. It is on the disk within a fifth of a second of steady work, and at once
when events are further apart than that: a power cut costs at most the last moment, which the
next run repeats.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from filelock import FileLock, Timeout

from recall_bench.core.event import Event, decode, encode
from recall_bench.errors import DataError, FolderBusy, JournalLost, UsageError

JOURNAL = "journal.jsonl"

_SYNC_EVERY_S = 0.2


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Offset and content of every whole line, oldest first. A torn last line is not one."""
    offset = 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield offset, line[:-1]
            offset += len(line)


def read(path: Path) -> Iterator[Event]:
    """Every event in the journal, oldest first."""
    for number, (_, line) in enumerate(lines(path), start=1):
        try:
            yield decode(line)
        except (msgspec.DecodeError, ValueError) as error:
            raise DataError(
                f"{path}, line {number}: not a journal event ({error}); the file was changed "
                "after it was written: restore it, or start again in another folder"
            ) from error


class Journal:
    """Appends to a journal file for as long as the `with` block lasts.

    Only one process may do so at a time; the lock dies with its holder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0)
        self._synced_at = 0.0
        self._lost: JournalLost | None = None

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            raise FolderBusy(
                f"{self._path.parent}: another run is writing to this folder; "
                "wait for it, or choose another with --into"
            ) from error
        except OSError as error:
            raise UsageError(
                f"{self._path.parent}: cannot write there ({error.strerror}); "
                "choose another folder with --into"
            ) from error
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._file, _end_of_last_line(self._file))
        except OSError as error:
            self._lock.release()
            raise UsageError(f"{self._path}: cannot be opened ({error.strerror})") from error
        return self

    def append(self, event: Event) -> None:
        """Write one event through to the operating system before returning.

        After a failure nothing more is accepted: a line behind a broken one would break both.
        """
        if self._lost is not None:
            raise self._lost
        line = encode(event) + b"\n"
        try:
            self._write(line)
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
        now = time.monotonic()
        if now - self._synced_at > _SYNC_EVERY_S:
            os.fsync(self._file)
            self._synced_at = now

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


def _end_of_last_line(file: int) -> int:
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
