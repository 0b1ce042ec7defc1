"""Bytes that come in pieces, put together again."""

from collections.abc import Iterator

LINE_LIMIT = 256 * 1024 * 1024
"""More than this without an end is no line."""

_KEPT_BYTES = 8192
_QUOTED_LINES = 5
_QUOTED_CHARACTERS = 300


class LineTooLong(Exception):
    """A line that has no end."""


class LineSplitter:
    """Makes whole lines of whatever pieces they arrive in, each byte looked at once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that end in this piece, without their ends; blank ones are left out."""
        *ended, rest = piece.split(b"\n")
        for end in ended:
            line = b"".join((*self._parts, end)).strip()
            self._parts, self._length = [], 0
            if line:
                yield line
        self._parts.append(rest)
        self._length += len(rest)
        if self._length > LINE_LIMIT:
            raise LineTooLong

    def get_rest(self) -> bytes:
        """What came after the last end of a line."""
        return b"".join(self._parts).strip()


class StderrTail:
    """The end of what a program wrote to its standard error."""

    def __init__(self) -> None:
        self._kept = b""

    def feed(self, piece: bytes) -> None:
        """Keep it, and forget what came long before."""
        self._kept = (self._kept + piece)[-_KEPT_BYTES:]

    def list_lines(self) -> list[str]:
        """The last lines that say something, each cut to a readable length."""
        text = self._kept.decode("utf-8", "replace")
        said = [line.strip() for line in text.splitlines() if line.strip()]
        return [line[:_QUOTED_CHARACTERS] for line in said[-_QUOTED_LINES:]]

    def format_all(self) -> str:
        """All of them in one clause that begins with a comma; empty if nothing was said."""
        said = " | ".join(self.list_lines())
        return f", and its last words were: {said}" if said else ""

    def format_last(self) -> str:
        """The very last one in a clause that begins with a colon; empty if nothing was said."""
        said = self.list_lines()
        return f": {said[-1]}" if said else ""


def quote_bytes(line: bytes) -> str:
    """A line as messages quote it."""
    text = line[:_QUOTED_CHARACTERS].decode("utf-8", "replace")
    return repr(text if len(line) <= _QUOTED_CHARACTERS else f"{text}…")
