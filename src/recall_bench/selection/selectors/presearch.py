"""Ruling out what no word of the prompt points to, before a model looks."""

import re
from collections.abc import Sequence

from recall_bench.selection.files.memory_file import MemoryFile
from recall_bench.selection.selectors.keyword import extract_words, is_hint_match, is_keyword_hit

_TEXT_WORD = re.compile(r"\w+")


class Presearch:
    """One folder of memories, to be narrowed for one prompt after another.

    A word of the prompt is looked for where the selector `keyword` looks for it: in a memory's name
    and keywords, or its one line if it has none; with the content in the whole of its text too.
    """

    def __init__(self, memories: Sequence[MemoryFile], *, with_content: bool) -> None:
        self._memories = tuple(memories)
        self._contents = _ContentIndex(memories if with_content else ())

    def filter_memories(self, prompt: str) -> tuple[MemoryFile, ...]:
        """The memories that some word of the prompt hits, in their order; none if none is hit."""
        hit = self._contents.find_hits(prompt)
        return tuple(
            memory
            for memory in self._memories
            if memory.name in hit or is_keyword_hit(prompt, memory)
        )


class _ContentIndex:
    """Which memories a word stands in. Memories share most words, so each is compared once."""

    def __init__(self, memories: Sequence[MemoryFile]) -> None:
        self._where: dict[str, set[str]] = {}
        for memory in memories:
            for word in set(_TEXT_WORD.findall(memory.text.lower())):
                self._where.setdefault(word, set()).add(memory.name)
        self._known: dict[str, frozenset[str]] = {}

    def find_hits(self, prompt: str) -> set[str]:
        """The names of the memories with a word in them that one of the prompt's hits."""
        return {name for word in extract_words(prompt) for name in self._find_names(word)}

    def _find_names(self, word: str) -> frozenset[str]:
        if word not in self._known:
            alike = (each for each in self._where if is_hint_match(word, each))
            self._known[word] = frozenset().union(*(self._where[each] for each in alike))
        return self._known[word]
