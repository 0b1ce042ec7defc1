"""A memory that says what it lost and one that makes it up are told apart by a stated rule."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from recall_bench.metrics.bootstrap import ResampledUnit
from recall_bench.metrics.estimate import Estimate, IntervalMethod, estimate_mean
from recall_bench.metrics.trend import Coefficient, Trend, estimate_trend
from recall_bench.reporting.analyses.hallucination import (
    HallucinationPattern,
    analyse_hallucination,
    detect_pattern,
)
from tests.reporting.analyses.answer_tables import asked, table_of

RATE = Estimate(
    value=0.1,
    low=0.05,
    high=0.2,
    level=0.95,
    method=IntervalMethod.QUESTIONS,
    questions=40,
    personas=1,
    trials=400,
    missing=0,
)


def line(value: float, low: float | None, high: float | None) -> Trend:
    """A line between days 100 and 1,100, its slope in points of 100 in 100 days."""
    ends = [None if each is None else each / 1e4 for each in (low, high)]
    return Trend(
        intercept=Coefficient(value=0.5, low=None, high=None),
        slope=Coefficient(value=value / 1e4, low=ends[0], high=ends[1]),
        predictions=(),
        level=0.95,
        drawn=ResampledUnit.QUESTIONS,
        first_day=100,
        last_day=1100,
        questions=40,
        personas=1,
        trials=400,
    )


FALLS = line(-1.2, -1.8, -0.6)
LEVEL = line(-0.1, -0.5, 0.3)
RISES = line(0.4, 0.1, 0.7)


@pytest.mark.parametrize(
    ("recall", "hallucination", "pattern"),
    [
        pytest.param(FALLS, RISES, HallucinationPattern.PATHOLOGICAL, id="lost and made up"),
        pytest.param(
            FALLS, line(0.2, -0.1, 0.59), HallucinationPattern.HEALTHY, id="lost, most not made up"
        ),
        pytest.param(
            FALLS, line(0.2, -0.1, 0.61), HallucinationPattern.UNKNOWN, id="lost, may be made up"
        ),
        pytest.param(
            FALLS, line(-0.4, -0.7, -0.1), HallucinationPattern.HEALTHY, id="lost, less made up"
        ),
        pytest.param(LEVEL, RISES, HallucinationPattern.INVENTING, id="made up without a loss"),
        pytest.param(LEVEL, LEVEL, HallucinationPattern.STEADY, id="neither"),
        pytest.param(RISES, LEVEL, HallucinationPattern.STEADY, id="better"),
        pytest.param(RISES, RISES, HallucinationPattern.INVENTING, id="better and worse"),
        pytest.param(
            line(-1, -2, 0), RISES, HallucinationPattern.INVENTING, id="to zero is not below it"
        ),
        pytest.param(
            FALLS, line(1, 0, 2), HallucinationPattern.UNKNOWN, id="from zero is not above it"
        ),
        pytest.param(None, RISES, HallucinationPattern.UNKNOWN, id="one size"),
        pytest.param(FALLS, None, HallucinationPattern.UNKNOWN, id="one size of judged answers"),
        pytest.param(line(-1, None, None), RISES, HallucinationPattern.UNKNOWN, id="no interval"),
        pytest.param(FALLS, line(0.2, -0.1, None), HallucinationPattern.UNKNOWN, id="no end above"),
        pytest.param(line(-1, None, 1), LEVEL, HallucinationPattern.UNKNOWN, id="no end below"),
    ],
)
def test_the_rule(
    recall: Trend | None, hallucination: Trend | None, pattern: HallucinationPattern
) -> None:
    assert detect_pattern(recall, hallucination, RATE)[0] is pattern


def test_the_reason_has_the_figures_it_goes_by() -> None:
    _, pathological = detect_pattern(FALLS, RISES, RATE)
    _, healthy = detect_pattern(FALLS, line(0.0, -0.1, 0.12), RATE)
    _, steady = detect_pattern(LEVEL, LEVEL, RATE)

    assert pathological == (
        "recall falls, -1.20 points of 100 in 100 days (-1.80 to -0.60), and invention rises, "
        "+0.40 (+0.10 to +0.70): 33 invented for every 100 points lost"
    )
    assert (
        "does not rise significantly, 0.00 (-0.10 to +0.12): at most 10 invented for every"
        in healthy
    )
    assert "any change within these bounds fits the data" in steady


@pytest.mark.parametrize(("questions", "pattern"), [(8, "unknown"), (300, "healthy")])
def test_a_few_questions_without_a_hallucination_do_not_prove_health(
    questions: int, pattern: str
) -> None:
    """Where none hallucinates all draws agree; how many were asked says what goes unnoticed."""
    rows = [
        asked(f"q{n}", (3, 2, 1) if n % 2 or days == 100 else (1, 0, 1), days=days)
        for n in range(questions)
        for days in (100, 200)
    ]

    found = analyse_hallucination(table_of(rows), resamples=300).overall

    assert found.hallucination is not None
    assert found.hallucination.slope.value == 0.0
    assert found.recall is not None
    assert found.recall.slope.high is not None
    assert found.recall.slope.high < 0
    assert found.pattern.value == pattern, found.reason


@pytest.mark.parametrize("leaks", [False, True])
def test_the_reason_says_where_leaks_rise(leaks: bool) -> None:
    """Healthy is said of inventions: it must not read as a verdict on leaks."""
    rows = [
        msgspec.structs.replace(
            asked(f"q{n}", (3, 2, 1) if n % 2 or days == 100 else (1, 0, 1), days=days),
            leaked=leaks and days == 200,
        )
        for n in range(300)
        for days in (100, 200)
    ]

    found = analyse_hallucination(table_of(rows), resamples=300).overall

    assert found.pattern is HallucinationPattern.HEALTHY
    assert ("; but leaks rise, +100.00 points of 100 in 100 days" in found.reason) == leaks


def test_what_a_rounding_moves_is_level() -> None:
    """Three fifths everywhere: sums of them differ in the last digit."""
    rows = [asked(f"q{n}", (2, 1, 1), days=days) for n in range(30) for days in (70, 130, 370)]

    found = analyse_hallucination(table_of(rows), resamples=300).overall

    assert found.pattern is HallucinationPattern.STEADY


def patterns(
    lost: float, made_up: float, *, worlds: int, seed: int
) -> Counter[HallucinationPattern]:
    """What is said of runs in which both change so much over all sizes, each with its own luck.

    Sixty questions at five sizes; each has its own ease, and its own proneness to make things up.
    """
    chance = np.random.default_rng(seed)
    sizes, questions = np.linspace(0.0, 1.0, 5), 60
    names = [f"q{n}" for n in range(questions) for _ in sizes]
    days = [100 + 900 * float(size) for _ in range(questions) for size in sizes]
    personas = ["ada"] * len(names)
    found: Counter[HallucinationPattern] = Counter()
    for _ in range(worlds):
        ease = 0.05 + 0.9 * chance.beta(2, 1, (questions, 1))
        prone = chance.beta(0.3, 2.7, (questions, 1))
        points = chance.binomial(5, np.clip(ease - lost * sizes, 0, 1)).reshape(-1)
        invented = (chance.random((questions, 5)) < prone + made_up * sizes).reshape(-1)
        recall, rates = list(points / 5), list(invented.astype(float))
        rate = estimate_mean(rates, names, personas, seed=1, limits=(0, 1), resamples=100)
        lines = [
            estimate_trend(values, days, names, personas, seed=1, limits=(0, 1), resamples=400)
            for values in (recall, rates)
        ]
        found[detect_pattern(lines[0], lines[1], rate)[0]] += 1
    return found


def test_steady_runs_are_seldom_called_anything_else() -> None:
    """One in twenty is what the intervals promise; 200 runs may come to twice that by chance."""
    found = patterns(0.0, 0.0, worlds=200, seed=3)

    assert found[HallucinationPattern.STEADY] >= 180
    assert found[HallucinationPattern.PATHOLOGICAL] <= 2


def test_planted_patterns_are_found() -> None:
    assert patterns(0.3, 0.3, worlds=50, seed=4)[HallucinationPattern.PATHOLOGICAL] >= 45
    assert patterns(0.0, 0.3, worlds=50, seed=6)[HallucinationPattern.INVENTING] >= 45


def test_a_planted_healthy_run_is_hardly_ever_called_pathological() -> None:
    found = patterns(0.3, 0.0, worlds=50, seed=5)

    assert found[HallucinationPattern.HEALTHY] >= 40
    assert found[HallucinationPattern.PATHOLOGICAL] <= 5
