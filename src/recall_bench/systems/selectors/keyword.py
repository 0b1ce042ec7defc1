"""Picking by the words of the prompt: the fuzzy-match hints that memories carry.

The words of a prompt that say something are looked for among a memory's keywords and the words of
its name: the whole word, as a part of a longer one, or so like one that only an ending or a
letter differs. One hit is enough. A memory without keywords is looked for by its one line.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from importlib.metadata import version
from itertools import accumulate
from pathlib import PurePosixPath

from recall_bench.core.memory import SystemCard
from recall_bench.datasets.selection.memory_file import MemoryFile
from recall_bench.systems.builtin.options import NoOptions, read_options
from recall_bench.systems.builtin.word_index import list_stop_words
from recall_bench.systems.selectors.selector import MemorySelection

SIMILARITY = 0.95
"""How alike two words are that count as one, from 0 to 1, as difflib measures it."""

_SHORT = 2
"""A word no longer than this counts only if it stands there as a word."""

_LONG = 10
"""Nothing shorter is as alike to another word as it would have to be: a test holds this true."""

_WORD = re.compile(r"\w+")

_CHATTER = frozenset(
    """
    able anyway ask asked bad basically best better big bit break bring broke broken call called
    came change changed check come current currently day does doing done fail failed feel find fine
    first fix fixed forget found gave get gets getting give go goes going good got great guess hand
    happen happened happens hello help hey hi hope idea instead keep kind know last left let lets
    like little look looking looks lot made make makes maybe mean move need needs new next nice okay
    old open place please point pretty problem put question quick quickly rather read ready really
    remember remind reminder right run running said saw say see seem seems send set show small some
    someone something soon sorry start started stop stuff suggest sure take talk talked tell thank
    thanks thing things think thinking thought time today together told tomorrow tonight took tried
    try trying turn use used using usual wait want wanted way week well went wonder wondering work
    worked working works worried write wrong yeah yes yesterday yet
    """.split()
)
"""What people say around what they mean, beyond the stop words of word search."""


def is_keyword_hit(prompt: str, memory: MemoryFile) -> bool:
    """Whether some word of the prompt points to the memory."""
    hints = _extract_hints(memory)
    return any(is_hint_match(word, hint) for word in extract_words(prompt) for hint in hints)


def is_hint_match(word: str, hint: str) -> bool:
    """Whether the word is the hint, a part of it, or all but the same."""
    if len(word) <= _SHORT:
        return word == hint
    return word in hint or (len(word) >= _LONG and _is_alike(word, hint))


@lru_cache(maxsize=64)
def extract_words(prompt: str) -> tuple[str, ...]:
    """The words of a prompt in small letters, each once, without those that say nothing."""
    empty = list_stop_words() | _CHATTER
    words = dict.fromkeys(_WORD.findall(prompt.lower()))
    return tuple(word for word in words if len(word) > 1 and word not in empty)


def build_keyword_selector(config: Mapping[str, object]) -> "KeywordSelector":
    """The selector called `keyword`, which has no settings."""
    read_options("keyword", config, NoOptions)
    return KeywordSelector()


class KeywordSelector:
    """Picks every memory that a word of the prompt points to."""

    def __init__(self) -> None:
        self.card = SystemCard(
            name="keyword",
            version=version("recall-bench"),
            config={"similarity": SIMILARITY},
            max_concurrency=64,
            computes=True,
        )

    async def open(self, memories: Sequence[MemoryFile]) -> "KeywordChooser":
        """Read every memory's hints."""
        # Loads the stop words now, which the first prompt would else be timed with.
        extract_words("")
        return KeywordChooser(memories)

    async def close(self) -> None:
        """Nothing is held."""


class KeywordChooser:
    """The hints of one folder of memories."""

    def __init__(self, memories: Sequence[MemoryFile]) -> None:
        self._names = tuple(memory.name for memory in memories)
        self._places: dict[str, list[int]] = {}
        """By hint, the memories that have it."""
        for place, memory in enumerate(memories):
            for hint in _extract_hints(memory):
                self._places.setdefault(hint, []).append(place)
        self._hints = tuple(self._places)
        self._row = "\n".join(self._hints)
        """All hints one after another: one look finds every hint that a word is a part of."""
        self._starts = tuple(accumulate((len(hint) + 1 for hint in self._hints), initial=0))
        self._long = tuple(hint for hint in self._hints if len(hint) >= _LONG)

    async def select(self, prompt: str) -> MemorySelection:
        """The memories that are hit, by name: a hit is a hit, so there is no best."""
        hit = {
            place
            for word in extract_words(prompt)
            for hint in self._find_hints(word)
            for place in self._places[hint]
        }
        return MemorySelection(names=tuple(self._names[place] for place in sorted(hit)))

    def _find_hints(self, word: str) -> Iterator[str]:
        """The hints that `points_to` is true of, found without asking about each."""
        if len(word) <= _SHORT:
            yield from (word,) if word in self._places else ()
            return
        for found in re.finditer(re.escape(word), self._row):
            yield self._hints[bisect_right(self._starts, found.start()) - 1]
        if len(word) >= _LONG:
            yield from (hint for hint in self._long if _is_alike(word, hint))

    async def close(self) -> None:
        """Nothing is held."""


def _extract_hints(memory: MemoryFile) -> frozenset[str]:
    """The words of its name and of its keywords, or of its one line if it has none."""
    told = memory.keywords or (memory.pointer,)
    return _split_words((PurePosixPath(memory.name).stem, *told))


@lru_cache(maxsize=4096)
def _split_words(told: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_WORD.findall(" ".join(told).lower()))


def _is_alike(word: str, other: str) -> bool:
    """Whether difflib finds two words that differ alike enough; it is slow, and asked last."""
    together = len(word) + len(other)
    most = min(len(word), len(other)) - (len(word) == len(other))
    if 2 * most < SIMILARITY * together:
        return False
    # A letter that only one of them has is in common to neither.
    if len(set(word) ^ set(other)) > (1 - SIMILARITY) * together:
        return False
    return SequenceMatcher(None, word, other).ratio() >= SIMILARITY


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
