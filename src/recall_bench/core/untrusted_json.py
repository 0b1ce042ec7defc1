"""Files and JSON that others made: within limits on size and depth, and without waiting forever.

A named pipe without a writer would be waited for, and a small gzip file may unpack to terabytes.
"""

import errno
import gzip
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from mmap import mmap
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

import msgspec

from recall_bench.core.errors import UsageError

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""The largest reply that a system may send, over any transport."""

MAX_DEPTH = 64
"""The deepest nesting of lists and objects in what is recorded. How deep JSON can be read depends
on the stack of the reader, so what is written has to stay far below that."""

KindT = TypeVar("KindT")

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)


def decode_untrusted_json(
    content: bytes | str | memoryview | mmap | msgspec.Raw, kind: type[KindT]
) -> KindT:
    """The value of this kind; msgspec.DecodeError if the content is anything else."""
    with refuse_deep_nesting():
        try:
            return msgspec.json.decode(content, type=kind)
        except UnicodeDecodeError as error:
            raise msgspec.DecodeError(f"it is not UTF-8 text: {error.reason}") from error


def decode_untrusted_line(
    decoder: msgspec.json.Decoder[KindT], line: bytes | str | msgspec.Raw
) -> KindT:
    """The value of a line; msgspec.DecodeError if it is anything else."""
    # Not `refuse_deep_nesting`: a journal has millions of lines, and entering it takes as long as
    # decoding a short one.
    try:
        return decoder.decode(line)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"it is not UTF-8 text: {error.reason}") from error
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


def decode_plain_json(content: bytes | str) -> Any:  # noqa: ANN401 - any JSON
    """Any JSON value, nested no deeper than `MAX_DEPTH`, so that code may recurse over it.

    msgspec.DecodeError otherwise, also for halves of surrogate pairs, which no file can hold, and
    for numbers that are beyond what Python prints.
    """
    value = decode_untrusted_json(content, object)
    if is_too_deep(value):
        raise msgspec.DecodeError("it is nested too deeply")
    return value


@contextmanager
def refuse_deep_nesting() -> Iterator[None]:
    """Raise a DecodeError instead of the RecursionError of a value that is nested too deeply."""
    try:
        yield
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


def is_too_deep(value: object) -> bool:
    """Whether a value has lists and objects within each other beyond `MAX_DEPTH`."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for value_here in level for inner in _list_inner(value_here)]
        if not level:
            return False
    return True


def _list_inner(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


def cut_deep_json(content: bytes) -> bytes:
    """The JSON with null in place of every list and object beyond `MAX_DEPTH`."""
    pieces, depth, start = [], 0, 0
    for token in _TOKEN.finditer(content):
        sign = token[0]
        if sign in b"[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                pieces.append(content[start : token.start()] + b"null")
        elif sign in b"]}":
            depth -= 1
            if depth == MAX_DEPTH:
                start = token.end()
    return b"".join((*pieces, content[start:])) if depth <= MAX_DEPTH else b""


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
