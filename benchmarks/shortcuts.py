"""What a story gives to systems that know nothing of it, or little.

python benchmarks/shortcuts.py [PERSONA … [--arcs FILE]]    shipped stories of 1,000 days
python benchmarks/shortcuts.py --data FOLDER                every persona of a folder

The score of 100 by category at the end of the story, groups enabled, questions of all personas
together: silence, constant answers, the newest sentence that is about the question, and grep over
plain files. The floor of a category is what silence scores.
"""

import argparse
import tempfile
from collections import Counter
from math import log
from pathlib import Path

import recall_bench
from recall_bench.core.scenario import CATEGORIES
from recall_bench.stories.persona_files import DEFAULT_ARCS
from recall_bench.text.sentences import split_sentences
from recall_bench.text.text_values import collect_topics

NEARLY = 0.8
"""The share of the best score from which on a sentence counts as about the question."""
CONSTANTS = {
    "Yes": "Yes.",
    "No": "No.",
    "refusal": "I'm not able to share that; it is confidential.",
}


class ConstantAnswer:
    """Always gives the same answer."""

    def __init__(self, reply: str) -> None:
        self._reply = reply

    def ingest_day(self, day: int, content: str, metadata: object) -> None:
        """Ignore the day."""

    def query(self, question: str, context: object) -> str:  # noqa: ARG002 - part of the protocol
        """The constant answer."""
        return self._reply


class LastMention:
    """Answers with the newest sentence that is about the question."""

    def __init__(self) -> None:
        self._sentences: list[tuple[str, frozenset[str]]] = []
        self._count: Counter[str] = Counter()

    def ingest_day(self, day: int, content: str, metadata: object) -> None:  # noqa: ARG002
        """Store the sentences with their words."""
        for line in content.splitlines():
            for sentence in split_sentences(line):
                words = collect_topics(sentence)
                self._sentences.append((sentence, words))
                self._count.update(words)

    def query(self, question: str, context: object) -> str:  # noqa: ARG002 - part of the protocol
        """The last of those whose rare words are nearly as many as the best one's."""
        total = len(self._sentences)
        rarity = {
            word: log(total / self._count[word])
            for word in collect_topics(question) & self._count.keys()
        }
        scores = [
            sum(rarity[word] for word in words & rarity.keys()) for _, words in self._sentences
        ]
        best = max(scores, default=0.0)
        last = [
            sentence
            for (sentence, _), score in zip(self._sentences, scores, strict=True)
            if score >= NEARLY * best
        ]
        return last[-1] if best else "There is no record of that."


SYSTEMS = {
    "none": ("none", {}),
    **{name: (ConstantAnswer, {"reply": reply}) for name, reply in CONSTANTS.items()},
    "last mention": (LastMention, {}),
    "grep": ("files", {}),
    "hybrid": ("hybrid", {}),
}


def main() -> None:
    """Print a table with a row for each category."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("personas", nargs="*")
    parser.add_argument("--arcs", default=DEFAULT_ARCS)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    scores: dict[str, dict[str, float | None]] = {}
    counts: dict[str, int] = {}
    for name, (adapter, config) in SYSTEMS.items():
        with tempfile.TemporaryDirectory() as scratch:
            result = recall_bench.run(
                adapter=adapter,
                config=config,
                data=options.data,
                personas=tuple(options.personas),
                arcs=options.arcs,
                ranges=("full",),
                groups_enabled=True,
                into=Path(scratch, "run"),
                heatmap_png=False,
                in_process=True,
            )
            (column,) = result.summary.checkpoints
        scores[name] = {category: column.get_tally(category).share for category in CATEGORIES}
        scores[name]["all"] = column.overall.share
        counts = {category: column.get_tally(category).owed for category in CATEGORIES}
        counts["all"] = column.overall.owed
    print(f"| score of 100 | questions | {' | '.join(scores)} |")
    print(f"|---|--:|{'--:|' * len(scores)}")
    for row, count in counts.items():
        cells = (scores[name][row] for name in scores)
        shown = ("–" if share is None else f"{100 * share:.1f}" for share in cells)
        print(f"| {row} | {count} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
