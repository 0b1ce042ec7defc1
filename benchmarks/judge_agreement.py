"""How far the offline judge agrees with published verdicts of a language model, and how fast it is.

    python benchmarks/judge_agreement.py JUDGED.jsonl MEMORIES_DIR

Records of one (question, reference, answer) triple count once, with their majority labels. The
area under the ROC curve is of the judge's graded scores; kappa is of its marks. The baseline is
the plain share of the reference's words that the answer holds. The labels are noisy: about a
fifth of plain non-answers to answerable questions were passed. The rows "less forgiven" leave out
the ones that were and that this judge fails. Speed is in processor time, on one core.
"""

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from math import isnan
from pathlib import Path

from recall_bench.core.history import Episode, story_day
from recall_bench.core.memory import Answer
from recall_bench.core.question import Item, Scenario, Truth
from recall_bench.core.verdict import Exhibit, Verdict
from recall_bench.datasets.questions import expected
from recall_bench.judging.offline.abstention import read_stance
from recall_bench.judging.offline.assessment import Assessment
from recall_bench.judging.offline.citations import split_citations
from recall_bench.judging.offline.judge import OfflineJudge
from recall_bench.judging.offline.wording import plain, words


@dataclass(frozen=True, slots=True)
class Example:
    """One triple, its majority labels and what the judge makes of it."""

    exhibit: Exhibit
    labels: tuple[int, int, int]
    assessment: Assessment

    @property
    def verdict(self) -> Verdict:
        return self.assessment.verdict

    @property
    def baseline(self) -> float:
        reference = set(words(plain(self.exhibit.item.truth.reference)))
        return len(reference & set(words(plain(self.exhibit.answer.text)))) / len(reference)

    @property
    def is_forgiven_non_answer(self) -> bool:
        text = split_citations(plain(self.exhibit.answer.text))[0]
        return (
            self.labels[0] >= 2
            and self.verdict.marks["correctness"] == 0
            and (read_stance(text).stance.is_non_answer)
        )


def load_scenario(memories: Path, epoch: date) -> Scenario:
    episodes = []
    for path in sorted(memories.glob("day-*.md")):
        day = int(re.sub(r"\D", "", path.stem))
        text = path.read_text(encoding="utf-8")
        episodes.append(Episode(id=path.stem, day=day, at=story_day(epoch, day), text=text))
    return Scenario(id=memories.name, epoch=epoch, episodes=tuple(episodes), items=())


def load_exhibits(
    judged: Path, corpus: str, scenario: Scenario
) -> list[tuple[Exhibit, tuple[int, int, int]]]:
    triples: dict[str, list[dict[str, object]]] = defaultdict(list)
    for line in judged.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["corpus"] == corpus:
            triples[record["triple_sha"]].append(record)
    return [(_exhibit(records[0], scenario), _majority(records)) for records in triples.values()]


def _exhibit(record: dict[str, object], scenario: Scenario) -> Exhibit:
    days = int(str(record["checkpoint_days"]))
    reference, category = str(record["reference"]), str(record["category"])
    truth = Truth(
        reference=reference, category=category, expects=expected(reference, category, None)
    )
    return Exhibit(
        scenario=scenario.id,
        item=Item(
            id=str(record["triple_sha"]), text=str(record["question"]), truth=truth, known_from=1
        ),
        answer=Answer(text=str(record["answer"])),
        asked_at=story_day(scenario.epoch, days),
        days=days,
    )


