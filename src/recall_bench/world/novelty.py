"""What has been said before, remembered in a fixed amount of memory.

A Bloom filter: it never forgets a sentence, and now and then takes a new one for an old one,
which costs no more than another draw.
"""

from hashlib import blake2b

from recall_bench.core.sentences import split

_BITS = 1 << 23
_PROBES = 3
_SHORT = 6
"""Sentences of fewer words repeat in anybody's log."""


class Memory:
    """The sentences told so far."""

    def __init__(self) -> None:
        self._seen = bytearray(_BITS // 8)

    def is_new(self, text: str) -> bool:
        """Whether none of the text's longer sentences was told before."""
        return not any(self._has(sentence) for sentence in _long(text))

    def add(self, text: str) -> None:
        """The text has been told."""
        for sentence in _long(text):
            for byte, bit in _places(sentence):
                self._seen[byte] |= bit

    def _has(self, sentence: str) -> bool:
        return all(self._seen[byte] & bit for byte, bit in _places(sentence))


def _long(text: str) -> list[str]:
    return [sentence for sentence in split(text) if sentence.count(" ") >= _SHORT - 1]


def _places(sentence: str) -> list[tuple[int, int]]:
    digest = blake2b(sentence.encode(), digest_size=4 * _PROBES).digest()
    found = []
    for start in range(0, len(digest), 4):
        place = int.from_bytes(digest[start : start + 4], "big") % _BITS
        found.append((place >> 3, 1 << (place & 7)))
    return found
