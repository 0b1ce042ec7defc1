"""How often a gate is right: what it states, beside what it catches and what it lets be.

    python benchmarks/gate.py [PAIRS]

Pairs of runs are made up, PAIRS of each kind, one row for each number of questions and personas.
Each question has a mark in sixths, and in each run one question in four has another one by luck;
it is asked twice, and one ask in ten has a mark of its own. Then 5 points of 100 are lost: whole
questions come to nothing, or asks of every question lose a sixth. The strength stated is the mean
of what pairs without a loss state.
"""

import sys
from statistics import fmean

import numpy as np
from numpy.random import Generator, default_rng

from recall_bench.core.plan import Trial
from recall_bench.reporting.gate.gate_loss import GateLoss, measure_loss

MARKS = np.array([0, 2, 3, 4, 5, 6]) / 6 * 100
SHARES = np.array([0.2, 0.1, 0.1, 0.2, 0.2, 0.2])
LUCK = 0.25
OWN = 0.1
LOST = 5.0
STATING = 60
"""The strength of so many pairs is averaged; it varies little from pair to pair."""

Run = dict[Trial, float]


def pair(
    chance: Generator, questions: int, personas: int, *, whole: float = 0, even: float = 0
) -> tuple[Run, Run]:
    """A baseline and a run that lost so much of every 100."""
    hard = chance.choice(MARKS, questions, p=SHARES)
    first, second = (lived(hard, chance) for _ in range(2))
    gone = chance.random((questions, 1)) < whole / (MARKS @ SHARES)
    # Every mark that is not 0 has a sixth to lose.
    less = chance.random(second.shape) < even / (100 / 6) / SHARES[MARKS > 0].sum()
    second = np.where(gone, 0, np.where(less, np.maximum(0, second - 100 / 6), second))
    return named(first, personas), named(second, personas)


def lived(hard: np.ndarray, chance: Generator) -> np.ndarray:
    def again(marks: np.ndarray, share: float) -> np.ndarray:
        other = chance.choice(MARKS, marks.shape, p=SHARES)
        return np.where(chance.random(marks.shape) < share, other, marks)

    return again(np.stack([again(hard, LUCK)] * 2, axis=1), OWN)


def named(marks: np.ndarray, personas: int) -> Run:
    return {
        Trial(scenario=f"p{number % personas}", item=f"q{number}", checkpoint=f"{ask}d"): float(
            mark
        )
        for number, asks in enumerate(marks)
        for ask, mark in enumerate(asks)
    }


def found(runs: tuple[Run, Run], *, prove: bool = False, stating: bool = False) -> GateLoss:
    margin = LOST if prove else 0.0
    each = measure_loss(
        *runs,
        margin=margin,
        notice=margin + LOST if stating else None,
        is_to_be_ruled_out=prove,
        resamples=2,
    )
    assert each is not None
    return each


def row(questions: int, personas: int, rounds: int) -> list[float]:
    """Every share, in the order they are printed."""
    chance = default_rng(questions + personas)

    def pairs(count: int = rounds, **lost: float) -> list[tuple[Run, Run]]:
        return [pair(chance, questions, personas, **lost) for _ in range(count)]

    stating = [found(each, stating=True) for each in pairs(STATING)]
    proving = [found(each, prove=True, stating=True) for each in pairs(STATING)]
    return [
        fmean(found(each).is_significant for each in pairs()),
        fmean(each.power or 0 for each in stating),
        fmean(found(each).is_significant for each in pairs(whole=LOST)),
        fmean(each.even_power or 0 for each in stating),
        fmean(found(each).is_significant for each in pairs(even=LOST)),
        fmean(each.power or 0 for each in proving),
        fmean(found(each, prove=True).is_ruled_out for each in pairs()),
        fmean(found(each, prove=True).is_ruled_out for each in pairs(whole=LOST)),
        fmean(found(each, prove=True).is_ruled_out for each in pairs(even=LOST)),
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
        shares = " | ".join(f"{100 * each:.1f} %" for each in row(questions, personas, rounds))
        print(f"| {questions} | {personas} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
