"""Whether the facts of an answer stand in what a system returned, where gold is text and not ids.

Two layers are looked at. *Snippet*: a wording of the fact stands in a returned passage itself.
*Document*: or anywhere in the full source of a returned passage, the episode it was traced to. The
second is never below the first, and says little where documents are few or long: beside it belongs
what drawing at random would cover, `chance.expected_coverage`.

Wordings are found as whole words, in a row, within one passage: "June" is not in "Juneau", nor
"12" in "120". Questions that have no answer are not scored here: finding their bait is no merit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from recall_bench.core.words import WordSequence

LAYER_CUTOFFS = (1, 5, 10)
"""The ranks that are quoted, as far as the ranking goes."""

Facts = tuple[tuple[str, ...], ...]
"""What a complete answer holds, fact by fact, each in any of its wordings."""


class EvidenceLayer(StrEnum):
    """How much of what was returned is looked at."""

    SNIPPET = "snippet"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class ReturnedPassage:
    """One passage as the system gave it, and where it is from."""

    text: str
    source: str | None
    """The whole text of the episode it was traced to; None if nobody can tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerMeasure:
    """Which share of the facts is found in one layer of the first passages."""

    name: str
    """Layer and cutoff, as it is quoted: `snippet_r@5`."""
    version: str
    layer: EvidenceLayer
    cutoff: int
    definition: str

    def measure(self, returned: Sequence[ReturnedPassage], facts: Facts) -> float:
        """Its value; ValueError without facts, or for a fact that no text could hold."""
        return measure_coverage(returned[: self.cutoff], facts, self.layer)


def list_layer_measures(depth: int) -> tuple[LayerMeasure, ...]:
    """All that may be quoted of rankings for which `depth` passages were asked for."""
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
    """The share of the facts that stand in a passage or, by layer, in the source of one."""
    if not facts:
        raise ValueError("a question without facts cannot be measured; leave it out beforehand")
    texts = [passage.text for passage in returned]
    if layer is EvidenceLayer.DOCUMENT:
        texts += dict.fromkeys(one.source for one in returned if one.source is not None)
    return sum(is_stated_in(wordings, texts) for wordings in facts) / len(facts)


def contains_trap(text: str, traps: Iterable[str]) -> bool:
    """Whether a text holds any of the traps, as whole words; ValueError for one without words."""
    phrases = _parse_phrases(traps)
    said = WordSequence(text)
    return any(said.contains(phrase) for phrase in phrases)


_WHERE = {
    EvidenceLayer.SNIPPET: "a passage up to rank {k}",
    EvidenceLayer.DOCUMENT: "a passage up to rank {k}, or anywhere in the full source of one",
}


def is_stated_in(wordings: Sequence[str], texts: Iterable[str]) -> bool:
    """Whether one of the wordings stands, as whole words, in one of the texts."""
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
    """Remembered, for the questions of one history return the same episodes again and again."""
    return WordSequence(text)
