"""What was read in single words: most words of a text occur again and again."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONGEST_KEPT_WORD = 64
"""The longest text between two blanks whose reading is kept: words occur again, lines do not."""


class WordCache(dict[str, T]):
    """The readings of words, up to a number of them; a further one empties the cache.

    A lookup takes a third of the time of an `lru_cache`, which also records the order of use.
    """

    def __init__(self, read: Callable[[str], T], most: int) -> None:
        super().__init__()
        self._read = read
        self._most = most

    def __missing__(self, word: str) -> T:
        reading = self._read(word)
        if len(word) <= LONGEST_KEPT_WORD:
            if len(self) >= self._most:
                self.clear()
            self[word] = reading
        return reading
