"""The offline judge ranks real answers as a language model did, and better than word overlap.

Every figure is about questions that had no part in the training of the model that judged them.
"""

import pytest

from recall_bench.features.judges.calibration_fit import (
    TrainingAnswers,
    cross_validate,
    measure_all,
    train,
)
from recall_bench.features.judges.judge_agreement import compare_marks
from recall_bench.features.judges.labelled_verdicts import (
    LabelledVerdict,
    load_labels,
    merge_repeats,
    read_corpus,
)
from recall_bench.judging.offline import offline_judge
from recall_bench.judging.offline.calibration import ModelWeights, load_calibration
from recall_bench.judging.offline.offline_judge import OfflineJudge
from tests.conftest import shared_data
from tests.thoroughness import choose_number

pytestmark = pytest.mark.slow

FOLDS = choose_number(2, 3)


@pytest.fixture(scope="module")
def judge() -> OfflineJudge:
    return OfflineJudge({})


@pytest.fixture(scope="module")
def answers() -> tuple[LabelledVerdict, ...]:
    return merge_repeats(load_labels(shared_data("judged/dev.jsonl")))


@pytest.fixture(scope="module")
def material(judge: OfflineJudge, answers: tuple[LabelledVerdict, ...]) -> TrainingAnswers:
    days = shared_data("recall-ea/executive-assistant/memories-180d")
    with pytest.MonkeyPatch.context() as patch:
        # Three passes over all answers: each would read all of them again.
        patch.setattr(offline_judge, "GRADE_CACHE", 8192)
        return measure_all(judge, answers, read_corpus(days))


def test_held_out_questions_are_ranked_far_better_than_by_word_overlap(
    judge: OfflineJudge, material: TrainingAnswers
) -> None:
    judged = cross_validate(judge, material, with_evidence=True, folds=FOLDS)
    found = compare_marks(judged)
    negative = compare_marks([pair for pair in judged if pair[0].category == "negative-recall"])
    areas = [*(part.auc or 0 for part in found.values()), negative["correctness"].auc or 0]
    assert [area > least for area, least in zip(areas, (0.93, 0.925, 0.92, 0.89), strict=True)] == [
        True
    ] * 4, areas


def test_without_evidence_the_reference_still_ranks_better_than_word_overlap(
    judge: OfflineJudge, material: TrainingAnswers
) -> None:
    found = compare_marks(cross_validate(judge, material, with_evidence=False, folds=FOLDS))
    areas = [part.auc or 0 for part in found.values()]
    assert [area > least for area, least in zip(areas, (0.90, 0.91, 0.83), strict=True)] == [
        True
    ] * 3, areas


def test_the_shipped_weights_are_what_the_labelled_verdicts_teach(
    material: TrainingAnswers,
) -> None:
    taught, kept = train(material), load_calibration()
    assert kept.training == taught.training
    for ours, theirs in (
        (kept.with_evidence, taught.with_evidence),
        (kept.without_evidence, taught.without_evidence),
    ):
        assert [curve.name for curve in ours.curves] == [curve.name for curve in theirs.curves]
        assert weights(ours) == pytest.approx(weights(theirs), abs=1e-3)


def weights(sums: ModelWeights) -> list[float]:
    return [w for curve in sums.curves for row in curve.weights for w in row]


@pytest.fixture(scope="module")
def reasons(judge: OfflineJudge, material: TrainingAnswers) -> list[str]:
    """What the judge says of each answer."""
    return [judge.judge_now(exhibit).reason for exhibit in material.exhibits]


def test_hardly_any_real_answer_is_called_an_invention_of_values(reasons: list[str]) -> None:
    """The systems quoted a real history: an index that missed much of it would show here."""
    assert sum("the history does not mention" in reason for reason in reasons) < 0.015 * len(
        reasons
    )


def test_no_plain_non_answer_to_an_answerable_question_passes(
    judge: OfflineJudge, material: TrainingAnswers, reasons: list[str]
) -> None:
    """The judge whose verdicts these are passed about a fifth of them."""
    non_answers = [
        (exhibit, answer)
        for exhibit, answer, reason in zip(
            material.exhibits, material.answers, reasons, strict=True
        )
        if "left unanswered" in reason
    ]
    assert len(non_answers) > 50
    assert any(answer.labels["correctness"] >= 2 for _, answer in non_answers)
    assert all(judge.judge_now(exhibit).marks["correctness"] < 2 for exhibit, _ in non_answers)
