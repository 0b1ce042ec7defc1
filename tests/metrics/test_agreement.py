"""Agreement is what its textbook formulas say, its intervals are over questions, and what is
undefined is None."""

from dataclasses import replace
from itertools import product

import msgspec
import numpy as np
import pytest
from numpy.random import default_rng

from recall_bench.metrics.agreement import (
    FIGURES,
    MarkAgreement,
    MarkPairs,
    estimate_effective_size,
    measure_agreement,
)
from recall_bench.metrics.bootstrap import number_names


def rulings(
    given: list[int],
    label: list[int],
    *,
    question: list[int] | None = None,
    probability: list[float] | None = None,
    top: int = 3,
    level: int = 2,
) -> MarkPairs:
    return MarkPairs(
        given=np.array(given, dtype=np.int64),
        label=np.array(label, dtype=np.int64),
        question=np.array(range(len(given)) if question is None else question, dtype=np.int64),
        top=top,
        level=level,
        probability=None if probability is None else np.array(probability, dtype=np.float64),
    )


def simulated(questions: int = 40, answers: int = 5, seed: int = 3) -> MarkPairs:
    """Answers to one question are alike, and the judge sees them through noise."""
    chance = default_rng(seed)
    ease = np.repeat(chance.normal(0.5, 1.0, questions), answers)
    quality = ease + chance.normal(0, 0.5, questions * answers)
    seen = 1 / (1 + np.exp(-2 * (quality + chance.normal(0, 0.5, len(quality)))))
    return MarkPairs(
        given=np.digitize(seen, [0.2, 0.5, 0.8]).astype(np.int64),
        label=np.digitize(quality, [-0.7, 0.0, 0.7]).astype(np.int64),
        question=np.repeat(np.arange(questions), answers),
        top=3,
        level=2,
        probability=seen,
    )


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    sample = simulated(questions=12)
    assert sample.probability is not None
    blunt = replace(sample, probability=np.round(sample.probability, 1))
    assert blunt.probability is not None
    pairs = list(product(blunt.probability[blunt.positive], blunt.probability[~blunt.positive]))

    wins = sum((high > low) + (high == low) / 2 for high, low in pairs)

    assert measure_agreement(blunt).auc == pytest.approx(wins / len(pairs))


def test_without_probabilities_auc_ranks_by_points() -> None:
    found = measure_agreement(rulings([3, 2, 2, 1, 0], [3, 2, 0, 2, 0]))

    assert found.scored_by == "marks"
    # Of the six pairs four are in order, one is a tie and one is upside down.
    assert found.auc == pytest.approx(4.5 / 6)
    assert found.brier is None
    assert found.reliability is None


def test_the_pass_level_figures_are_those_of_the_four_fields() -> None:
    given = [3] * 20 + [0] * 5 + [3] * 10 + [0] * 15
    label = [3] * 25 + [0] * 25

    found = measure_agreement(rulings(given, label))

    assert (found.n, found.positives, found.passed) == (50, 25, 30)
    assert found.accuracy == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.sensitivity == pytest.approx(0.8)
    assert found.specificity == pytest.approx(0.6)


def test_a_pass_is_a_pass_however_high() -> None:
    """Two points for three, and none for one, agree at the level of passes."""
    found = measure_agreement(rulings([2, 0], [3, 1]))

    assert found.accuracy == 1.0
    assert found.kappa == 1.0
    assert found.kappa_weighted is not None
    assert found.kappa_weighted < 1.0


def test_weighted_kappa_counts_a_miss_by_its_square() -> None:
    found = measure_agreement(rulings([0, 1, 2, 2], [0, 1, 1, 0], top=2))
    seen = (0 + 0 + 1 + 4) / 4
    by_chance = sum((a - b) ** 2 for a in (0, 1, 2, 2) for b in (0, 1, 1, 0)) / 16

    assert found.kappa_weighted == pytest.approx(1 - seen / by_chance)


def test_brier_and_curve_speak_of_probabilities() -> None:
    found = measure_agreement(
        rulings([3, 3, 0, 3], [3, 0, 0, 3], probability=[0.92, 0.98, 0.0, 1.0])
    )

    assert found.scored_by == "probabilities"
    assert found.brier == pytest.approx((0.08**2 + 0.98**2) / 4)
    assert found.reliability is not None
    first, *between, last = found.reliability
    assert (first.n, first.probability, first.observed) == (1, 0.0, 0.0)
    assert last.n == 3
    assert last.probability == pytest.approx((0.92 + 0.98 + 1) / 3)
    assert last.observed == pytest.approx(2 / 3)
    assert [(part.n, part.probability, part.observed) for part in between] == [(0, None, None)] * 8


