"""How well memories fit a text and each other, by words and meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from recall_bench.datasets.selection.memory_file import MemoryFile
from recall_bench.models.static_embedding import compute_similarity, embed
from recall_bench.systems.builtin.word_index import Bm25, list_stop_words
from recall_bench.systems.selectors.retrieval_selector import (
    CUT_OFF,
    HybridSelectorOptions,
    MemoryIndex,
    RetrievalSettings,
    build_search_text,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STRONG = CUT_OFF["hybrid"].threshold
"""The fit from which a text is about a memory, as calibrated for the built-in hybrid."""

SAME_WORDS, SAME_MEANING, SAME_KEYWORDS = 0.4, 0.9, 0.5
"""Share of words, cosine and share of keywords from which two memories are alike.

Of 3,663 pairs of LoCoMo's session summaries from one chat, about the same two people, the first two
call 6 alike; of 272 summaries with a sentence removed and the rest reordered, they find every one.
"""

_KEYWORDS = 2
"""Fewest common keywords: one may be chance."""


class MemoryRelevance:
    """One folder of memories, indexed once."""

    def __init__(self, memories: Sequence[MemoryFile]) -> None:
        self._memories = tuple(memories)
        options = HybridSelectorOptions()
        means = RetrievalSettings(
            formula=Bm25(options.k1, options.b),
            weight=options.weight,
            k=len(self._memories),
            cut_off=CUT_OFF["hybrid"],
        )
        self._index = MemoryIndex(self._memories, means)
        self._places = {memory.name: place for place, memory in enumerate(self._memories)}
        self._alike: dict[str, frozenset[str]] = {}

    def score_memories(self, text: str) -> Mapping[str, float]:
        """The best fit of each memory to a sentence of the text, from 0 to 1."""
        best = self._index.score_prompt(text).max(axis=0)
        return dict(zip(self._index.names, best.tolist(), strict=True))

    def find_alike(self, name: str) -> frozenset[str]:
        """The other memories with nearly the same text or the same keywords."""
        if name not in self._alike:
            self._alike[name] = self._compute_alike(name)
        return self._alike[name]

    def _compute_alike(self, name: str) -> frozenset[str]:
        place = self._places[name]
        cosines = compute_similarity(self._vectors, self._vectors[place])
        return frozenset(
            other.name
            for near, other in zip(cosines.tolist(), self._memories, strict=True)
            if other.name != name and (near >= SAME_MEANING or self._share_words(place, other.name))
        )

    def _share_words(self, place: int, other: str) -> bool:
        there = self._places[other]
        overlap = _measure_overlap(self._words[place], self._words[there])
        one, two = self._keywords[place], self._keywords[there]
        return overlap >= SAME_WORDS or (
            len(one & two) >= _KEYWORDS and _measure_overlap(one, two) >= SAME_KEYWORDS
        )

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        return embed([build_search_text(memory) for memory in self._memories])

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        empty = list_stop_words()
        return [
            frozenset(re.findall(r"\w+", memory.body.lower())) - empty for memory in self._memories
        ]

    @cached_property
    def _keywords(self) -> list[frozenset[str]]:
        return [frozenset(map(str.casefold, memory.keywords)) for memory in self._memories]


def _measure_overlap(one: frozenset[str], two: frozenset[str]) -> float:
    """The Jaccard index; 0 if one of them is empty."""
    return len(one & two) / len(one | two) if one and two else 0.0
