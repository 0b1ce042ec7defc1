"""HTML that cannot be broken out of: every word is escaped unless this module made it."""

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
"""Control characters, which no page may hold."""

_EMPTY = frozenset({"br", "meta", "hr"})
"""Elements that have no end."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape_text(text: str) -> Markup:
    """Any text, to be read as it is."""
    return Markup(escape(text.translate(_HIDDEN)))


def format_sentence(text: str) -> str:
    """The words as a sentence of their own."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def make_element(name: str, /, *content: str, **attributes: str | bool | None) -> Markup:
    """One element: plain strings in it are escaped, markup is kept.

    An attribute of a reserved name ends in `_`, and `_` stands for `-`: `class_`, `aria_label`.
    One that is None or False is left out.
    """
    written = "".join(_format_attribute(key, value) for key, value in attributes.items())
    opening = f"<{name}{written}>"
    return Markup(opening if name in _EMPTY else f"{opening}{join_markup(*content)}</{name}>")


def join_markup(*content: str) -> Markup:
    """Several pieces, one after the other."""
    return Markup(
        "".join(each if isinstance(each, Markup) else escape_text(each) for each in content)
    )


def _format_attribute(key: str, value: str | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape_text(value)}"'


CHUNK_SIZE: Final = 1 << 18
"""About so many bytes are unpacked together: a few milliseconds in a browser."""


@dataclass(frozen=True, slots=True)
class PageBlock:
    """Something for the page's script, under a name."""

    name: str
    content: bytes

    def render(self) -> Markup:
        """As it stands in the page. Its letters are those of base64, so none can be markup.

        Most of the time this takes others can run beside it.
        """
        text = b64encode(compress(self.content, 6, mtime=0)).decode()
        return Markup(f'<script type="text/plain" data-block="{self.name}">{text}</script>\n')


def encode_block(name: str, content: object) -> PageBlock:
    """One that holds anything JSON can hold."""
    return PageBlock(name, msgspec.json.encode(content))


def split_chunks(lengths: Sequence[int], size: int = CHUNK_SIZE) -> Iterator[slice]:
    """Runs of entries that come to about `size` together, `lengths` being how long each is."""
    start, length = 0, 0
    for number, each in enumerate(lengths, start=1):
        length += each
        if length >= size:
            yield slice(start, number)
            start, length = number, 0
    if start < len(lengths):
        yield slice(start, len(lengths))
