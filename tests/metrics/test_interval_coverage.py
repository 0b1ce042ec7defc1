"""A short run of `benchmarks/interval_coverage.py` by a fixed seed."""

import importlib.util
import sys
from math import sqrt
from pathlib import Path
from types import ModuleType

import pytest
from numpy.random import default_rng

from tests.thoroughness import choose_number

PATH = Path(__file__).parents[2] / "benchmarks/interval_coverage.py"
ROUNDS = choose_number(60, 150)
NOMINAL = 0.95


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("interval_coverage", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compute_bound(rounds: int) -> float:
    """The number of rounds that hold the truth, less two standard errors of that number."""
    return NOMINAL * rounds - 2 * sqrt(NOMINAL * (1 - NOMINAL) * rounds)


@pytest.mark.parametrize("figure", ["mean", "difference", "share"])
def test_two_personas_with_shared_templates(benchmark: ModuleType, figure: str) -> None:
    """Questions alone hold the truth in about 85 of 100 simulations."""
    chance = default_rng(2)
    found = [benchmark.play_round(chance, 2, 0.15, figure) for _ in range(ROUNDS)]

    bound = compute_bound(ROUNDS)
    assert sum(each.old for each in found) < bound <= sum(each.new for each in found)


def test_six_personas_that_happen_to_agree(benchmark: ModuleType) -> None:
    """Where the interval of personas is narrower than that of questions, it holds too seldom."""
    chance = default_rng(6)
    found = [benchmark.play_round(chance, 6, 0.0, "mean") for _ in range(2 * ROUNDS)]
    narrow = [each for each in found if each.is_narrow]

    assert len(narrow) > 0.05 * len(found)
    bound = compute_bound(len(narrow))
    assert sum(each.old for each in narrow) < bound <= sum(each.new for each in narrow)
    assert sum(each.new for each in found) >= compute_bound(len(found))
