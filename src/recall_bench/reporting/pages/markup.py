"""Safe HTML: every text is escaped unless this module made it."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from gzip import compress
from html import escape
from typing import Final

import msgspec

_HIDDEN = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), 127) if chr(code) not in "\n\t"
}
"""Control characters, which HTML does not allow."""

_EMPTY = frozenset({"br", "meta", "hr"})
"""Elements without an end tag."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape_text(text: str) -> Markup:
    """Escape any text."""
    return Markup(escape(text.translate(_HIDDEN)))


def make_element(name: str, /, *content: str, **attributes: str | bool | None) -> Markup:
    """An element; plain strings in it are escaped.

    In names of attributes `_` stands for `-`, and a final `_` is dropped: `class_`, `aria_label`.
    An attribute that is None or False is left out.
    """
    written = "".join(_format_attribute(key, value) for key, value in attributes.items())
    opening = f"<{name}{written}>"
    return Markup(opening if name in _EMPTY else f"{opening}{join_markup(*content)}</{name}>")


def join_markup(*content: str) -> Markup:
    """Join pieces; plain strings are escaped."""
    return Markup(
        "".join(part if isinstance(part, Markup) else escape_text(part) for part in content)
    )


def _format_attribute(key: str, value: str | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape_text(value)}"'


CHUNK_SIZE: Final = 1 << 18
"""Bytes that are unpacked together: a few milliseconds in a browser."""


@dataclass(frozen=True, slots=True)
class PageBlock:
    """Data for the script of the page, under a name."""

    name: str
    content: bytes

    def render(self) -> Markup:
        """The block as an element, in base64, so that it cannot hold markup.

        Compression releases the interpreter lock.
        """
        text = b64encode(compress(self.content, 6, mtime=0)).decode()
        return Markup(f'<script type="text/plain" data-block="{self.name}">{text}</script>\n')


def encode_block(name: str, content: object) -> PageBlock:
    """A block of JSON."""
    return PageBlock(name, msgspec.json.encode(content))


def split_chunks(lengths: Sequence[int], size: int = CHUNK_SIZE) -> Iterator[slice]:
    """Slices of entries of about `size` together, given the length of each."""
    start, length = 0, 0
    for number, entry in enumerate(lengths, start=1):
        length += entry
        if length >= size:
            yield slice(start, number)
            start, length = number, 0
    if start < len(lengths):
        yield slice(start, len(lengths))
