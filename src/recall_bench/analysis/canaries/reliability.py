"""How likely it is that a question hallucinates at least every other time, by all questions' word.

Three of three can be luck: among a thousand questions that each hallucinate one time in ten, one
will do so. Whether it is luck depends on how the other questions go, so they are asked. Each
question has a rate of its own; how these rates are spread is what makes all counts likeliest
(Kiefer and Wolfowitz 1956), found by expectation and maximisation. One question more, spread evenly
over all rates, is added: it keeps a few odd counts from proving a kind of question by themselves.
Then Bayes' rule says how likely each rate is for a question with these counts.

Where answers are alike at every size, most rates are near 0 or 1, and three of three are enough.
Where every question is as likely as any other to hallucinate, they are not.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

HALF_RATE: Final = 0.5

_RATES = 41
"""Every fortieth from 0 to 1: finer steps change no chance by a hundredth."""
_ROUNDS = 1000
_TOLERANCE = 1e-7

Floats = NDArray[np.float64]
AnswerCount = tuple[int, int]
"""How often a question was judged, and how often of these it hallucinated."""


def estimate_reliability(counts: Sequence[AnswerCount]) -> list[float]:
    """For each question, the chance that its own rate is a half or more."""
    if not counts:
        return []
    different, place, times = np.unique(
        np.asarray(counts, np.int64), axis=0, return_inverse=True, return_counts=True
    )
    rates = np.linspace(0.0, 1.0, _RATES)
    likely = _compute_likelihoods(different, rates)
    shares = _fit_shares(likely, times.astype(np.float64))
    chances = _compute_posterior(likely, shares)[:, rates >= HALF_RATE].sum(axis=1)
    return [float(each) for each in chances[place.reshape(-1)]]


def _compute_likelihoods(counts: NDArray[np.int64], rates: Floats) -> Floats:
    """How likely each rate makes each count, up to a factor of the count's own."""
    asked, made_up = counts[:, :1].astype(np.float64), counts[:, 1:].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(made_up > 0, made_up * np.log(rates), 0.0)
        clean = np.where(asked > made_up, (asked - made_up) * np.log1p(-rates), 0.0)
    logs = found + clean
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)), np.float64)


def _fit_shares(likely: Floats, times: Floats) -> Floats:
    """The share of questions at each rate.

    Each two steps are followed as far as they point (SQUAREM; Varadhan and Roland 2008): step by
    step it takes tens of thousands.
    """
    shares = np.full(likely.shape[1], 1 / likely.shape[1])
    for _ in range(_ROUNDS):
        once = _update_shares(likely, times, shares)
        twice = _update_shares(likely, times, once)
        first, bend = once - shares, twice - 2 * once + shares
        bent = float(np.linalg.norm(bend))
        stride = max(1.0, float(np.linalg.norm(first)) / bent) if bent > 0 else 1.0
        ahead = shares + 2 * stride * first + stride**2 * bend
        # A share below nothing means that it was followed too far.
        shares = twice if ahead.min() <= 0 else _update_shares(likely, times, ahead / ahead.sum())
        if np.abs(first).max() < _TOLERANCE:
            break
    return shares


def _update_shares(likely: Floats, times: Floats, shares: Floats) -> Floats:
    held = times @ _compute_posterior(likely, shares) + 1 / len(shares)
    return np.asarray(held / held.sum(), np.float64)


def _compute_posterior(likely: Floats, shares: Floats) -> Floats:
    joint = likely * shares
    return np.asarray(joint / joint.sum(axis=1, keepdims=True), np.float64)
