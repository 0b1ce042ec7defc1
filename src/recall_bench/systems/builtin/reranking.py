"""Words compared one by one: how well a passage has something for each word of a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recall_bench.systems.builtin.embedding import DIMENSIONS, embed
from recall_bench.systems.builtin.lexical import stop_words, utf8

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\b(?:\w\w+|\d)\b")
_FIRST_ROOM = 1024

Measured = tuple["NDArray[np.float32]", list[str]]
"""What a lexicon knows: the vectors of those of its words that were measured, and all its words."""


class Lexicon:
    """Words, their numbers and their vectors. It only grows, so memories may share one."""

    def __init__(self) -> None:
        import numpy as np

        self._stop_words = stop_words()
        self._numbers: dict[str, int] = {}
        self._unmeasured: list[str] = []
        self._vectors = np.empty((_FIRST_ROOM, DIMENSIONS), np.float32)

    @property
    def nbytes(self) -> int:
        """What its words and their vectors take, those not measured yet included."""
        return utf8(self._numbers) + len(self._numbers) * DIMENSIONS * self._vectors.itemsize

    @property
    def learnt(self) -> Measured:
        """All that it has learnt, for one that knows nothing yet to `learn`."""
        known = len(self._numbers) - len(self._unmeasured)
        return self._vectors[:known].copy(), list(self._numbers)

    def learn(self, learnt: Measured) -> None:
        """Know what another has learnt, and number new words as it would."""
        import numpy as np

        vectors, words = learnt
        self._numbers = {word: number for number, word in enumerate(words)}
        self._unmeasured = words[len(vectors) :]
        self._vectors = np.empty((max(_FIRST_ROOM, len(words)), DIMENSIONS), np.float32)
        self._vectors[: len(vectors)] = vectors

    def numbered(self, text: str) -> NDArray[np.int32]:
        """The different words of a text, stop words left out, new ones learnt."""
        import numpy as np

        numbers: dict[int, None] = {}
        for word in self._words(text):
            number = self._numbers.get(word)
            if number is None:
                number = self._numbers[word] = len(self._numbers)
                self._unmeasured.append(word)
            numbers[number] = None
        return np.fromiter(numbers, np.int32, len(numbers))

    def closeness(
        self, question: str, passages: Sequence[NDArray[np.int32]]
    ) -> NDArray[np.float32]:
        """Of each passage, how near its nearest word comes to a word of the question, on average.

        1 where it holds every word, 0 where it has nothing like any. Known as late interaction.
        """
        import numpy as np

        found = np.zeros(len(passages), np.float32)
        asked = list(dict.fromkeys(self._words(question)))
        if not asked:
            return found
        self._measure()
        wanted = embed(asked)
        for place, numbers in enumerate(passages):
            if len(numbers):
                likeness = np.einsum("ik,jk->ij", wanted, self._vectors[numbers])
                found[place] = likeness.max(axis=1).clip(0).mean()
        return found

    def _words(self, text: str) -> list[str]:
        return [word for word in _WORD.findall(text.lower()) if word not in self._stop_words]

    def _measure(self) -> None:
        import numpy as np

        if not self._unmeasured:
            return
        known = len(self._numbers) - len(self._unmeasured)
        if len(self._numbers) > len(self._vectors):
            room = np.empty((2 * len(self._numbers), DIMENSIONS), np.float32)
            room[:known] = self._vectors[:known]
            self._vectors = room
        self._vectors[known : len(self._numbers)] = embed(self._unmeasured)
        self._unmeasured = []
