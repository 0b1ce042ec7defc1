"""What the page's script reads: JSON, packed small, that ends no element it stands in."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from gzip import compress
from typing import Final

import msgspec

from recall_bench.pages.markup import Markup

CHUNK: Final = 1 << 18
"""About so many bytes are unpacked together: a few milliseconds in a browser."""


def packed(name: str, content: object) -> Markup:
    """A block of this name; `content` is anything JSON can hold."""
    return packed_bytes(name, msgspec.json.encode(content))


def packed_bytes(name: str, content: bytes) -> Markup:
    """A block of these bytes. Its letters are those of base64, so nothing in it can be markup."""
    text = b64encode(compress(content, 6, mtime=0)).decode()
    return Markup(f'<script type="text/plain" data-block="{name}">{text}</script>\n')


def chunks(lengths: Sequence[int], size: int = CHUNK) -> Iterator[slice]:
    """Runs of entries that come to about `size` together, `lengths` being how long each is."""
    start, length = 0, 0
    for number, each in enumerate(lengths, start=1):
        length += each
        if length >= size:
            yield slice(start, number)
            start, length = number, 0
    if start < len(lengths):
        yield slice(start, len(lengths))
