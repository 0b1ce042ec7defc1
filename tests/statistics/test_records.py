"""What statistics come to can be written down and read back, whole."""

import msgspec
from numpy.random import default_rng

from recall_bench.statistics.comparison import compare
from recall_bench.statistics.estimate import mean_estimate
from recall_bench.statistics.lifetimes import cohort
from recall_bench.statistics.survival import survival
from recall_bench.statistics.trend import trend
from tests.statistics.simulated import Rule, decaying, run


def test_every_result_survives_json() -> None:
    chance = default_rng(1)
    made = Rule().marks(chance, personas=2, questions=10, asks=-3)
    days = [30, 60, 90] * 20
    own = chance.normal(3, 1, 12)
    facts = cohort(decaying(chance, facts=20, half_life=60, gap=30, until=200)).lifetimes

    found = [
        mean_estimate(made.values, made.questions, made.personas, seed=1, limits=(0, 6)),
        compare(run(chance, own, asks=2), run(chance, own, asks=2), seed=1),
        trend(made.values, days, made.questions, made.personas, seed=1, limits=(0, 6)),
        survival(facts, seed=1, resamples=50),
    ]

    for each in found:
        assert each is not None
        assert msgspec.json.decode(msgspec.json.encode(each), type=type(each)) == each
