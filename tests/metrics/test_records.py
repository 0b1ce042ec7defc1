"""What statistics come to can be written down and read back, whole."""

import msgspec
from numpy.random import default_rng

from recall_bench.metrics.comparison import compare
from recall_bench.metrics.estimate import estimate_mean
from recall_bench.metrics.survival import build_cohort, estimate_survival
from recall_bench.metrics.trend import estimate_trend
from tests.metrics.simulated import Rule, decaying, run


def test_every_result_survives_json() -> None:
    chance = default_rng(1)
    made = Rule().marks(chance, personas=2, questions=10, asks=-3)
    days = [30, 60, 90] * 20
    own = chance.normal(3, 1, 12)
    facts = build_cohort(decaying(chance, facts=20, half_life=60, gap=30, until=200)).lifetimes

    found = [
        estimate_mean(made.values, made.questions, made.personas, seed=1, limits=(0, 6)),
        compare(run(chance, own, asks=2), run(chance, own, asks=2), seed=1),
        estimate_trend(made.values, days, made.questions, made.personas, seed=1, limits=(0, 6)),
        estimate_survival(facts, seed=1, resamples=50),
    ]

    for each in found:
        assert each is not None
        assert msgspec.json.decode(msgspec.json.encode(each), type=type(each)) == each
