"""Selection by search: memories ranked by words, by meaning or both, with a cut-off.

A prompt may have several topics, so each sentence is searched; a sentence counts half by itself and
half with the whole prompt. A memory is selected if its fit to one of the sentences is high enough,
both absolutely and relative to the best fit of that sentence. Fits lie between 0 and 1 and mean the
same for every prompt and folder, so a prompt can select nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from recall_bench.core.distribution import get_part_version, get_version
from recall_bench.core.memory import SystemCard
from recall_bench.core.record import Record
from recall_bench.features.selection.memory_file import MemoryFile
from recall_bench.features.selection.selectors.selector import MemorySelection, WithoutResources
from recall_bench.systems.builtin.options import read_options
from recall_bench.systems.builtin.word_index import Bm25, Bm25Index, Postings, Vocabulary
from recall_bench.systems.models.static_embedding import compute_similarity, embed
from recall_bench.text.sentences import split_sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Count = Annotated[int, Meta(ge=1)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Weight = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class CutOff:
    """Which fits are high enough."""

    threshold: float
    """The lowest fit that is selected."""
    ratio: float
    """The lowest share of the best fit of the same sentence."""


# Best mean F1 on half of 66 folders, of matters from the logs of shipped personas and of LoCoMo
# chats: 0.662, 0.502 and 0.688, in this order; on the other half 0.655, 0.502 and 0.691, where
# always picking the best for each sentence reaches 0.546, 0.329 and 0.533:
# python benchmarks/calibrate_selection.py locomo10.json
CUT_OFF = {
    "bm25": CutOff(0.14, 0.90),
    "vector": CutOff(0.26, 0.95),
    "hybrid": CutOff(0.18, 0.95),
}
"""By selector."""

_SAYS_LITTLE = 2
"""Sentences of at most this many words are not searched on their own."""

_DOUBT = 2
"""Unmatched words added to every sentence. Without them one word in common with short small talk
would count as much as three with a question."""


class Bm25SelectorOptions(Record, frozen=True, kw_only=True):
    """Options of the selector `bm25`."""

    k: _Count = 10
    """Most memories selected."""
    threshold: _Share = CUT_OFF["bm25"].threshold
    """The lowest fit that is selected."""
    ratio: _Share = CUT_OFF["bm25"].ratio
    """The lowest share of the best fit of the same sentence."""
    k1: _Weight = 0.9
    b: _Share = 0.4


class VectorSelectorOptions(Record, frozen=True, kw_only=True):
    """Options of the selector `vector`."""

    k: _Count = 10
    threshold: _Share = CUT_OFF["vector"].threshold
    ratio: _Share = CUT_OFF["vector"].ratio


class HybridSelectorOptions(Record, frozen=True, kw_only=True):
    """Options of the selector `hybrid`."""

    k: _Count = 10
    threshold: _Share = CUT_OFF["hybrid"].threshold
    ratio: _Share = CUT_OFF["hybrid"].ratio
    k1: _Weight = 0.9
    b: _Share = 0.4
    weight: _Share = 0.6
    """Weight of the words; the rest is the weight of the meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """How memories are searched."""

    formula: Bm25 | None
    """None searches by meaning alone."""
    weight: float
    """Weight of the words in a fit; the rest is the weight of the meaning."""
    k: int
    cut_off: CutOff


def build_bm25(config: Mapping[str, object]) -> RetrievalSelector:
    """The selector `bm25`: search by words."""
    options = read_options("bm25", config, Bm25SelectorOptions)
    means = RetrievalSettings(
        formula=Bm25(options.k1, options.b),
        weight=1.0,
        k=options.k,
        cut_off=_build_cut_off(options),
    )
    return RetrievalSelector(means, _build_card("bm25", options, "bm25s", "PyStemmer"))


def build_vector(config: Mapping[str, object]) -> RetrievalSelector:
    """The selector `vector`: search by meaning."""
    options = read_options("vector", config, VectorSelectorOptions)
    means = RetrievalSettings(
        formula=None, weight=0.0, k=options.k, cut_off=_build_cut_off(options)
    )
    return RetrievalSelector(means, _build_card("vector", options, "wordllama", "tokenizers"))


def build_hybrid(config: Mapping[str, object]) -> RetrievalSelector:
    """The selector `hybrid`: search by words and meaning."""
    options = read_options("hybrid", config, HybridSelectorOptions)
    means = RetrievalSettings(
        formula=Bm25(options.k1, options.b),
        weight=options.weight,
        k=options.k,
        cut_off=_build_cut_off(options),
    )
    parts = ("bm25s", "PyStemmer", "wordllama", "tokenizers")
    return RetrievalSelector(means, _build_card("hybrid", options, *parts))


