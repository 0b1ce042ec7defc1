"""Train the offline judge's calibration on labelled verdicts, and test it on held-out questions.

The model is an additive logistic regression with a ridge penalty. Every feature bends at knots that
split the training answers into equal shares. Penalty and knots are fixed, not searched for.

Reported agreement is always about questions that the judging model was not trained on: answers to
one question are alike, and a model that has seen some of them knows the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from recall_bench.core.errors import UsageError
from recall_bench.core.scenario import Scenario, order_categories
from recall_bench.core.verdict import Exhibit, Verdict
from recall_bench.features.judges.judge_agreement import LabelledExhibits, compare_marks
from recall_bench.features.judges.labelled_verdicts import (
    LabelledVerdict,
    load_labels,
    merge_repeats,
    read_corpus,
)
from recall_bench.judging.offline.calibration import (
    GOALS,
    AdditiveModel,
    Calibration,
    FeatureCurve,
    Floats,
    ModelWeights,
    Training,
    digest_question,
    encode_calibration,
)
from recall_bench.judging.offline.features import EVIDENCE_NUMBERS, is_evidence_feature_set
from recall_bench.judging.offline.offline_judge import OfflineJudge
from recall_bench.metrics.agreement import MarkAgreement

PENALTY = 100.0
"""On the squared weights, with every column scaled to a standard deviation of one."""
KNOTS_AT = (0.2, 0.4, 0.6, 0.8)
"""The shares of the training answers below each knot."""
STEPS = 25
TOLERANCE = 1e-6
WEIGHT_DIGITS = 5


def fit_weights(names: Sequence[str], values: Floats, reached: Floats) -> ModelWeights:
    """Fit the model that predicts each goal: an answer a row, a goal a column."""
    knots = [np.unique(np.quantile(column, KNOTS_AT)) for column in values.T]
    design = _make_design(values, knots)
    centre, spread = design.mean(axis=0), design.std(axis=0)
    spread[spread < 1e-12] = 1.0
    scaled = (design - centre) / spread
    fitted = np.array([_fit_newton(scaled, goal) for goal in reached.T])
    weights = fitted[:, 1:] / spread
    offsets = fitted[:, 0] - weights @ centre
    return ModelWeights(
        offsets=tuple(np.round(offsets, WEIGHT_DIGITS).tolist()),
        curves=_make_curves(names, values, knots, weights),
    )


def _make_curves(
    names: Sequence[str], values: Floats, knots: list[Floats], weights: Floats
) -> tuple[FeatureCurve, ...]:
    curves: list[FeatureCurve] = []
    start = 0
    for name, column, bends in zip(names, values.T, knots, strict=True):
        part = weights[:, start : start + len(bends) + 2]
        start += len(bends) + 2
        curves.append(
            FeatureCurve(
                name=name,
                least=round(float(column.min()), WEIGHT_DIGITS),
                most=round(float(column.max()), WEIGHT_DIGITS),
                knots=tuple(np.round(bends, WEIGHT_DIGITS).tolist()),
                weights=tuple(tuple(row) for row in np.round(part, WEIGHT_DIGITS).tolist()),
            )
        )
    return tuple(curves)


def _make_design(values: Floats, knots: list[Floats]) -> Floats:
    """For each feature: itself, its excess over each knot, and whether it is missing."""
    columns: list[Floats] = []
    for column, bends in zip(values.T, knots, strict=True):
        columns.append(column)
        columns += [np.maximum(column - bend, 0) for bend in bends]
        columns.append((column < 0).astype(np.float64))
    return np.stack(columns, axis=1)


def _fit_newton(scaled: Floats, reached: Floats) -> Floats:
    """The offset and weights of a logistic regression with a ridge penalty on the weights."""
    design = np.hstack([np.ones((len(scaled), 1)), scaled])
    penalty = np.full(design.shape[1], PENALTY)
    penalty[0] = 1e-6
    solution = np.zeros(design.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-(design @ solution)))
        slope = design.T @ (chance - reached) + penalty * solution
        # A matrix times itself: half the products of two matrices.
        weighted_design = design * np.sqrt(chance * (1 - chance))[:, None]
        bend = weighted_design.T @ weighted_design + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        solution -= step
        if float(np.abs(step).max()) < TOLERANCE:
            break
    return solution


FOLDS = 8


@dataclass(frozen=True, slots=True)
class TrainingAnswers:
    """Labelled answers with their features."""

    answers: tuple[LabelledVerdict, ...]
    numbers: tuple[dict[str, float], ...]
    with_evidence: tuple[bool, ...]
    exhibits: tuple[Exhibit, ...]

    def __len__(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, slots=True)
class HeldOutAgreement:
    """Agreement of verdicts by models that were not trained on their questions."""

    marks: dict[str, MarkAgreement]
    categories: dict[str, dict[str, MarkAgreement]]

    @classmethod
    def build(cls, judged: Sequence[tuple[LabelledVerdict, Verdict]]) -> "HeldOutAgreement":
        """The agreement of such verdicts with their labels."""
        return cls(
            compare_marks(judged),
            {
                category: compare_marks([pair for pair in judged if pair[0].category == category])
                for category in order_categories(answer.category for answer, _ in judged)
            },
        )


@dataclass(frozen=True, slots=True)
class TrainedCalibration:
    """A calibration, and the agreement of models trained the same way on held-out questions."""

    calibration: Calibration
    held_out: dict[str, HeldOutAgreement]
    """With and without evidence."""

    def encode(self) -> bytes:
        """The calibration as a file for the package."""
        return encode_calibration(self.calibration)


def calibrate(judged: Path, corpus: Path) -> TrainedCalibration:
    """Train on a file of labelled verdicts about the days in a folder."""
    answers = merge_repeats(load_labels(judged))
    judge = OfflineJudge({})
    material = measure_all(judge, answers, read_corpus(corpus))
    _refuse_unteachable(material)
    return TrainedCalibration(
        train(material),
        {
            name: HeldOutAgreement.build(
                cross_validate(judge, material, with_evidence=with_evidence)
            )
            for name, with_evidence in (("with evidence", True), ("without evidence", False))
        },
    )


def measure_all(
    judge: OfflineJudge, answers: Sequence[LabelledVerdict], scenario: Scenario
) -> TrainingAnswers:
    """The features of the answers that need a calibration."""
    judge.study(scenario)
    window = LabelledExhibits(scenario, 0)
    taken = [
        (answer, exhibit, numbers)
        for answer in answers
        if (numbers := judge.measure_features(exhibit := window.build(answer))) is not None
    ]
    return TrainingAnswers(
        answers=tuple(answer for answer, _, _ in taken),
        numbers=tuple(numbers for _, _, numbers in taken),
        with_evidence=tuple(is_evidence_feature_set(numbers) for _, _, numbers in taken),
        exhibits=tuple(exhibit for _, exhibit, _ in taken),
    )


def train(material: TrainingAnswers) -> Calibration:
    """The calibration trained on these answers.

    All of them train the model without evidence; those with readable evidence train both.
    """
    rows = range(len(material))
    rows_with_evidence = [row for row in rows if material.with_evidence[row]]
    return Calibration(
        training=Training(
            answers=len(material),
            questions=len({answer.cluster for answer in material.answers}),
            traces=tuple(sorted({digest_question(answer.question) for answer in material.answers})),
            penalty=PENALTY,
        ),
        with_evidence=_fit_model(material, rows_with_evidence, with_evidence=True),
        without_evidence=_fit_model(material, rows, with_evidence=False),
    )


def cross_validate(
    judge: OfflineJudge, material: TrainingAnswers, *, with_evidence: bool, folds: int = FOLDS
) -> list[tuple[LabelledVerdict, Verdict]]:
    """A verdict on every answer by a model that was not trained on its question."""
    rows = [row for row in range(len(material)) if material.with_evidence[row] or not with_evidence]
    judged: list[tuple[LabelledVerdict, Verdict]] = []
    for held_out in _split_folds([material.answers[row].cluster for row in rows], folds):
        tested = [row for row in rows if material.answers[row].cluster in held_out]
        training = [row for row in rows if material.answers[row].cluster not in held_out]
        model = AdditiveModel(_fit_model(material, training, with_evidence=with_evidence))
        for row in tested:
            verdict = judge.judge_with_model(material.exhibits[row], material.numbers[row], model)
            judged.append((material.answers[row], verdict))
    return judged


def _split_folds(clusters: Sequence[str], count: int) -> list[frozenset[str]]:
    """The questions in groups, by the digest of their names: the same groups every time."""
    order = sorted(set(clusters), key=lambda name: sha256(name.encode()).digest())
    return [group for start in range(count) if (group := frozenset(order[start::count]))]


def _fit_model(
    material: TrainingAnswers, rows: Sequence[int], *, with_evidence: bool
) -> ModelWeights:
    names = [
        name for name in material.numbers[rows[0]] if with_evidence or name not in EVIDENCE_NUMBERS
    ]
    numbers, answers = material.numbers, material.answers
    return fit_weights(
        names,
        np.array([[numbers[row][name] for name in names] for row in rows], dtype=np.float64),
        np.array(
            [[answers[row].labels[mark] >= points for mark, points in GOALS] for row in rows],
            dtype=np.float64,
        ),
    )


def _refuse_unteachable(material: TrainingAnswers) -> None:
    if not any(material.with_evidence):
        raise UsageError(
            "no labelled answer has a relevant day in the corpus, so nothing can be learned about "
            "evidence; name the corpus that the answers are about"
        )
    for mark, points in GOALS:
        passes = sum(answer.labels[mark] >= points for answer in material.answers)
        if passes in (0, len(material)):
            which = "every" if passes else "no"
            raise UsageError(
                f"{which} labelled answer has {points} or more for {mark}, so nothing can be "
                "learned about it; label more answers"
            )
