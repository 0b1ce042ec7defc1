"""What has been said before, remembered in a fixed amount of memory.

A Bloom filter: it never forgets a sentence, and now and then takes a new one for an old one,
which costs no more than another draw.
"""

from hashlib import blake2b

from recall_bench.core.sentences import split_sentences

_BITS = 1 << 23
_PROBES = 3
_SHORT = 6
"""Sentences of fewer words repeat in anybody's log."""

Trace = list[tuple[int, int]]
"""The bits of one sentence: byte and mask."""


class SentenceFilter:
    """The sentences told so far."""

    def __init__(self) -> None:
        self._seen = bytearray(_BITS // 8)

    def compute_traces(self, text: str) -> list[Trace]:
        """What the longer sentences of a text leave in memory."""
        long = (sentence for sentence in split_sentences(text) if sentence.count(" ") >= _SHORT - 1)
        return [_compute_trace(sentence) for sentence in long]

    def is_new(self, traces: list[Trace]) -> bool:
        """Whether none of these sentences was told before."""
        seen = self._seen
        return not any(all(seen[byte] & bit for byte, bit in trace) for trace in traces)

    def add(self, traces: list[Trace]) -> None:
        """These have been told."""
        for trace in traces:
            for byte, bit in trace:
                self._seen[byte] |= bit


def _compute_trace(sentence: str) -> Trace:
    digest = blake2b(sentence.encode(), digest_size=4 * _PROBES).digest()
    found = []
    for start in range(0, len(digest), 4):
        place = int.from_bytes(digest[start : start + 4], "big") % _BITS
        found.append((place >> 3, 1 << (place & 7)))
    return found
