"""Two runs of one system, from the journal to the verdict: how often they are told apart.

Answers to a question go the same way at both checkpoints of a run. Trials are not independent,
and a test that takes them for it finds differences where there are none.
"""

from math import sqrt
from pathlib import Path

import pytest
from numpy.random import default_rng

from recall_bench.engine.runs.run_folder import RunFolder
from recall_bench.engine.runs.trials import read_trials
from recall_bench.features.comparison.power_plan import measure_pilot, plan_power
from recall_bench.reporting.run_comparison import compare_runs
from recall_bench.reporting.run_contrast import Contrast
from tests.reporting.simulated_runs import drawn_pair, questions
from tests.thoroughness import choose_number

ROUNDS = choose_number(50, 150)
NOMINAL = 0.05


def contrasted(folders: list[RunFolder]) -> Contrast:
    return compare_runs(folders, resamples=100).contrasts[0]


def test_a_system_is_distinguished_from_itself_as_rarely_as_stated(tmp_path: Path) -> None:
    chance, items = default_rng(5), questions(20, "factual-recall", "synthesis")
    overall = categories = 0
    for number in range(ROUNDS):
        found = contrasted(drawn_pair(chance, tmp_path / str(number), items))
        overall += found.overall.comparison.is_significant
        categories += any(part.comparison.is_significant for part in found.categories)

    error = sqrt(NOMINAL * (1 - NOMINAL) / ROUNDS)
    assert abs(overall / ROUNDS - NOMINAL) < 3 * error
    assert categories / ROUNDS < NOMINAL + 3 * error


def test_a_planted_difference_is_found_as_often_as_planned(tmp_path: Path) -> None:
    """Planned from a pilot of two runs on 400 questions, and found on as many as that asks for."""
    chance, wanted = default_rng(6), 0.6
    pilot = drawn_pair(chance, tmp_path / "pilot", questions(400))
    ground = measure_pilot([read_trials(folder) for folder in pilot], ["a", "b"])
    needed = plan_power(ground, difference=wanted * 100 / 6).needed
    assert needed is not None
    rounds, found, lost = choose_number(30, 80), 0, 0.0
    for number in range(rounds):
        pair = drawn_pair(chance, tmp_path / str(number), questions(needed.questions), shift=wanted)
        comparison = contrasted(pair).overall.comparison
        found += comparison.is_significant
        lost += wanted - comparison.difference.value

    # Marks end at 6: a part of what was planted has nowhere to go.
    assert lost / rounds == pytest.approx(0.05, abs=0.05)
    error = sqrt(0.8 * 0.2 / rounds)
    assert found / rounds == pytest.approx(0.8, abs=3 * error)
