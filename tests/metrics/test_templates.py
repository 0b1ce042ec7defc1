"""Questions of one template are passed or failed together, so they are one piece of evidence."""

import numpy as np
import pytest

from recall_bench.core.plan import Trial
from recall_bench.metrics.bootstrap import ResampledUnit, group_trials
from recall_bench.metrics.comparison import compare
from recall_bench.metrics.estimate import Estimate, estimate_mean, estimate_ratio
from recall_bench.metrics.survival import FactLifetime, estimate_survival
from recall_bench.metrics.trend import estimate_trend

COPIES = 4
MARKS = [0.0, 1.0, 3.0, 5.0, 6.0, 2.0, 6.0, 4.0]
"""One for each template; its questions all have it."""

VALUES = [mark for mark in MARKS for _ in range(COPIES)]
QUESTIONS = [f"q{number}" for number in range(len(VALUES))]
PERSONAS = ["ada"] * len(VALUES)
TEMPLATES = {("ada", name): f"t{number // COPIES}" for number, name in enumerate(QUESTIONS)}


def width(found: Estimate | None) -> float:
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_copies_of_a_question_add_no_certainty() -> None:
    alone = estimate_mean(MARKS, QUESTIONS[: len(MARKS)], PERSONAS[: len(MARKS)])
    shared = estimate_mean(VALUES, QUESTIONS, PERSONAS, templates=TEMPLATES)
    as_if_apart = estimate_mean(VALUES, QUESTIONS, PERSONAS)

    assert width(shared) == pytest.approx(width(alone))
    assert width(as_if_apart) < 0.6 * width(shared)
    assert shared is not None
    assert shared.questions == len(VALUES)


def test_a_share_of_the_way_goes_by_templates_too() -> None:
    wholes = [6.0] * len(VALUES)
    shared = estimate_ratio(VALUES, wholes, QUESTIONS, PERSONAS, templates=TEMPLATES)

    assert width(estimate_ratio(VALUES, wholes, QUESTIONS, PERSONAS)) < 0.6 * width(shared)


def test_a_template_of_two_personas_is_two_templates() -> None:
    groups = group_trials(
        ["q", "q"], ["ada", "ben"], {("ada", "q"): "stake", ("ben", "q"): "stake"}
    )

    assert groups.templates == 2


def test_a_question_named_like_a_template_is_not_of_it() -> None:
    groups = group_trials(["stake", "q"], ["ada", "ada"], {("ada", "q"): "stake"})

    assert groups.templates == 2


def test_few_templates_that_agree_do_not_narrow_the_interval_of_their_questions() -> None:
    """Each template comes to the same mean, so that resampling templates shows no spread."""
    values = [0.0, 6.0] * 8
    names = [f"q{number}" for number in range(16)]
    pairs = {("ada", name): f"t{number // 2}" for number, name in enumerate(names)}

    shared = estimate_mean(values, names, ["ada"] * 16, templates=pairs)

    assert width(shared) == width(estimate_mean(values, names, ["ada"] * 16))


def test_agreement_of_copies_is_that_of_one() -> None:
    ones, count = [6.0] * len(VALUES), len(MARKS)
    shared = estimate_mean(ones, QUESTIONS, PERSONAS, templates=TEMPLATES, limits=(0, 6))

    assert shared is not None
    assert shared.low == pytest.approx(6 - 6 * (1 - 0.025 ** (1 / count)))


def test_a_p_value_flips_whole_templates() -> None:
    trials = [Trial(scenario="ada", item=name, checkpoint="1y") for name in QUESTIONS]
    first = dict.fromkeys(trials, 0.0)
    second = dict.fromkeys(trials, 1.0)

    apart, shared = (
        compare(first, second, templates=each, resamples=50) for each in (None, TEMPLATES)
    )

    assert apart is not None
    assert shared is not None
    assert shared.p_value == pytest.approx(2 / 2 ** len(MARKS))
    assert apart.p_value < shared.p_value
    assert (shared.wins, shared.difference.questions) == (len(QUESTIONS), len(QUESTIONS))


def test_copies_detect_no_smaller_difference() -> None:
    trials = [Trial(scenario="ada", item=name, checkpoint="1y") for name in QUESTIONS]
    first, second = dict.fromkeys(trials, 0.0), dict(zip(trials, VALUES, strict=True))
    apart, shared = (
        compare(first, second, templates=each, resamples=50) for each in (None, TEMPLATES)
    )

    assert apart is not None
    assert shared is not None
    assert apart.detectable is not None
    assert shared.detectable is not None
    assert shared.detectable > 1.5 * apart.detectable


def test_a_slope_goes_by_templates() -> None:
    days = [30.0, 90.0]
    rises = [mark * (day == 90.0) for mark in VALUES for day in days]
    names = [name for name in QUESTIONS for _ in days]

    def fit(templates: dict[tuple[str, str], str] | None) -> float:
        found = estimate_trend(
            rises,
            days * len(QUESTIONS),
            names,
            ["ada"] * len(names),
            seed=1,
            limits=(0, 6),
            templates=templates,
        )
        assert found is not None
        assert found.slope.low is not None
        assert found.slope.high is not None
        return found.slope.high - found.slope.low

    assert fit(None) < 0.6 * fit(TEMPLATES)


def test_a_slope_over_personas_is_no_surer_than_over_questions() -> None:
    """Six personas whose slopes happen to be equal."""
    rng = np.random.default_rng(5)
    own = rng.normal(size=(6, 20))
    own -= own.mean(axis=1, keepdims=True)
    rows = [
        (mark * (day == 90), day, f"q{question}", f"p{persona}")
        for persona, marks in enumerate(own)
        for question, mark in enumerate(marks)
        for day in (30.0, 90.0)
    ]
    values, days, names, personas = (list(column) for column in zip(*rows, strict=True))

    over_all, pooled = (
        estimate_trend(values, days, names, who, seed=1, limits=(-6, 6))
        for who in (personas, ["one"] * len(personas))
    )

    assert over_all is not None
    assert over_all.drawn is ResampledUnit.PERSONAS
    assert over_all.slope.low is not None
    assert over_all.slope.high is not None
    assert pooled is not None
    assert pooled.slope.low is not None
    assert over_all.slope.low < pooled.slope.low / 2
    assert over_all.slope.high > 0


def test_survival_goes_by_templates() -> None:
    lives = [
        FactLifetime(
            persona="ada",
            question=name,
            known_for=0 if VALUES[number] < 3 else 60,
            lost_by=60 if VALUES[number] < 3 else None,
        )
        for number, name in enumerate(QUESTIONS)
    ]
    apart, shared = (estimate_survival(lives, seed=1, templates=each) for each in (None, TEMPLATES))

    assert apart is not None
    assert shared is not None
    one, other = apart.curve[-1], shared.curve[-1]
    assert one.low is not None
    assert one.high is not None
    assert other.low is not None
    assert other.high is not None
    assert other.share == one.share
    assert one.high - one.low < 0.6 * (other.high - other.low)
