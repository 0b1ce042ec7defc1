"""Records that share a question are not independent: what that does to an interval.

A system asked the same question at ten checkpoints gives much the same answer ten times. So
questions are drawn, never records, and an effective size says how many independent records
would tell as much.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RESAMPLES: Final = 1000
SEED: Final = 20_260_101
LEVEL: Final = 0.95
"""The share of intervals that should hold the truth."""

_CELLS = 1 << 21
_DEFINED = 0.9
"""A figure that exists in a smaller share of the resamples has no interval."""


def draw_resamples(question: Ints, count: int = RESAMPLES) -> Iterator[Floats]:
    """How often each record is drawn when as many questions as there are are drawn again.

    One row a resample, in as many pieces as keep the memory small. The same questions give the
    same draws every time.
    """
    if not len(question):
        return
    questions = int(question.max()) + 1
    chance = np.random.default_rng(SEED)
    step = max(1, _CELLS // max(len(question), questions))
    even = np.full(questions, 1 / questions)
    for start in range(0, count, step):
        drawn = chance.multinomial(questions, even, size=min(step, count - start))
        yield drawn.astype(np.float64)[:, question]


def compute_interval(parts: Sequence[Floats]) -> tuple[float, float] | None:
    """The middle 95 % of a figure's values, NaN meaning undefined; None if it too often is."""
    if not parts:
        return None
    values = np.concatenate(parts)
    defined = values[~np.isnan(values)]
    if not len(defined) or len(defined) < _DEFINED * len(values):
        return None
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def estimate_effective_size(hits: Bools, question: Ints) -> float | None:
    """How many independent records would give this share as surely; None where there is none.

    Never more than the records there are. Where all records agree nothing shows how alike the
    answers to one question are, so each question counts once.
    """
    if not len(hits):
        return None
    share = float(hits.mean())
    sums = np.bincount(question, weights=hits - share)
    asked = len(np.unique(question))
    if asked < 2 or share in {0.0, 1.0}:
        return float(asked)
    variance = asked / (asked - 1) * float(sums @ sums) / len(hits) ** 2
    # Answers to one question may also differ more than chance has it: that proves nothing.
    alone = share * (1 - share) / len(hits)
    return max(1.0, share * (1 - share) / max(variance, alone))


def number_names(names: Sequence[str]) -> Ints:
    """Each name as a number: equal names, equal numbers, counted from 0 without a gap."""
    place: dict[str, int] = {}
    return np.array([place.setdefault(name, len(place)) for name in names], dtype=np.int64)
