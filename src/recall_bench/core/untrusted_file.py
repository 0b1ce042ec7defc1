"""Files that others made, read without waiting forever or filling the disk.

A named pipe without a writer would be waited for, and a small gzip file may unpack to terabytes.
"""

import errno
import gzip
import io
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import IO, BinaryIO

from recall_bench.core.errors import UsageError

_SHELL_PIPES = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""The names that a shell gives to pipes that have a writer."""

UNPACKED_ALWAYS = 1 << 30
"""The size of unpacked content that is never too much."""

UNPACKED_RATIO = 100
"""How many times larger than its gzip file a content may be beyond that. Text reaches 20."""


def require_file(path: Path, flag: str) -> None:
    """Raise UsageError, which names the flag, unless this is a file."""
    if path.is_dir():
        raise UsageError(f"{flag}: {path} is a folder; name a file")
    if not path.is_file():
        raise UsageError(f"{flag}: there is no file {path}")


def open_regular_file(path: Path) -> BufferedReader:
    """Open a file to read its bytes; OSError if it is a pipe, a socket or a device."""
    if str(path).startswith(_SHELL_PIPES):
        return path.open("rb")
    file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 - the caller closes it
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))


def read_regular_file(path: Path) -> bytes:
    """Read a file; OSError if it is a pipe, a socket or a device."""
    with open_regular_file(path) as file:
        return file.read()


def open_unpacked(file: IO[bytes]) -> BinaryIO:
    """The content of an open gzip file; BadGzipFile when it is far larger than data can be."""
    size = os.fstat(file.fileno()).st_size
    limit = max(UNPACKED_ALWAYS, UNPACKED_RATIO * size)
    return io.BufferedReader(_LimitedContent(gzip.open(file), limit), 1 << 20)


class _LimitedContent(io.RawIOBase):
    """Unpacks a gzip file up to a limit."""

    def __init__(self, content: gzip.GzipFile, limit: int) -> None:
        self._content = content
        self._limit = limit

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._content.seek(offset, whence)

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        block = self._content.read(len(buffer))
        buffer[: len(block)] = block
        if self._content.tell() > self._limit:
            raise gzip.BadGzipFile(f"it unpacks to more than {self._limit:,} bytes")
        return len(block)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