def _build_cut_off(
    read: Bm25SelectorOptions | VectorSelectorOptions | HybridSelectorOptions,
) -> CutOff:
    return CutOff(read.threshold, read.ratio)


def _build_card(name: str, read: Record, *parts: str) -> SystemCard:
    settings: dict[str, object] = msgspec.to_builtins(read)
    settings["parts"] = {part: get_part_version(part) for part in sorted((*parts, "numpy"))}
    return SystemCard(
        name=name,
        version=get_version(),
        config=settings,
        max_concurrency=64,
        computes=True,
    )


class RetrievalSelector(WithoutResources):
    """Indexes a folder of memories once and searches it for every prompt."""

    def __init__(self, means: RetrievalSettings, card: SystemCard) -> None:
        self.card = card
        self._means = means

    async def open(self, memories: Sequence[MemoryFile]) -> RetrievalChooser:
        """Index and embed all memories."""
        return RetrievalChooser(MemoryIndex(memories, self._means), self._means)


class RetrievalChooser(WithoutResources):
    """The index of one folder of memories."""

    def __init__(self, index: MemoryIndex, means: RetrievalSettings) -> None:
        self._index = index
        self._means = means

    async def select(self, prompt: str) -> MemorySelection:
        """The memories above the cut-off, best first; ties by name."""
        if not self._index.names:
            return MemorySelection(names=())
        chosen = pick_best(self._index.score_prompt(prompt), self._means.cut_off, self._means.k)
        return MemorySelection(names=tuple(self._index.names[place] for place in chosen))


class MemoryIndex:
    """The word index and the vectors of a folder of memories."""

    def __init__(self, memories: Sequence[MemoryFile], means: RetrievalSettings) -> None:
        self.names = tuple(memory.name for memory in memories)
        self._weight = means.weight
        self._vocabulary: Vocabulary | None = None
        self._vectors: NDArray[np.float32] | None = None
        texts = [build_search_text(memory) for memory in memories]
        if means.formula is not None and texts:
            self._vocabulary = Vocabulary()
            postings = Postings.create_empty().extend([self._vocabulary.count(texts)])
            self._words = Bm25Index(postings, means.formula)
        if means.weight < 1 and texts:
            self._vectors = embed(texts)

    def score_prompt(self, prompt: str) -> NDArray[np.float32]:
        """The fit of each memory to each sentence of the prompt, one row per sentence."""
        import numpy as np

        # The longer sentences, each once; the whole prompt if there is none.
        found = dict.fromkeys(
            sentence for line in prompt.splitlines() for sentence in split_sentences(line.strip())
        )
        telling = [sentence for sentence in found if len(sentence.split()) > _SAYS_LITTLE]
        sentences = telling or [prompt]
        if len(sentences) == 1:
            return self._score_texts([prompt])
        whole, *alone = self._score_texts([prompt, *sentences])
        return np.stack([(whole + row) / 2 for row in alone])

    def _score_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        scores = np.zeros((len(texts), len(self.names)), np.float32)
        if self._vocabulary is not None:
            for row, text in enumerate(texts):
                query = self._vocabulary.parse_query(text)
                count = len(query.known) + query.unknown
                trust = count / (count + _DOUBT)
                scores[row] += np.float32(self._weight * trust) * self._words.score(query)
        if self._vectors is not None:
            for row, direction in enumerate(embed(texts)):
                meaning = compute_similarity(self._vectors, direction)
                scores[row] += np.float32(1 - self._weight) * meaning
        return scores


def pick_best(fits: NDArray[np.float32], cut_off: CutOff, k: int) -> list[int]:
    """The indices of the selected memories, best first; ties by index."""
    import numpy as np

    floors = np.maximum(cut_off.threshold, cut_off.ratio * fits.max(axis=1, keepdims=True))
    strengths = np.where(fits >= floors, fits, 0).max(axis=0)
    # A fit of 0 is never selected, however low the threshold.
    ranked = np.argsort(-strengths, kind="stable")[: min(k, np.count_nonzero(strengths))]
    return [int(place) for place in ranked]


def build_search_text(memory: MemoryFile) -> str:
    """The searchable text: words of the name, hint, keywords and body."""
    stem = PurePosixPath(memory.name).stem.replace("-", " ").replace("_", " ")
    return "\n".join(filter(None, (stem, memory.hint, ", ".join(memory.keywords), memory.body)))
