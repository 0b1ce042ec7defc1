"""Ruling out what no word of the prompt points to, before a model looks."""

import re
from collections.abc import Sequence

from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.selectors.keyword import keyword_hits, points_to, telling_words

_WORD = re.compile(r"\w+")


class Presearch:
    """One folder of memories, to be narrowed for one prompt after another.

    A word of the prompt is looked for where the selector `keyword` looks for it: in a memory's name
    and keywords, or its one line if it has none; with the content in the whole of its text too.
    """

    def __init__(self, memories: Sequence[MemoryFile], *, with_content: bool) -> None:
        self._memories = tuple(memories)
        self._contents = _Contents(memories if with_content else ())

    def left(self, prompt: str) -> tuple[MemoryFile, ...]:
        """The memories that some word of the prompt hits, in their order; none if none is hit."""
        hit = self._contents.hit_by(prompt)
        return tuple(
            memory
            for memory in self._memories
            if memory.name in hit or keyword_hits(prompt, memory)
        )


class _Contents:
    """Which memories a word stands in. Memories share most words, so each is compared once."""

    def __init__(self, memories: Sequence[MemoryFile]) -> None:
        self._where: dict[str, set[str]] = {}
        for memory in memories:
            for word in set(_WORD.findall(memory.text.lower())):
                self._where.setdefault(word, set()).add(memory.name)
        self._known: dict[str, frozenset[str]] = {}

    def hit_by(self, prompt: str) -> set[str]:
        """The names of the memories with a word in them that one of the prompt's hits."""
        return {name for word in telling_words(prompt) for name in self._names(word)}

    def _names(self, word: str) -> frozenset[str]:
        if word not in self._known:
            alike = (each for each in self._where if points_to(word, each))
            self._known[word] = frozenset().union(*(self._where[each] for each in alike))
        return self._known[word]
