"""Weights of the extractive reader's sentence scores, fitted on half of the questions.

    python benchmarks/calibrate_sentences.py [--shared DIR] [--persona ID ...]

The right sentences are those that a dataset cites, or else those with most words of the reference. A
log-linear model of the chance that a sentence is the right one is fitted on one half of the questions,
each set counting the same, close to the weights in use; the other half shows how often the right
sentence is among the best one to four, with the weights in use and with the fitted ones. Events and
contents are fitted apart. Needs SciPy.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import numpy as np
from numpy.typing import NDArray
from reader import find_passages, is_held_out, load_sets
from scipy.optimize import minimize

from recall_bench.core.scenario import Item, Scenario
from recall_bench.systems.reading.passage_sentences import (
    ReadSentence,
    collect_stems,
    read_passages,
)
from recall_bench.systems.reading.question_analysis import analyse_question
from recall_bench.systems.reading.sentence_ranker import (
    CONTENT_WEIGHTS,
    EVENT_WEIGHTS,
    EVENTS,
    FEATURES,
    SentenceRanker,
)

DEPTHS = (1, 2, 3, 4)
STIFFNESS = 0.003
"""How strongly weights are kept near those in use."""


@dataclass(frozen=True, slots=True)
class SentenceLabels:
    """The sentences of one question: their features, and which are right."""

    name: str
    is_event: bool
    is_held_out: bool
    features: NDArray[np.float32]
    right: NDArray[np.bool_]


def label(item: Item, scenario: Scenario, sentences: list[ReadSentence]) -> list[bool]:
    """Which sentences are right; none if that is not known."""
    texts = {episode.day: episode.text for episode in scenario.episodes}
    spans = [
        texts[each.day][each.start : each.end].strip()
        for each in item.truth.evidence
        if each.start is not None
    ]
    if spans:
        return [any(each.text in span or span in each.text for span in spans) for each in sentences]
    wanted = collect_stems(item.truth.reference) - collect_stems(item.text)
    shares = [len(wanted.intersection(each.stems)) / (len(wanted) or 1) for each in sentences]
    is_known = item.truth.is_answerable and max(shares) >= 0.5
    return [is_known and share == max(shares) for share in shares]


def label_set(
    name: str, scenarios: list[Scenario], ranker: SentenceRanker
) -> Iterator[SentenceLabels]:
    for scenario in scenarios:
        found = anyio.run(find_passages, scenario)
        for item in scenario.items:
            question, passages = found[item.id]
            parts = analyse_question(question.text, question.asked_at.date())
            sentences = read_passages(passages)
            if len(parts) > 1 or len(sentences) < 2 or item.truth.category == "synthesis":
                continue
            right = label(item, scenario, sentences)
            if any(right) and not all(right):
                features = ranker.measure(parts[0], sentences)
                is_event = parts[0].wanted in EVENTS
                held_out = is_held_out(question.id)
                yield SentenceLabels(name, is_event, held_out, features, np.array(right))


def fit(rows: list[SentenceLabels], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights with the least loss, close to those at the start."""
    counts = {name: sum(row.name == name for row in rows) for name in {row.name for row in rows}}

    def compute_loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        away = weights - start
        total, slope = STIFFNESS * away @ away, 2 * STIFFNESS * away
        for row in rows:
            scores = row.features @ weights
            chances = np.exp(scores - scores.max())
            chances /= chances.sum()
            hit = chances[row.right].sum() + 1e-12
            total -= np.log(hit) / counts[row.name]
            slope -= (
                (np.where(row.right, chances, 0) / hit - chances) @ row.features / counts[row.name]
            )
        return float(total), slope

    found: NDArray[np.float64] = minimize(compute_loss, start, jac=True, method="L-BFGS-B").x
    return found


def print_depths(title: str, rows: list[SentenceLabels], weights: NDArray[np.float64]) -> None:
    """How often a right sentence is among the best few, by set."""
    hits: dict[str, list[list[bool]]] = defaultdict(list)
    for row in rows:
        order = np.argsort(-(row.features @ weights), kind="stable")
        hits[row.name].append([bool(row.right[order[:depth]].any()) for depth in DEPTHS])
    for name, found in hits.items():
        shares = "  ".join(f"{share:.2f}" for share in np.mean(found, axis=0))
        print(f"    {title:<8}{name:<12}{len(found):>6}   {shares}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--persona", action="append", default=[])
    given = parser.parse_args()

    ranker = SentenceRanker()
    rows = [
        row
        for name, scenarios in load_sets(given.shared, given.persona)
        for row in label_set(name, scenarios, ranker)
    ]
    for title, is_event, in_use in (
        ("contents", False, CONTENT_WEIGHTS),
        ("events", True, EVENT_WEIGHTS),
    ):
        own = [row for row in rows if row.is_event is is_event]
        start = np.array(in_use, np.float64)
        fitted = fit([row for row in own if not row.is_held_out], start)
        print(f"{title}: right sentence among the best {', '.join(map(str, DEPTHS))}, held out")
        for which, weights in (("in use", start), ("fitted", fitted)):
            print_depths(which, [row for row in own if row.is_held_out], weights)
        for feature, now, then in zip(FEATURES, start, fitted, strict=True):
            print(f"    {feature:<18}{now:>7.1f}{then:>7.1f}")


if __name__ == "__main__":
    main()
