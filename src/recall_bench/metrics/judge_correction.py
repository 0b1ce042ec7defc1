"""A pass rate freed from the known errors of the judge that measured it.

A judge that passes a share `sensitivity` of what should pass and fails a share `specificity` of
what should fail sees, of a true rate π, the rate π·sensitivity + (1 − π)·(1 − specificity).
Rogan and Gladen solve this for π. The interval draws all three rates anew, each from the beta
distribution of as many independent answers as it rests on, so that a judge measured on few
labels corrects with little certainty. It holds as far as the judge errs in the run as it did
where it was measured.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from recall_bench.core.record import Record
from recall_bench.metrics.agreement import LEVEL, SEED, Bools, Floats, Ints, estimate_effective_size

DRAWS: Final = 10_000


class EffectiveShare(Record, frozen=True, kw_only=True):
    """A share, and how many independent answers it rests on."""

    share: float
    size: float

    @classmethod
    def measure(cls, hits: Bools, question: Ints) -> Self | None:
        """The share of hits among answers to these questions; None where there is no answer."""
        size = estimate_effective_size(hits, question)
        return None if size is None else cls(share=float(hits.mean()), size=size)

    def draw(self, chance: np.random.Generator) -> Floats:
        """What the share might as well be; half an answer for either side keeps it off the ends."""
        hits = self.share * self.size
        return chance.beta(hits + 0.5, self.size - hits + 0.5, size=DRAWS)


class ErrorRates(Record, frozen=True, kw_only=True):
    """How often a judge is right about passes and about failures."""

    sensitivity: EffectiveShare
    specificity: EffectiveShare

    @property
    def is_informative(self) -> bool:
        """Whether the judge passes more of what should pass than of what should not."""
        return self.sensitivity.share + self.specificity.share > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPasses:
    """The trials of a run in one mark."""

    passed: Bools
    judged: Bools
    """Whether there is a verdict. A trial the system failed at fails without one."""
    question: Ints
    """Which question each trial put."""


class CorrectedRate(Record, frozen=True, kw_only=True):
    """A pass rate as it was measured and as it would be without the judge's errors."""

    observed: float
    observed_interval: tuple[float, float]
    corrected: float
    interval: tuple[float, float]
    is_credible: bool
    """Whether a judge with these errors could have measured such a rate at all."""


def solve_rogan_gladen(observed: float, sensitivity: float, specificity: float) -> float:
    """The true rate behind an observed one, kept between 0 and 1."""
    return min(1.0, max(0.0, (observed + specificity - 1) / (sensitivity + specificity - 1)))


def correct_pass_rate(observed: ObservedPasses, rates: ErrorRates) -> CorrectedRate:
    """The pass rate over all trials, corrected.

    ValueError unless an answer was judged, and by a judge that informs.
    """
    judged = observed.judged
    seen = EffectiveShare.measure(observed.passed[judged], observed.question[judged])
    reached = EffectiveShare.measure(judged, observed.question)
    if seen is None or reached is None or not rates.is_informative:
        raise ValueError("nothing can be corrected without verdicts, or by a judge that guesses")
    best = solve_rogan_gladen(seen.share, rates.sensitivity.share, rates.specificity.share)
    chance = np.random.default_rng(SEED)
    judged_shares = 1.0 if judged.all() else reached.draw(chance)
    shares = seen.draw(chance)
    true_shares = _solve_draws(
        shares, rates.sensitivity.draw(chance), rates.specificity.draw(chance)
    )
    inside = (true_shares >= 0) & (true_shares <= 1)
    true_shares = np.clip(true_shares, 0.0, 1.0)
    blind = np.isnan(true_shares)
    # A draw in which the judge guesses says nothing of the rate: it may be anything.
    true_shares[blind] = chance.random(int(blind.sum()))
    return CorrectedRate(
        observed=reached.share * seen.share,
        observed_interval=_find_middle(judged_shares * shares, reached.share * seen.share),
        corrected=reached.share * best,
        interval=_find_middle(judged_shares * true_shares, reached.share * best),
        is_credible=bool((inside | blind).mean() > (1 - LEVEL) / 2),
    )


def _solve_draws(observed: Floats, sensitivity: Floats, specificity: Floats) -> Floats:
    """Rogan and Gladen's rate for each draw, wherever it lies; NaN where the judge guesses."""
    power = sensitivity + specificity - 1
    return np.divide(
        observed + specificity - 1, power, out=np.full_like(power, np.nan), where=power > 0
    )


def _find_middle(draws: Floats, best: float) -> tuple[float, float]:
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return min(float(low), best), max(float(high), best)
