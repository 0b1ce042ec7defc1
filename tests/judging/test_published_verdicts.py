"""The offline judge ranks real answers as a language model did, and better than word overlap."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date

import pytest

from recall_bench.core.history import Episode, story_day
from recall_bench.core.memory import Answer
from recall_bench.core.question import Item, Scenario, Truth
from recall_bench.core.verdict import Exhibit
from recall_bench.judging.offline.assessment import Assessment
from recall_bench.judging.offline.judge import OfflineJudge
from tests.conftest import shared_data

EPOCH = date(2026, 1, 1)
KEYS = ("correctness", "completeness", "hallucination")

Graded = list[tuple[str, tuple[int, ...], Assessment]]


@pytest.fixture(scope="module")
def graded() -> Graded:
    judged = shared_data("judged/dev.jsonl")
    days = shared_data("recall-ea/executive-assistant/memories-180d")
    episodes = (
        Episode(
            id=path.stem,
            day=int(path.stem[-4:]),
            at=story_day(EPOCH, int(path.stem[-4:])),
            text=path.read_text(encoding="utf-8"),
        )
        for path in sorted(days.glob("day-*.md"))
    )
    judge = OfflineJudge({})
    judge.study(Scenario(id="ea", epoch=EPOCH, episodes=tuple(episodes), items=()))
    triples = defaultdict(list)
    for line in judged.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        triples[record["triple_sha"]].append(record)
    found: Graded = []
    for records in triples.values():
        first = records[0]
        truth = Truth(reference=first["reference"], category=first["category"])
        item = Item(id=first["triple_sha"], text=first["question"], truth=truth, known_from=1)
        exhibit = Exhibit(
            scenario="ea",
            item=item,
            answer=Answer(text=first["answer"]),
            asked_at=story_day(EPOCH, first["checkpoint_days"]),
            days=first["checkpoint_days"],
        )
        labels = tuple(Counter(r[key] for r in records).most_common(1)[0][0] for key in KEYS)
        found.append((first["category"], labels, judge.assess(exhibit)))
    return found


def area(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The chance that a positive outranks a negative, ties counting half."""
    above = [s for s, p in zip(scores, positive, strict=True) if p]
    below = [s for s, p in zip(scores, positive, strict=True) if not p]
    wins = sum((a > b) + (a == b) / 2 for a in above for b in below)
    return wins / (len(above) * len(below))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mark", "place", "least", "overlap"),
    [("correctness", 0, 2, 0.88), ("completeness", 1, 2, 0.90), ("grounded", 2, 1, 0.79)],
)
def test_every_mark_ranks_better_than_word_overlap(
    graded: Graded, mark: str, place: int, least: int, overlap: float
) -> None:
    scores = [getattr(assessment, mark) for _, _, assessment in graded]

    assert area(scores, [labels[place] >= least for _, labels, _ in graded]) > overlap


@pytest.mark.slow
def test_things_that_never_happened_rank_far_better_than_word_overlap(graded: Graded) -> None:
    negative = [entry for entry in graded if entry[0] == "negative-recall"]
    scores = [assessment.correctness for _, _, assessment in negative]

    assert area(scores, [labels[0] >= 2 for _, labels, _ in negative]) > 0.85


@pytest.mark.slow
def test_hardly_any_real_answer_is_called_an_invention_of_values(graded: Graded) -> None:
    """The systems quoted a real history: an index that missed much of it would show here."""
    invented = [a for _, _, a in graded if "nobody had told" in a.reason]

    assert len(invented) < 0.01 * len(graded)
