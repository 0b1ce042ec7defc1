"""Other people's text inside a prompt, so that it cannot pass for ours.

Each block stands between two lines that carry a mark made from the blocks themselves. A text that
holds its own mark would have to contain a part of its own digest; should one be found all the same,
another mark is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class FencedText:
    """Blocks ready for a prompt, and the mark that tells where each begins and ends."""

    mark: str
    text: str


def fence_blocks(blocks: Mapping[str, str]) -> FencedText:
    """Each text between a line `<<name mark>>` and a line `<<end of name mark>>`.

    What cannot be sent, half of a surrogate pair, becomes a question mark.
    """
    bodies = {name: text.encode(errors="replace").decode() for name, text in blocks.items()}
    mark = _make_mark(tuple(bodies.values()))
    text = "\n\n".join(
        f"<<{name} {mark}>>\n{body}\n<<end of {name} {mark}>>" for name, body in bodies.items()
    )
    return FencedText(mark, text)


def _make_mark(bodies: tuple[str, ...]) -> str:
    digest = sha256("\0".join(bodies).encode())
    while any(digest.hexdigest()[:16] in body for body in bodies):
        digest.update(b"\0")
    return digest.hexdigest()[:16]
