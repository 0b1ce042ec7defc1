"""What the page's script reads: JSON, packed small, that ends no element it stands in."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from gzip import compress
from typing import Final

import msgspec

from recall_bench.pages.markup import Markup

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
