"""A judge is measured on what it judged, as of the day it was asked, with what it may see."""

import msgspec
import pytest

from recall_bench.core.scenario import Episode, Scenario, compute_story_date
from recall_bench.core.usage import Usage
from recall_bench.core.verdict import SCALES
from recall_bench.features.judges.judge_agreement import Agreement, LabelledExhibits, measure_judge
from recall_bench.features.judges.labelled_verdicts import NO_CORPUS
from recall_bench.judging.judge_calls import JudgeLimits
from tests.conftest import EPOCH
from tests.features.judges.orchard import Reader, labelled

ORCHARD = Scenario(
    id="orchard",
    epoch=EPOCH,
    episodes=tuple(
        Episode(id=f"day-{day:04}", day=day, at=compute_story_date(EPOCH, day), text=text)
        for day, text in enumerate(("Wind.", "The quince came down.", "Cider.", "Frost."), start=1)
    ),
    items=(),
)

pytestmark = pytest.mark.anyio


async def test_marks_are_compared_at_their_own_pass_level() -> None:
    answers = [
        labelled("2 1 0", (3, 2, 1), question="a"),
        labelled("1 2 1", (0, 2, 0), question="b"),
        labelled("3 2 1", (1, 0, 1), question="c"),
    ]

    found = await measure_judge(Reader(), answers, NO_CORPUS)

    passes = {mark: (part.positives, part.passed) for mark, part in found.marks.items()}
    assert passes == {"correctness": (1, 2), "completeness": (2, 2), "grounded": (2, 2)}
    accuracy = [part.accuracy for part in found.marks.values()]
    assert accuracy == pytest.approx([2 / 3, 1 / 3, 1 / 3])


async def test_what_was_not_judged_is_left_out_and_counted() -> None:
    answers = [labelled("3 2 1", question="a"), labelled("mumble", question="b")]

    found = await measure_judge(Reader(computes=False, cost_usd=0.25), answers, NO_CORPUS)

    assert (found.counts.answers, found.counts.questions, found.counts.judged) == (2, 2, 1)
    assert (found.not_judged, found.faults) == (1, {"JudgeFault": 1})
    assert found.marks["correctness"].n == 1
    assert found.usage == Usage(calls=2, input_tokens=20, output_tokens=4, cost_usd=0.5)


async def test_probabilities_rank_only_where_every_verdict_has_them() -> None:
    """The second answer gives one for correctness alone."""
    answers = [
        labelled("3 2 1 | 0.9 0.8 0.7", question="a"),
        labelled("3 2 1 | 0.2", (0, 0, 0), question="b"),
    ]

    found = await measure_judge(Reader(), answers, NO_CORPUS)

    assert {mark: part.scored_by for mark, part in found.marks.items()} == {
        "correctness": "probabilities",
        "completeness": "marks",
        "grounded": "marks",
    }
    assert found.marks["correctness"].auc == 1.0
    assert found.marks["completeness"].auc == 0.5


async def test_answers_of_one_question_are_one_cluster_and_ids_go_first() -> None:
    same_text = [labelled("3 2 1"), labelled("0 0 0")]
    named = [answer.replace(question_id=f"q{n}") for n, answer in enumerate(same_text)]

    assert (await measure_judge(Reader(), same_text, NO_CORPUS)).marks["correctness"].questions == 1
    assert (await measure_judge(Reader(), named, NO_CORPUS)).marks["correctness"].questions == 2


async def test_categories_stand_apart_in_their_usual_order() -> None:
    answers = [
        labelled("3 2 1", category="zoology"),
        labelled("3 2 1", category="negative-recall"),
        labelled("0 0 0", category="factual-recall"),
        labelled("mumble", category="synthesis"),
    ]

    found = await measure_judge(Reader(), answers, NO_CORPUS)

    assert list(found.categories) == ["factual-recall", "synthesis", "negative-recall", "zoology"]
    assert {part["correctness"].n for part in found.categories.values()} == {0, 1}
    assert found.categories["synthesis"]["grounded"].auc is None
    assert all(part.keys() == SCALES.keys() for part in found.categories.values())


async def test_an_answer_is_judged_as_of_its_checkpoint_else_at_the_end() -> None:
    judge = Reader()
    answers = [labelled("3 2 1", checkpoint=3), labelled("0 0 0")]

    found = await measure_judge(judge, answers, ORCHARD)

    assert judge.studied == ["orchard"]
    assert [(shown.days, shown.asked_at) for shown in judge.seen] == [
        (3, compute_story_date(EPOCH, 3)),
        (4, compute_story_date(EPOCH, 4)),
    ]
    assert found.corpus is not None


async def test_without_a_corpus_the_judge_still_studies_and_is_asked() -> None:
    judge = Reader()

    found = await measure_judge(
        judge, [labelled("3 2 1"), labelled("0 0 0", checkpoint=9)], NO_CORPUS
    )

    assert judge.studied == ["no-corpus"]
    assert [shown.days for shown in judge.seen] == [1, 9]
    assert found.corpus is None


@pytest.mark.parametrize(
    ("window", "checkpoint", "days"),
    [(0, None, []), (1, None, [1, 2, 3]), (1, 2, [1, 2]), (5, None, [1, 2, 3, 4])],
)
async def test_the_window_shows_days_around_the_evidence_and_none_from_later(
    window: int, checkpoint: int | None, days: list[int]
) -> None:
    judge = Reader()

    await measure_judge(
        judge, [labelled("3 2 1", checkpoint=checkpoint)], ORCHARD, memory_window=window
    )

    assert [shown.day for shown in judge.seen[0].excerpts] == days


def test_a_window_of_any_size_costs_no_more_than_the_story() -> None:
    """A loop over its days would never end."""
    window = LabelledExhibits(ORCHARD, 10**15)

    shown = window.build(labelled("3 2 1"))

    assert [episode.day for episode in shown.excerpts] == [1, 2, 3, 4]


async def test_the_judge_is_shown_no_label() -> None:
    judge = Reader()

    await measure_judge(judge, [labelled("0 0 0", (3, 2, 1))], ORCHARD)

    shown = judge.seen[0]
    assert "labels" not in repr(shown)
    assert shown.item.truth.reference == "The old quince."


async def test_a_measurement_survives_json() -> None:
    answers = [labelled("3 2 1 | 0.9 0.9 0.9", question=str(n)) for n in range(9)]

    found = await measure_judge(Reader(), answers, ORCHARD, limits=JudgeLimits(parallelism=2))

    raw = msgspec.json.encode(found)
    assert b"NaN" not in raw
    assert msgspec.json.decode(raw, type=Agreement) == found
