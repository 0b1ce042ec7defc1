"""Probabilities from measured numbers."""

from math import exp

import numpy as np
import pytest

from recall_bench.core.verdict import PASS, SCALES
from recall_bench.judging.offline.calibration import (
    GOALS,
    AdditiveModel,
    FeatureCurve,
    ModelWeights,
    PassChances,
    digest_question,
    load_calibration,
    load_model,
    make_pass_chances,
)
from recall_bench.judging.offline.features import EVIDENCE_NUMBERS
from tests.loops import loop_over_rows


def logistic(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def sums(weights: tuple[float, ...], *, offset: float = 0.0) -> ModelWeights:
    """One number `x` from -1 to 10 with one knot at 2; the same weights for every goal."""
    curve = FeatureCurve(
        name="x", least=-1.0, most=10.0, knots=(2.0,), weights=(weights,) * len(GOALS)
    )
    return ModelWeights(offsets=(offset,) * len(GOALS), curves=(curve,))


@loop_over_rows(
    ("x", "odds"),
    [
        (0.0, 0.5),
        (1.0, 0.5 + 1.0),
        (2.0, 0.5 + 2.0),
        (3.0, 0.5 + 3.0 - 4.0),
        (-1.0, 0.5 - 1.0 + 7.0),
    ],
)
def test_a_number_counts_itself_its_excess_and_its_absence(x: float, odds: float) -> None:
    opinion = AdditiveModel(sums((1.0, -4.0, 7.0), offset=0.5)).predict({"x": x, "unused": 1.0})
    assert opinion.get_pass_chance("correctness") == pytest.approx(logistic(odds))


def test_beyond_what_was_learned_nothing_changes() -> None:
    model = AdditiveModel(sums((1.0, 0.0, 0.0)))
    assert model.predict({"x": 1e9}) == model.predict({"x": 10.0})
    assert model.predict({"x": 9.0}) != model.predict({"x": 10.0})


def test_a_number_that_was_not_measured_is_not_made_up() -> None:
    with pytest.raises(KeyError):
        AdditiveModel(sums((1.0, 0.0, 0.0))).predict({"y": 1.0})


def test_more_points_are_never_likelier_than_fewer() -> None:
    opinion = make_pass_chances(np.array([0.4, 0.9, 0.2, 0.8, 0.7, 0.3]))
    assert opinion.chances["correctness"] == (0.4, 0.4, 0.2)
    assert opinion.chances["completeness"] == (0.8, 0.7)
    assert opinion.chances["grounded"] == (0.3,)


def test_a_mark_is_what_is_more_likely_than_not() -> None:
    opinion = make_pass_chances(np.array([0.9, 0.5, 0.49, 0.8, 0.2, 0.5]))
    assert [opinion.count_points(mark) for mark in SCALES] == [2, 1, 1]
    assert [opinion.get_pass_chance(mark) for mark in SCALES] == [0.5, 0.2, 0.5]


def test_a_pass_and_its_probability_agree_on_which_side_of_a_half_they_are() -> None:
    for chances in np.random.default_rng(7).random((200, len(GOALS))):
        opinion = make_pass_chances(chances)
        for mark in SCALES:
            assert (opinion.count_points(mark) >= PASS[mark]) == (
                opinion.get_pass_chance(mark) >= 0.5
            )


def test_a_ceiling_holds_every_point_of_its_mark_and_no_other() -> None:
    capped = make_pass_chances(np.full(len(GOALS), 0.9)).limit("correctness", 0.3)
    assert capped.chances == {
        "correctness": (0.3,) * 3,
        "completeness": (0.9, 0.9),
        "grounded": (0.9,),
    }
    assert PassChances({"grounded": (0.2,)}).limit("grounded", 0.3).chances == {"grounded": (0.2,)}


def test_a_floor_is_for_a_pass_and_not_for_more() -> None:
    raised = make_pass_chances(np.full(len(GOALS), 0.2)).ensure("correctness", 0.6)
    assert raised.chances["correctness"] == (0.6, 0.6, 0.2)
    assert raised.chances["completeness"] == (0.2, 0.2)
    kept = PassChances({"grounded": (0.7,)}).ensure("grounded", 0.6)
    assert kept.chances == {"grounded": (0.7,)}


def test_the_shipped_models_differ_by_the_evidence_alone() -> None:
    with_evidence = set(load_model(with_evidence=True).names)
    without = set(load_model(with_evidence=False).names)
    assert without == with_evidence - EVIDENCE_NUMBERS
    assert with_evidence - without == EVIDENCE_NUMBERS


def test_the_shipped_calibration_says_what_it_learned_from() -> None:
    training = load_calibration().training
    assert training.answers > training.questions > 100
    assert 100 < len(training.traces) <= training.questions
    assert (
        digest_question("What  did it\ncost?")
        == digest_question("what did it cost?")
        != digest_question("who?")
    )
