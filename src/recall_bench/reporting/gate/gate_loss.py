"""How often a loss would be shown: it is planted in the data at hand, and tested as the gate tests.

What a question differs by luck is taken to be as likely the one way as the other. A loss of so many
points can come as a few questions that lose everything or as a little of every question; the first
is harder to see, because it varies more, so it is the one that is promised.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.metrics.bootstrap import RESAMPLES, SEED, Floats, ResampledUnit, group_trials
from recall_bench.metrics.comparison import TrialMarks, adjust_p_values, compute_sign_flip_p
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.power import ALPHA, POWER, find_fewest_questions
from recall_bench.reporting.gate.gate_rules import FULL_SCORE
from recall_bench.reporting.groups import estimate_difference, split_marks

MAX_DRAWS: Final = 1000
"""How often a loss is planted; a share of them is known to 1.6 in 100."""

_MIN_DRAWS = 200
_MAX_CELLS = 1 << 20
_SEARCH_STEPS = 10
_FLOAT_TOLERANCE = 1e-6

_Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSums:
    """What each question came to over its trials that both runs have."""

    before: Floats
    """The sum of the baseline's marks."""
    change: Floats
    """The sum of what the run has more."""
    asks: Floats

    def add_margin(self, margin: float) -> Floats:
        """What each question has more than a loss of the margin leaves it."""
        return np.asarray(self.change + margin * self.asks)

    def append_lost(self, margin: float) -> Floats:
        """The same with one more question, asked as often as they are, that lost everything.

        A loss that takes few questions whole may have taken none of those at hand, and then they
        look alike and safe. One more such question is what keeps that from being a proof.
        """
        return np.append(self.add_margin(margin), (margin - FULL_SCORE) * self.asks.mean())

    @property
    def is_unchanged(self) -> bool:
        """Whether no question differs, so that nothing is known about luck."""
        return not self.change.any()


class LossPower(ComputedRecord, frozen=True, kw_only=True):
    """What the data at hand would have shown, in points of 100."""

    power: float
    """How often a loss of the size in question is shown, if it takes whole questions."""
    even_power: float
    """The same, if every question loses as much."""
    noticed: float | None
    """The smallest loss in whole questions that is shown four times in five; None where not even
    the loss of everything is."""


class ProofPower(ComputedRecord, frozen=True, kw_only=True):
    """What could be proved of a run that lost nothing."""

    power: float
    """How often it is shown to have lost no more than the margin."""
    provable: float | None
    """The smallest margin that is kept to so four times in five."""


def simulate_loss_power(
    questions: QuestionSums, *, margin: float, notice: float, looks: int = 1
) -> LossPower:
    """How often a true loss of `notice` is shown to be more than the margin, of so many looks."""
    luck = _SimulatedRuns(questions)
    alpha = ALPHA / looks

    def compute_power(lost: float) -> float:
        return float(_is_detectable(-luck.drop_questions(lost, margin), alpha).mean())

    return LossPower(
        power=compute_power(notice),
        even_power=float(_is_detectable(-luck.subtract_evenly(notice, margin), alpha).mean()),
        noticed=_find_smallest(compute_power, margin, luck.most),
    )


def simulate_proof_power(questions: QuestionSums, *, margin: float) -> ProofPower:
    """How often a run that lost nothing is shown to have lost no more than the margin."""
    luck = _SimulatedRuns(questions)

    def compute_power(tolerated: float) -> float:
        rows = luck.append_lost(tolerated)
        return float(_is_detectable(rows, ALPHA).mean())

    return ProofPower(
        power=compute_power(margin), provable=_find_smallest(compute_power, 0.0, FULL_SCORE)
    )