def test_an_interval_holds_its_figure_and_is_the_same_every_time() -> None:
    found = measure_agreement(simulated())

    for name in FIGURES:
        interval = found.intervals[name]
        assert interval is not None
        assert interval[0] < getattr(found, name) < interval[1]
    assert measure_agreement(simulated()) == found


def test_repeating_every_answer_within_its_question_adds_no_certainty() -> None:
    """Intervals over records would shrink to a third here."""
    sample = simulated()
    assert sample.probability is not None
    tenfold = MarkPairs(
        given=np.repeat(sample.given, 10),
        label=np.repeat(sample.label, 10),
        question=np.repeat(sample.question, 10),
        top=3,
        level=2,
        probability=np.repeat(sample.probability, 10),
    )

    once, often = measure_agreement(sample), measure_agreement(tenfold)

    for name in FIGURES:
        assert often.intervals[name] == pytest.approx(once.intervals[name])
    assert often.effective["sensitivity"] == pytest.approx(once.effective["sensitivity"])


def test_intervals_are_about_as_wide_as_the_figure_scatters() -> None:
    """The spread of the AUC over fresh questions, against what one sample says of it."""
    found = [measure_agreement(simulated(questions=60, seed=seed)) for seed in range(40)]

    scatter = float(np.std([part.auc for part in found if part.auc is not None]))
    widths = [ends[1] - ends[0] for part in found if (ends := part.intervals["auc"]) is not None]
    told = float(np.mean(widths)) / (2 * 1.96)

    assert told == pytest.approx(scatter, rel=0.3)


def test_figures_that_need_both_kinds_are_none_where_one_is_missing() -> None:
    found = measure_agreement(rulings([3, 3, 0], [3, 3, 3], probability=[0.9, 0.8, 0.1]))

    assert found.auc is None
    assert found.specificity is None
    assert found.sensitivity == pytest.approx(2 / 3)
    assert found.effective["specificity"] is None
    assert found.kappa == 0.0


def test_kappa_of_two_that_never_differ_is_undefined() -> None:
    found = measure_agreement(rulings([3, 3], [3, 3]))

    assert found.kappa is None
    assert found.kappa_weighted is None
    assert found.accuracy == 1.0


def test_nothing_judged_gives_nothing_and_no_nan() -> None:
    found = measure_agreement(rulings([], [], probability=[]))

    assert found.n == found.questions == 0
    assert all(getattr(found, name) is None for name in FIGURES)
    assert msgspec.json.decode(msgspec.json.encode(found), type=MarkAgreement) == found


def test_few_questions_have_figures_and_no_interval() -> None:
    found = measure_agreement(rulings([3, 0] * 20, [3, 0] * 20, question=[0, 1, 2, 3] * 10))

    assert found.auc == 1.0
    assert set(found.intervals.values()) == {None}


def test_a_figure_that_most_resamples_lack_has_no_interval() -> None:
    """The only failure belongs to one question of six: a third of the draws leave it out."""
    found = measure_agreement(rulings([3, 3, 3, 3, 3, 0], [3, 3, 3, 3, 3, 0]))

    assert found.specificity == 1.0
    assert found.intervals["specificity"] is None
    assert found.intervals["accuracy"] is not None


def test_effective_size_is_that_of_the_questions_where_answers_repeat() -> None:
    hits = np.repeat(np.array([True, False] * 10), 7)

    assert estimate_effective_size(hits, np.repeat(np.arange(20), 7)) == pytest.approx(19.0)
    assert estimate_effective_size(hits, np.arange(140)) == pytest.approx(139.0)


def test_effective_size_is_never_more_than_the_answers_there_are() -> None:
    """One hit and one miss for every question: less scatter than chance would give."""
    assert (
        estimate_effective_size(np.array([True, False] * 10), np.repeat(np.arange(10), 2)) == 20.0
    )


def test_sensitivity_rests_on_the_passes_and_specificity_on_the_failures() -> None:
    found = measure_agreement(rulings([3, 0, 3, 0, 0, 3, 0], [3, 3, 3, 3, 0, 0, 0]))

    assert found.effective["sensitivity"] == pytest.approx(3.0)
    assert found.effective["specificity"] == pytest.approx(2.0)


def test_unanimous_answers_count_once_a_question() -> None:
    assert estimate_effective_size(np.ones(30, dtype=bool), np.repeat(np.arange(3), 10)) == 3.0
    assert estimate_effective_size(np.ones(0, dtype=bool), np.zeros(0, dtype=np.int64)) is None


def test_names_are_numbered_without_a_gap() -> None:
    assert number_names(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]
