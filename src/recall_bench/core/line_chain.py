"""A chain of checksums over JSON lines, so that a changed, added or missing line is found.

The last key of a line, `link`, is a checksum of the line without it and of the link before. Lines
of earlier versions have none; from the first line with a link on, every line has one.
"""

from hashlib import blake2b

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
