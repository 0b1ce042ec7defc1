"""For servers that match letters and rank nothing: a question put word by word, ranked by us.

Each of its words is searched alone, stop words and single letters left out. What a word found
counts log(notes / found) for it, as with plain files: nothing if every note has it, more the fewer
do. Of equals the one that is listed later comes first.
"""

import math
import re
from collections.abc import Sequence

from recall_bench.systems.builtin.lexical import list_stop_words
from recall_bench.systems.mcp.replies import ToolHit

_WORD = re.compile(r"\w\w+")


def extract_keywords(question: str) -> tuple[str, ...]:
    """The words to search for, each once, in the order of the question."""
    ignored = list_stop_words()
    words = dict.fromkeys(_WORD.findall(question.lower()))
    return tuple(word for word in words if word not in ignored)


def rank_hits(found: Sequence[Sequence[ToolHit]], notes: int) -> list[ToolHit]:
    """What the words found, each once, those with most and rarest words first."""
    points: dict[str, float] = {}
    hits: dict[str, ToolHit] = {}
    for hits_of_word in found:
        if not hits_of_word:
            continue
        worth = math.log(max(notes, len(hits_of_word)) / len(hits_of_word))
        for hit in hits_of_word:
            name = hit.text if hit.id is None else hit.id
            points[name] = points.get(name, 0.0) + worth
            hits.setdefault(name, hit)
    places = {name: place for place, name in enumerate(hits)}
    best = sorted(points, key=lambda name: (points[name], places[name]), reverse=True)
    return [
        ToolHit(text=hits[name].text, id=hits[name].id, score=round(points[name], 6))
        for name in best
    ]
