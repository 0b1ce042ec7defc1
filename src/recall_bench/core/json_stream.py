"""The elements of a large JSON document, one at a time in memory.

The document is read in blocks. A scan finds where each element ends; only that element is kept, and
its reader decodes it within the usual limits.
"""

import re
from collections.abc import Collection, Iterator
from typing import Protocol

import msgspec

_BLOCK = 1 << 20
MAX_ELEMENT_BYTES = 256 * 1024 * 1024
"""The largest element that is kept in memory."""

_TO_BRACKET = re.compile(rb'[^\[\]{}"]*+(?:"(?:[^"\\]++|\\.)*+"[^\[\]{}"]*+)*+[\[\]{}]', re.DOTALL)
"""Everything up to and including the next bracket outside of strings."""
_SCALAR = re.compile(rb'(?:"(?:[^"\\]++|\\.)*+"|[^\s,\[\]{}":]++)(?=[\s,\]}])', re.DOTALL)
_BLANK = re.compile(rb"[\s,]*")
_STRING = re.compile(rb'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_OPENING = re.compile(rb"\s*(?=\S)")


class ByteSource(Protocol):
    """What can be read in blocks."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes; empty at the end."""
        ...


class _Scanner:
    """A window on the content that grows as far as the next element needs."""

    def __init__(self, file: ByteSource) -> None:
        self._file = file
        self._ended = False
        self.text = b""
        self.place = 0

    def match(self, pattern: re.Pattern[bytes], start: int | None = None) -> re.Match[bytes]:
        """The match from a place on; reads more until there is one. DecodeError at the end."""
        start = self.place if start is None else start
        while (found := pattern.match(self.text, start)) is None:
            before = self.place
            self._read_more()
            start -= before - self.place
        return found

    def peek(self) -> int:
        """The next byte that is no blank."""
        found = self.match(_OPENING)
        self.place = found.end()
        return self.text[self.place]

    def is_at_end(self) -> bool:
        """Whether nothing but blanks is left."""
        while True:
            rest = self.text[self.place :].lstrip()
            if rest:
                return False
            if self._ended:
                return True
            self._load()

    def take_value(self) -> bytes:
        """The next value as it is written."""
        first = self.peek()
        if first in b"]}:":
            raise msgspec.DecodeError(f"there is a {chr(first)!r} in place of a value")
        if first not in b"[{":
            found = self.match(_SCALAR)
            self.place = found.end()
            return found[0]
        depth, end = 0, self.place
        while True:
            end = self.match(_TO_BRACKET, end).end()
            depth += 1 if self.text[end - 1] in b"[{" else -1
            if depth == 0:
                value = self.text[self.place : end]
                self.place = end
                return value

    def _read_more(self) -> None:
        if self._ended:
            raise msgspec.DecodeError("it ends in the middle of a value")
        if len(self.text) - self.place > MAX_ELEMENT_BYTES:
            raise msgspec.DecodeError(f"one value has more than {MAX_ELEMENT_BYTES:,} bytes")
        self._load()

    def _load(self) -> None:
        # As much again as is kept: a value of any length is scanned about twice.
        kept = self.text[self.place :]
        block = self._file.read(max(_BLOCK, len(kept)))
        self._ended = not block
        # A number or word at the very end is over where the content is.
        self.text, self.place = kept + (block or b"\n"), 0


def stream_elements(file: ByteSource, arrays: Collection[str] = ()) -> Iterator[tuple[str, bytes]]:
    """Each element of the array in a document, as written, after an empty key.

    Of an object: each member after its key, and of the arrays named in `arrays` each element.
    msgspec.DecodeError if the document is cut off or is neither.
    """
    scanner = _Scanner(file)
    if scanner.is_at_end():
        raise msgspec.DecodeError("it is empty")
    opening = scanner.peek()
    if opening == ord("["):
        for element in _stream_array(scanner):
            yield "", element
    elif opening == ord("{"):
        yield from _stream_members(scanner, arrays)
    else:
        raise msgspec.DecodeError("it is neither an array nor an object")
    if not scanner.is_at_end():
        raise msgspec.DecodeError("there is more after its end")


def _stream_array(scanner: _Scanner) -> Iterator[bytes]:
    scanner.place += 1
    while True:
        scanner.place = scanner.match(_BLANK).end()
        if scanner.peek() == ord("]"):
            scanner.place += 1
            return
        if scanner.text[scanner.place] == ord(","):
            scanner.place += 1
            continue
        yield scanner.take_value()


def _stream_members(scanner: _Scanner, arrays: Collection[str]) -> Iterator[tuple[str, bytes]]:
    scanner.place += 1
    while True:
        scanner.place = scanner.match(_BLANK).end()
        if scanner.peek() == ord("}"):
            scanner.place += 1
            return
        if scanner.text[scanner.place] == ord(","):
            scanner.place += 1
            continue
        if scanner.text[scanner.place] != ord('"'):
            raise msgspec.DecodeError("a member has no name")
        found = scanner.match(_STRING)
        key = found[1].decode("utf-8", "replace")
        scanner.place = found.end()
        if scanner.peek() != ord(":"):
            raise msgspec.DecodeError(f"the member {key:.40} has no value")
        scanner.place += 1
        if key in arrays and scanner.peek() == ord("["):
            for element in _stream_array(scanner):
                yield key, element
        else:
            yield key, scanner.take_value()
