"""A pass rate corrected for the known errors of the judge.

A judge that passes a share `sensitivity` of what should pass and fails a share `specificity` of
what should fail observes, for a true rate π, the rate π·sensitivity + (1 − π)·(1 − specificity).
Rogan and Gladen solve this for π. The interval draws all three rates from beta distributions with
as many observations as there are independent answers, so a judge measured on few labels corrects
with little certainty. The correction assumes that the judge errs in the run as it did where it
was measured.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from recall_bench.core.record import ComputedRecord, Record
from recall_bench.metrics.agreement import estimate_effective_size
from recall_bench.metrics.bootstrap import LEVEL, SEED, Bools, Floats, Interval, Ints

DRAWS: Final = 10_000


class EffectiveShare(ComputedRecord, frozen=True, kw_only=True):
    """A share, and how many independent answers it rests on."""

    share: float
    size: float

    @classmethod
    def measure(cls, hits: Bools, question: Ints) -> Self | None:
        """Measure the share of hits among answers to these questions; None without answers."""
        size = estimate_effective_size(hits, question)
        return None if size is None else cls(share=float(hits.mean()), size=size)

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw plausible shares (Jeffreys prior: half an answer on either side)."""
        hits = self.share * self.size
        return rng.beta(hits + 0.5, self.size - hits + 0.5, size=DRAWS)


class ErrorRates(Record, frozen=True, kw_only=True):
    """How often a judge is right about passes and about failures."""

    sensitivity: EffectiveShare
    specificity: EffectiveShare

    @property
    def is_informative(self) -> bool:
        """Whether the judge passes what should pass more often than what should not."""
        return self.sensitivity.share + self.specificity.share > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPasses:
    """The trials of a run in one mark."""

    passed: Bools
    judged: Bools
    """Whether there is a verdict. A trial without an answer fails without one."""
    question: Ints
    """The question of each trial, as a number."""


class CorrectedRate(ComputedRecord, frozen=True, kw_only=True):
    """A pass rate as measured, and without the judge's errors."""

    observed: float
    observed_interval: Interval
    corrected: float
    interval: Interval
    is_credible: bool
    """Whether a judge with these errors could have measured such a rate."""


def solve_rogan_gladen(observed: float, sensitivity: float, specificity: float) -> float:
    """Solve for the true rate behind an observed one, clipped to 0 and 1."""
    return min(1.0, max(0.0, (observed + specificity - 1) / (sensitivity + specificity - 1)))


def correct_pass_rate(observed: ObservedPasses, rates: ErrorRates) -> CorrectedRate:
    """Correct the pass rate over all trials.

    Raises ValueError without verdicts, and for a judge that is no better than guessing.
    """
    judged = observed.judged
    observed_share = EffectiveShare.measure(observed.passed[judged], observed.question[judged])
    judged_share = EffectiveShare.measure(judged, observed.question)
    if observed_share is None or judged_share is None or not rates.is_informative:
        raise ValueError("nothing can be corrected without verdicts, or by a judge that guesses")
    best = solve_rogan_gladen(
        observed_share.share, rates.sensitivity.share, rates.specificity.share
    )
    rng = np.random.default_rng(SEED)
    judged_shares = 1.0 if judged.all() else judged_share.draw(rng)
    shares = observed_share.draw(rng)
    true_shares = _solve_draws(shares, rates.sensitivity.draw(rng), rates.specificity.draw(rng))
    inside = (true_shares >= 0) & (true_shares <= 1)
    true_shares = np.clip(true_shares, 0.0, 1.0)
    blind = np.isnan(true_shares)
    # A draw in which the judge guesses says nothing about the rate.
    true_shares[blind] = rng.random(int(blind.sum()))
    return CorrectedRate(
        observed=judged_share.share * observed_share.share,
        observed_interval=_find_middle(
            judged_shares * shares, judged_share.share * observed_share.share
        ),
        corrected=judged_share.share * best,
        interval=_find_middle(judged_shares * true_shares, judged_share.share * best),
        is_credible=bool((inside | blind).mean() > (1 - LEVEL) / 2),
    )


def _solve_draws(observed: Floats, sensitivity: Floats, specificity: Floats) -> Floats:
    """Solve each draw, unclipped; NaN where the judge guesses."""
    power = sensitivity + specificity - 1
    return np.divide(
        observed + specificity - 1, power, out=np.full_like(power, np.nan), where=power > 0
    )


def _find_middle(draws: Floats, best: float) -> Interval:
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return min(float(low), best), max(float(high), best)
