"""How well a score will be known is told before it is measured, and comes true."""

from random import Random

import pytest

from recall_bench.core.plan import Trial
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.running.plan_precision import (
    WORST,
    VarianceParts,
    compute_detectable,
    compute_half_width,
    split_variance,
)

ASKS = 8


def marks(personas: int = 1, questions: int = 150, seed: int = 3) -> dict[Trial, float]:
    """A run in which a question has its own mark, and one ask in five another."""
    chance = Random(seed)
    found = {}
    for persona in range(personas):
        for question in range(questions):
            usual = chance.choice((0, 2, 3, 5, 6, 6))
            for ask in range(ASKS):
                mark = chance.choice((0, 2, 3, 5, 6, 6)) if chance.random() < 0.2 else usual
                trial = Trial(scenario=f"p{persona}", item=f"q{question}", checkpoint=f"{ask}d")
                found[trial] = float(mark)
    return found


def measured_half(some: dict[Trial, float]) -> float:
    found = estimate_mean(
        list(some.values()),
        [trial.item for trial in some],
        [trial.scenario for trial in some],
        seed=1,
        limits=(0, 6),
        resamples=4000,
    )
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return (found.high - found.low) / 2


def counted(some: dict[Trial, float]) -> dict[tuple[str, str], int]:
    put: dict[tuple[str, str], int] = {}
    for trial in some:
        key = trial.scenario, trial.item
        put[key] = put.get(key, 0) + 1
    return put


@pytest.mark.parametrize("asks", [1, 3, 8])
def test_a_smaller_run_is_as_sure_as_was_said(asks: int) -> None:
    run = marks()
    parts = split_variance(run)
    kept = {trial: mark for trial, mark in run.items() if int(trial.checkpoint[:-1]) < asks}

    assert parts is not None
    said = compute_half_width(counted(kept), parts)

    assert said == pytest.approx(measured_half(kept), rel=0.1)


def test_fewer_questions_cost_more_than_fewer_asks() -> None:
    parts = VarianceParts(persona=0, question=4, trial=1)
    whole = compute_half_width({("p", str(n)): 8 for n in range(100)}, parts)
    fewer_asks = compute_half_width({("p", str(n)): 2 for n in range(100)}, parts)
    fewer_questions = compute_half_width({("p", str(n)): 8 for n in range(25)}, parts)

    assert whole is not None
    assert fewer_asks is not None
    assert fewer_questions is not None
    assert fewer_asks < 1.1 * whole
    assert fewer_questions > 1.9 * whole


def test_uneven_asks_of_questions_that_never_change_only_widen() -> None:
    once = compute_half_width({("p", str(n)): 1 for n in range(40)}, WORST)
    uneven = compute_half_width({("p", str(n)): 1 + 9 * (n < 10) for n in range(40)}, WORST)

    assert once is not None
    assert uneven is not None
    assert uneven > once


def test_from_five_personas_on_it_speaks_of_personas() -> None:
    parts = VarianceParts(persona=1, question=4, trial=0)
    put = {(f"p{persona}", str(n)): 1 for persona in range(5) for n in range(100)}
    few = {key: times for key, times in put.items() if key[0] != "p4"}

    wide, narrow = compute_half_width(put, parts), compute_half_width(few, parts)

    assert wide is not None
    assert narrow is not None
    assert wide > 3 * narrow


def test_the_parts_add_up_to_how_marks_vary() -> None:
    run = marks(personas=1)
    parts = split_variance(run)
    values = list(run.values())
    mean = sum(values) / len(values)

    assert parts is not None
    total = sum((value - mean) ** 2 for value in values) / len(values)
    assert parts.question + parts.trial == pytest.approx(total, rel=0.02)
    assert parts.persona == 0


def test_one_question_shows_nothing() -> None:
    assert compute_half_width({("p", "q"): 9}, WORST) is None
    assert compute_detectable({("p", "q"): 9}, WORST) is None
    assert split_variance({Trial(scenario="p", item="q", checkpoint="5d"): 3.0}) is None
