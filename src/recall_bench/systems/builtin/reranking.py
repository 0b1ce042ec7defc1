"""Words compared one by one: how well a passage has something for each word of a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recall_bench.systems.builtin.embedding import DIMENSIONS, embed
from recall_bench.systems.builtin.lexical import count_bytes, list_stop_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEXICON_WORD = re.compile(r"\b(?:\w\w+|\d)\b")
_INITIAL_CAPACITY = 1024

WordTableState = tuple["NDArray[np.float32]", list[str]]
"""What a lexicon knows: the vectors of those of its words that were measured, and all its words."""


class WordVectorTable:
    """Words, their numbers and their vectors. It only grows, so memories may share one."""

    def __init__(self) -> None:
        import numpy as np

        self._stop_words = list_stop_words()
        self._numbers: dict[str, int] = {}
        self._unembedded: list[str] = []
        self._vectors = np.empty((_INITIAL_CAPACITY, DIMENSIONS), np.float32)

    @property
    def nbytes(self) -> int:
        """What its words and their vectors take, those not measured yet included."""
        return count_bytes(self._numbers) + len(self._numbers) * DIMENSIONS * self._vectors.itemsize

    @property
    def state(self) -> WordTableState:
        """All that it has learnt, for one that knows nothing yet to `learn`."""
        known = len(self._numbers) - len(self._unembedded)
        return self._vectors[:known].copy(), list(self._numbers)

    def restore(self, learnt: WordTableState) -> None:
        """Know what another has learnt, and number new words as it would."""
        import numpy as np

        vectors, words = learnt
        self._numbers = {word: number for number, word in enumerate(words)}
        self._unembedded = words[len(vectors) :]
        self._vectors = np.empty((max(_INITIAL_CAPACITY, len(words)), DIMENSIONS), np.float32)
        self._vectors[: len(vectors)] = vectors

    def number_words(self, text: str) -> NDArray[np.int32]:
        """The different words of a text, stop words left out, new ones learnt."""
        import numpy as np

        numbers: dict[int, None] = {}
        for word in self._split_words(text):
            number = self._numbers.get(word)
            if number is None:
                number = self._numbers[word] = len(self._numbers)
                self._unembedded.append(word)
            numbers[number] = None
        return np.fromiter(numbers, np.int32, len(numbers))

    def score_closeness(
        self, question: str, passages: Sequence[NDArray[np.int32]]
    ) -> NDArray[np.float32]:
        """Of each passage, how near its nearest word comes to a word of the question, on average.

        1 where it holds every word, 0 where it has nothing like any. Known as late interaction.
        """
        import numpy as np

        found = np.zeros(len(passages), np.float32)
        asked = list(dict.fromkeys(self._split_words(question)))
        if not asked:
            return found
        self._embed_new_words()
        wanted = embed(asked)
        for place, numbers in enumerate(passages):
            if len(numbers):
                likeness = np.einsum("ik,jk->ij", wanted, self._vectors[numbers])
                found[place] = likeness.max(axis=1).clip(0).mean()
        return found

    def _split_words(self, text: str) -> list[str]:
        return [
            word for word in _LEXICON_WORD.findall(text.lower()) if word not in self._stop_words
        ]

    def _embed_new_words(self) -> None:
        import numpy as np

        if not self._unembedded:
            return
        known = len(self._numbers) - len(self._unembedded)
        if len(self._numbers) > len(self._vectors):
            room = np.empty((2 * len(self._numbers), DIMENSIONS), np.float32)
            room[:known] = self._vectors[:known]
            self._vectors = room
        self._vectors[known : len(self._numbers)] = embed(self._unembedded)
        self._unembedded = []
