"""How often a gate is right: the power that it states, and the shares that it catches and passes.

    python benchmarks/gate.py [PAIRS]

Pairs of runs are simulated, PAIRS of each kind (default 1,000), one row for each number of questions
and personas. Each question has a mark in sixths, and in each run one question in four has another
mark by chance. Each is asked twice, and one ask in ten has a mark of its own. Then 5 points of 100
are lost: whole questions score nothing, or asks of every question lose a sixth. The stated power is
the mean over pairs without a loss.
"""

import sys
from statistics import fmean

import numpy as np
from numpy.random import Generator, default_rng

from recall_bench.core.plan import Trial
from recall_bench.features.comparison.gate.gate_loss import GateLoss, measure_loss

MARKS = np.array([0, 2, 3, 4, 5, 6]) / 6 * 100
SHARES = np.array([0.2, 0.1, 0.1, 0.2, 0.2, 0.2])
RUN_SHARE = 0.25
"""The share of questions with another mark in each run."""
ASK_SHARE = 0.1
"""The share of asks with a mark of their own."""
LOST = 5.0
POWER_PAIRS = 60
"""Pairs whose stated power is averaged; it varies little from pair to pair."""

Run = dict[Trial, float]


def simulate_pair(
    chance: Generator, questions: int, personas: int, *, whole: float = 0, even: float = 0
) -> tuple[Run, Run]:
    """A baseline, and a run that lost these points of 100: in whole questions, or evenly."""
    hard = chance.choice(MARKS, questions, p=SHARES)
    first, second = (simulate_marks(hard, chance) for _ in range(2))
    gone = chance.random((questions, 1)) < whole / (MARKS @ SHARES)
    # Every mark that is not 0 has a sixth to lose.
    less = chance.random(second.shape) < even / (100 / 6) / SHARES[MARKS > 0].sum()
    second = np.where(gone, 0, np.where(less, np.maximum(0, second - 100 / 6), second))
    return build_run(first, personas), build_run(second, personas)


def simulate_marks(hard: np.ndarray, chance: Generator) -> np.ndarray:
    """The marks of one run, two asks a question."""

    def redraw(marks: np.ndarray, share: float) -> np.ndarray:
        other = chance.choice(MARKS, marks.shape, p=SHARES)
        return np.where(chance.random(marks.shape) < share, other, marks)

    return redraw(np.stack([redraw(hard, RUN_SHARE)] * 2, axis=1), ASK_SHARE)


def build_run(marks: np.ndarray, personas: int) -> Run:
    """The marks by trial."""
    return {
        Trial(scenario=f"p{number % personas}", item=f"q{number}", checkpoint=f"{ask}d"): float(
            mark
        )
        for number, asks in enumerate(marks)
        for ask, mark in enumerate(asks)
    }


def measure(runs: tuple[Run, Run], *, prove: bool = False, states_power: bool = False) -> GateLoss:
    """What the gate says of a pair."""
    margin = LOST if prove else 0.0
    loss = measure_loss(
        *runs,
        margin=margin,
        notice=margin + LOST if states_power else None,
        is_to_be_ruled_out=prove,
        resamples=2,
    )
    assert loss is not None
    return loss


def compute_row(questions: int, personas: int, rounds: int) -> list[float]:
    """Every share, in the order of the columns."""
    chance = default_rng(questions + personas)

    def simulate_pairs(count: int = rounds, **lost: float) -> list[tuple[Run, Run]]:
        return [simulate_pair(chance, questions, personas, **lost) for _ in range(count)]

    plain = [measure(each, states_power=True) for each in simulate_pairs(POWER_PAIRS)]
    proving = [measure(each, prove=True, states_power=True) for each in simulate_pairs(POWER_PAIRS)]
    return [
        fmean(measure(each).is_significant for each in simulate_pairs()),
        fmean(each.power or 0 for each in plain),
        fmean(measure(each).is_significant for each in simulate_pairs(whole=LOST)),
        fmean(each.even_power or 0 for each in plain),
        fmean(measure(each).is_significant for each in simulate_pairs(even=LOST)),
        fmean(each.power or 0 for each in proving),
        fmean(measure(each, prove=True).is_ruled_out for each in simulate_pairs()),
        fmean(measure(each, prove=True).is_ruled_out for each in simulate_pairs(whole=LOST)),
        fmean(measure(each, prove=True).is_ruled_out for each in simulate_pairs(even=LOST)),
    ]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(
        "| questions | personas | failed, nothing lost | whole: stated | caught "
        "| even: stated | caught | proof: stated | proved, nothing lost "
        "| proved, 5 lost whole | evenly |"
    )
    print("|" + "--:|" * 11)
    for questions, personas in ((30, 1), (90, 1), (200, 1), (30, 6), (90, 6), (200, 6)):
        shares = " | ".join(
            f"{100 * each:.1f} %" for each in compute_row(questions, personas, rounds)
        )
        print(f"| {questions} | {personas} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
