"""Whether the returned passages contain the facts of an answer, where gold is text and not ids.

There are two layers. *Snippet*: a returned passage contains a wording of the fact. *Document*: or
the full source of a returned passage does, the episode it was traced to. The second is never below
the first, and says little where documents are few or long: compare it with random passages,
`chance.expect_coverage`.

Wordings are found as whole adjacent words within one passage: "June" is not in "Juneau", nor "12"
in "120". Questions without an answer are not scored here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from recall_bench.text.words import WordSequence

LAYER_CUTOFFS = (1, 5, 10)
"""The reported cutoffs, up to the depth of the ranking."""

Facts = tuple[tuple[str, ...], ...]
"""The facts of a complete answer, each with its alternative wordings."""


class EvidenceLayer(StrEnum):
    """Where facts are looked for."""

    SNIPPET = "snippet"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class ReturnedPassage:
    """One returned passage and its source."""

    text: str
    source: str | None
    """The text of the episode it was traced to; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerMeasure:
    """The share of the facts found in one layer of the first passages."""

    name: str
    """Layer and cutoff: `snippet_r@5`."""
    version: str
    layer: EvidenceLayer
    cutoff: int
    definition: str

    def measure(self, returned: Sequence[ReturnedPassage], facts: Facts) -> float:
        """Measure it; ValueError without facts, or for a fact without words."""
        return measure_coverage(returned[: self.cutoff], facts, self.layer)


def list_layer_measures(depth: int) -> tuple[LayerMeasure, ...]:
    """List the measures of rankings with `depth` requested passages."""
    if depth < 1:
        raise ValueError(f"a ranking {depth} deep has nothing to measure; ask for at least 1")
    return tuple(
        LayerMeasure(
            name=f"{layer}_r@{k}",
            version="1",
            layer=layer,
            cutoff=k,
            definition=f"share of the facts that stand in {_WHERE[layer].format(k=k)}",
        )
        for layer in EvidenceLayer
        for k in LAYER_CUTOFFS
        if k <= depth
    )


def measure_coverage(
    returned: Sequence[ReturnedPassage], facts: Facts, layer: EvidenceLayer
) -> float:
    """Measure the share of the facts in the passages or, by layer, in their sources."""
    if not facts:
        raise ValueError("a question without facts cannot be measured; leave it out beforehand")
    texts = [passage.text for passage in returned]
    if layer is EvidenceLayer.DOCUMENT:
        texts += dict.fromkeys(one.source for one in returned if one.source is not None)
    return sum(is_stated_in(wordings, texts) for wordings in facts) / len(facts)


def contains_trap(text: str, traps: Iterable[str]) -> bool:
    """Whether a text contains any of the traps as whole words; ValueError for one without words."""
    phrases = _parse_phrases(traps)
    sequence = WordSequence(text)
    return any(sequence.contains(phrase) for phrase in phrases)


_WHERE = {
    EvidenceLayer.SNIPPET: "a passage up to rank {k}",
    EvidenceLayer.DOCUMENT: "a passage up to rank {k}, or anywhere in the full source of one",
}


def is_stated_in(wordings: Sequence[str], texts: Iterable[str]) -> bool:
    """Whether one of the texts contains one of the wordings as whole words."""
    phrases = _parse_phrases(wordings)
    if not phrases:
        raise ValueError("a fact has no wording, so that nothing can be looked for")
    return any(_parse_text(text).contains(phrase) for text in texts for phrase in phrases)


def _parse_phrases(wordings: Iterable[str]) -> list[WordSequence]:
    phrases = []
    for wording in wordings:
        phrase = _parse_text(wording)
        if phrase.is_empty:
            raise ValueError(f"nothing is left to look for of the wording {wording!r}")
        phrases.append(phrase)
    return phrases


@lru_cache(maxsize=1024)
def _parse_text(text: str) -> WordSequence:
    """Parse with a cache: questions of one history return the same episodes repeatedly."""
    return WordSequence(text)