class _SimulatedRuns:
    """The data at hand as they could have come out, one row a draw, and losses planted in them."""

    def __init__(self, questions: QuestionSums) -> None:
        self._before, self._asks = (
            each.astype(np.float32) for each in (questions.before, questions.asks)
        )
        count = len(self._asks)
        shape = (min(MAX_DRAWS, max(_MIN_DRAWS, _MAX_CELLS // count)), count)
        chance = np.random.default_rng(SEED)
        signs = 2 * chance.integers(0, 2, size=shape, dtype=np.int8) - 1
        # A spread that is guessed too low promises more than one guessed too high takes back: so
        # much that of as many normal deviates the inverse of the spread is right on average.
        widened = 1 + 0.75 / max(1, count - 1)
        self._luck = signs * (widened * questions.change).astype(np.float32)
        self._lots = chance.random(shape, dtype=np.float32)

    @property
    def most(self) -> float:
        """What is lost if everything is."""
        return float(self._before.sum() / self._asks.sum())

    def drop_questions(self, lost: float, margin: float) -> Floats:
        """Each question beside the margin, where questions drawn by lot come to nothing."""
        share = min(1.0, lost / self.most) if self.most > 0 else 0.0
        gone = np.where(self._lots < share, -self._before, self._luck)
        return np.asarray(gone + np.float32(margin) * self._asks)

    def subtract_evenly(self, lost: float, margin: float) -> Floats:
        """Each question beside the margin, where every ask loses as much."""
        return np.asarray(self._luck + np.float32(margin - lost) * self._asks)

    def append_lost(self, margin: float) -> Floats:
        """Each question beside the margin, where nothing is lost but one more question, whole."""
        one = np.full((len(self._luck), 1), (margin - FULL_SCORE) * self._asks.mean(), np.float32)
        return np.concatenate([self.subtract_evenly(0.0, margin), one], axis=1)


def _is_detectable(rows: Floats, alpha: float) -> _Booleans:
    """Whether turning signs round hardly gives so large a total, row by row.

    By the normal distribution, less half of the step from one total to the next, which is what
    keeps a few questions of equal size from showing more than they can.
    """
    from scipy.special import ndtri

    sizes = np.abs(rows)
    sizes[sizes <= _FLOAT_TOLERANCE * sizes.max(initial=0.0)] = np.inf
    spread = np.sqrt(np.einsum("rq,rq->r", rows, rows))
    is_large = rows.sum(axis=1) - sizes.min(axis=1) >= float(ndtri(1 - alpha / 2)) * spread
    return np.asarray(is_large & (np.isfinite(sizes).sum(axis=1) >= find_fewest_questions(alpha)))


def _find_smallest(power: Callable[[float], float], low: float, high: float) -> float | None:
    """Where the power comes to four in five; None where the highest has less."""
    if high <= low or power(high) < POWER:
        return None
    for _ in range(_SEARCH_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


ONE_SIDED_ALPHA: Final = ALPHA / 2
"""How often a run that lost just what is tolerated may be said to have lost more: what lies beyond
one end of a 95 % interval."""


class GateLoss(ComputedRecord, frozen=True, kw_only=True):
    """What a run has less than its baseline, beside what is tolerated; in points of 100."""

    margin: float
    difference: Estimate
    """Run less baseline. `missing` counts the trials that only one of the two has a mark for."""
    more_p: float
    """How likely so great a loss is if the true one is just the margin; one-sided."""
    more_adjusted: float | None = None
    """The same by Holm's steps, where this is one of several."""
    less_p: float | None = None
    """How likely so small a loss is if the true one is just the margin, one-sided, and with one
    more question that lost everything; None where nothing is to be ruled out."""
    power: float | None
    """How often data like these show the loss to be noticed, if it takes whole questions; where
    something is to be ruled out, how often they do so of a run that lost nothing. None where no
    question differs from another."""
    even_power: float | None = None
    """How often they show it if every question loses as much."""
    noticed: float | None = None
    """The smallest true loss, in whole questions, that they show four times in five; None where not
    even the loss of everything would be, or that cannot be known."""
    provable: float | None = None
    """The smallest margin that a run which lost nothing is shown to keep to four times in five."""

    @property
    def is_shown(self) -> bool:
        """Whether the test says that more than the margin was lost."""
        p_value = self.more_p if self.more_adjusted is None else self.more_adjusted
        return p_value <= ONE_SIDED_ALPHA

    @property
    def is_ruled_out(self) -> bool:
        """Whether the test says that no more than the margin was lost."""
        return self.less_p is not None and self.less_p <= ONE_SIDED_ALPHA


def measure_loss(
    baseline: TrialMarks,
    run: TrialMarks,
    *,
    margin: float,
    notice: float | None = None,
    looks: int = 1,
    is_to_be_ruled_out: bool = False,
    resamples: int = RESAMPLES,
) -> GateLoss | None:
    """What the run lost on the trials that both have; None where there is none.

    Marks are from 0 to 100, and more is better. How strong the data are is said of a loss of
    `notice`, and not at all without one. `looks` says how many such losses are looked at together,
    which takes larger ones to be noticed.
    """
    trials = sorted(baseline.keys() & run.keys(), key=str)
    if not trials:
        return None
    questions = _sum_questions(baseline, run, trials)
    found = GateLoss(
        margin=margin,
        difference=estimate_difference(
            baseline,
            run,
            trials,
            limits=(0.0, FULL_SCORE),
            missing=len(baseline.keys() ^ run.keys()),
            resamples=resamples,
        ),
        more_p=_compute_one_sided_p(-questions.add_margin(margin)),
        power=None,
    )
    if is_to_be_ruled_out:
        found = found.replace(less_p=_compute_one_sided_p(questions.append_lost(margin)))
    if notice is None or questions.is_unchanged:
        return found
    if is_to_be_ruled_out:
        proof = simulate_proof_power(questions, margin=margin)
        return found.replace(power=proof.power, provable=proof.provable)
    shown = simulate_loss_power(questions, margin=margin, notice=notice, looks=looks)
    return found.replace(power=shown.power, even_power=shown.even_power, noticed=shown.noticed)


def measure_losses(
    baseline: TrialMarks,
    run: TrialMarks,
    category: Callable[[Trial], str],
    *,
    margin: float,
    notice: float,
    resamples: int = RESAMPLES,
) -> dict[str, GateLoss]:
    """The loss in each category that has a pair, adjusted for being several."""
    ours, theirs = split_marks(baseline, category), split_marks(run, category)
    both = [name for name in ours if ours[name].keys() & theirs.get(name, {}).keys()]
    found: dict[str, GateLoss] = {}
    for name in both:
        each = measure_loss(
            ours[name],
            theirs[name],
            margin=margin,
            notice=notice,
            looks=len(both),
            resamples=resamples,
        )
        if each is not None:
            found[name] = each
    adjusted = adjust_p_values({name: each.more_p for name, each in found.items()})
    return {name: each.replace(more_adjusted=adjusted[name]) for name, each in found.items()}


def _sum_questions(baseline: TrialMarks, run: TrialMarks, trials: Sequence[Trial]) -> QuestionSums:
    marks = [(baseline[trial], run[trial] - baseline[trial], 1.0) for trial in trials]
    groups = group_trials([trial.item for trial in trials], [trial.scenario for trial in trials])
    sums = groups.sum_columns(np.asarray(marks, np.float64), ResampledUnit.QUESTIONS)
    return QuestionSums(before=sums[:, 0], change=sums[:, 1], asks=sums[:, 2])


def _compute_one_sided_p(sums: Floats) -> float:
    """How likely so large a total is by chance.

    Turning signs round is as likely to give a total as its opposite, so one side has half of both.
    """
    half = compute_sign_flip_p(sums, seed=SEED) / 2
    return half if float(sums.sum()) > 0 else 1 - half