def _majority(records: list[dict[str, object]]) -> tuple[int, int, int]:
    keys = ("correctness", "completeness", "hallucination")
    labels = [Counter(int(str(r[key])) for r in records).most_common(1)[0][0] for key in keys]
    return labels[0], labels[1], labels[2]


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The chance that a positive outranks a negative, ties counting half."""
    below: Counter[float] = Counter(s for s, p in zip(scores, positive, strict=True) if not p)
    above: Counter[float] = Counter(s for s, p in zip(scores, positive, strict=True) if p)
    seen, wins = 0, 0.0
    for score in sorted({*below, *above}):
        wins += above[score] * (seen + below[score] / 2)
        seen += below[score]
    pairs = below.total() * above.total()
    return wins / pairs if pairs else float("nan")


def kappa(given: Sequence[int], expected: Sequence[int], top: int) -> float:
    """Quadratically weighted agreement beyond chance."""
    total = len(given)
    seen = sum((a - b) ** 2 for a, b in zip(given, expected, strict=True)) / total
    by_chance = (
        sum(
            Counter(given)[a] * Counter(expected)[b] * (a - b) ** 2
            for a in range(top + 1)
            for b in range(top + 1)
        )
        / total**2
    )
    return 1 - seen / by_chance if by_chance else float("nan")


Scores = Callable[[Example], float]


def row(name: str, examples: Sequence[Example], scores: tuple[Scores, Scores, Scores]) -> str:
    right = [e.labels[0] >= 2 for e in examples]
    whole = [e.labels[1] == 2 for e in examples]
    sound = [e.labels[2] == 1 for e in examples]
    negative = [e for e in examples if e.exhibit.item.truth.category == "negative-recall"]
    areas = [
        auc([scores[0](e) for e in examples], right),
        auc([scores[1](e) for e in examples], whole),
        auc([scores[2](e) for e in examples], sound),
        auc([scores[0](e) for e in negative], [e.labels[0] >= 2 for e in negative]),
    ]
    shown = "".join(f"{'-' if isnan(area) else format(area, '.3f'):>12}" for area in areas)
    return f"{name:<34}{len(examples):>6}{shown}"


def report(examples: Sequence[Example]) -> None:
    judge: tuple[Scores, Scores, Scores] = (
        lambda e: e.assessment.correctness,
        lambda e: e.assessment.completeness,
        lambda e: e.assessment.grounded,
    )
    overlap: tuple[Scores, Scores, Scores] = (lambda e: e.baseline,) * 3
    honest = [e for e in examples if not e.is_forgiven_non_answer]
    print(
        f"{'AUC':<34}{'n':>6}{'correct>=2':>12}{'complete=2':>12}{'grounded':>12}{'negative':>12}"
    )
    print(row("word overlap", examples, overlap))
    print(row("offline judge", examples, judge))
    print(row("word overlap, less forgiven", honest, overlap))
    print(row("offline judge, less forgiven", honest, judge))
    print()
    for category in sorted({e.exhibit.item.truth.category for e in examples}):
        some = [e for e in examples if e.exhibit.item.truth.category == category]
        print(row(category, some, judge))
    print()
    for place, (mark, top) in enumerate((("correctness", 3), ("completeness", 2), ("grounded", 1))):
        given = [e.verdict.marks[mark] for e in examples]
        expected = [e.labels[place] for e in examples]
        same = sum(a == b for a, b in zip(given, expected, strict=True)) / len(examples)
        print(f"{mark:<14} same {same:.3f}   kappa {kappa(given, expected, top):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("judged", type=Path, help="verdicts, one JSON object a line")
    parser.add_argument("memories", type=Path, help="the day files the systems were told")
    parser.add_argument("--corpus", default="180d")
    parser.add_argument("--epoch", type=date.fromisoformat, default=date(2026, 1, 1))
    options = parser.parse_args()

    scenario = load_scenario(options.memories, options.epoch)
    exhibits = load_exhibits(options.judged, options.corpus, scenario)
    judge = OfflineJudge({})
    start = time.process_time()
    judge.study(scenario)
    studied = time.process_time() - start
    examples = [Example(exhibit, labels, judge.assess(exhibit)) for exhibit, labels in exhibits]
    start = time.process_time()
    for exhibit, _ in exhibits:
        _ = judge.assess(exhibit).verdict
    took = time.process_time() - start
    report(examples)
    print(f"\nstudy {studied:.2f} s; warm {len(exhibits) / took:,.0f} verdicts/s")


if __name__ == "__main__":
    main()
