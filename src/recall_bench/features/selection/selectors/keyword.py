"""Selection by keywords: the content words of a prompt against the fuzzy-match hints of memories.

A word hits a memory if it equals, is part of, or nearly equals one of the memory's keywords or a
word of its name. One hit is enough. A memory without keywords is matched by its one-line pointer.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from recall_bench.core.distribution import get_version
from recall_bench.core.memory import SystemCard
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.selector import MemorySelection, WithoutResources
from recall_bench.systems.builtin.options import NoOptions, read_options
from recall_bench.systems.builtin.word_index import list_stop_words

SIMILARITY = 0.95
"""Similarity from which two words count as equal, 0 to 1, as difflib measures it."""

_SHORT = 2
"""Words up to this length must match as a whole."""

_LONG = 10
"""Shorter words never reach SIMILARITY with another word; a test checks this."""

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
"""Conversational words without content, beyond the stop words of word search."""


def is_hint_match(word: str, hint: str) -> bool:
    """Whether the word equals the hint, is part of it, or is nearly equal."""
    if len(word) <= _SHORT:
        return word == hint
    return word in hint or (len(word) >= _LONG and _is_alike(word, hint))


def extract_words(prompt: str) -> tuple[str, ...]:
    """The content words of a prompt in lower case, each once."""
    empty = list_stop_words() | _CHATTER
    words = dict.fromkeys(_WORD.findall(prompt.lower()))
    return tuple(word for word in words if len(word) > 1 and word not in empty)


def build_keyword_selector(config: Mapping[str, object]) -> "KeywordSelector":
    """The selector `keyword`, which has no settings."""
    read_options("keyword", config, NoOptions)
    return KeywordSelector()


class KeywordSelector(WithoutResources):
    """Selects every memory that a word of the prompt hits."""

    def __init__(self) -> None:
        self.card = SystemCard(
            name="keyword",
            version=get_version(),
            config={"similarity": SIMILARITY},
            max_concurrency=64,
            computes=True,
        )

    async def open(self, memories: Sequence[MemoryFile]) -> "KeywordChooser":
        """Index every memory's hints."""
        # Load the stop words now, so that the first prompt's time does not include it.
        extract_words("")
        return KeywordChooser(memories)


class KeywordChooser(WithoutResources):
    """The hints of one folder of memories."""

    def __init__(self, memories: Sequence[MemoryFile]) -> None:
        self._presearch = Presearch(memories, with_content=False)

    async def select(self, prompt: str) -> MemorySelection:
        """The memories hit, by name; hits are not ranked."""
        memories = self._presearch.filter_memories(prompt)
        return MemorySelection(names=tuple(memory.name for memory in memories))


class Presearch:
    """Narrows a folder of memories for each prompt, to those whose hints a word of it matches.

    `with_content` makes every word of a memory's text a hint.
    """

    def __init__(self, memories: Sequence[MemoryFile], *, with_content: bool) -> None:
        self._memories = tuple(memories)
        self._places: dict[str, list[int]] = {}
        """Memories by hint, so that each distinct word is compared once."""
        for place, memory in enumerate(memories):
            content = _WORD.findall(memory.text.lower()) if with_content else ()
            for hint in _extract_hints(memory).union(content):
                self._places.setdefault(hint, []).append(place)

    def filter_memories(self, prompt: str) -> tuple[MemoryFile, ...]:
        """The memories that a word of the prompt hits, in their order."""
        words = extract_words(prompt)
        hits = {
            place
            for hint, places in self._places.items()
            if any(is_hint_match(word, hint) for word in words)
            for place in places
        }
        return tuple(self._memories[place] for place in sorted(hits))


def _extract_hints(memory: MemoryFile) -> frozenset[str]:
    """The words of its name and keywords, or of its pointer if it has no keywords."""
    hints = memory.keywords or (memory.pointer,)
    texts = (PurePosixPath(memory.name).stem, *hints)
    return frozenset(_WORD.findall(" ".join(texts).lower()))


def _is_alike(word: str, other: str) -> bool:
    """Whether two different words are similar enough; difflib is slow and comes last."""
    together = len(word) + len(other)
    most = min(len(word), len(other)) - (len(word) == len(other))
    if 2 * most < SIMILARITY * together:
        return False
    # Letters of only one of the words cannot match.
    if len(set(word) ^ set(other)) > (1 - SIMILARITY) * together:
        return False
    return SequenceMatcher(None, word, other).ratio() >= SIMILARITY
