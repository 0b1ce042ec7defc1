"""The loss of a run against its baseline, and the power to detect one.

The test adds the margin to every difference and flips the signs of whole questions, those of one
template together, as every comparison does: if a run lost exactly the margin, each sign is as
likely as the other. It is about these personas, which the next run is asked about too; the interval
is shown beside it.

Power is simulated: a loss is planted in the data, and tested by the same test. A loss may take a
few whole questions or a little of every question. The first varies more and is harder to detect, so
its power is the one reported.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_bench.core.plan import Trial
from recall_bench.core.record import ComputedRecord
from recall_bench.features.comparison.gate.gate_rules import FULL_SCORE
from recall_bench.metrics.bootstrap import (
    RESAMPLES,
    SEED,
    Floats,
    ResampledUnit,
    TemplateNames,
    group_trials,
)
from recall_bench.metrics.comparison import (
    TrialMarks,
    adjust_p_values,
    compute_sign_flip_p,
    estimate_difference,
    split_marks,
)
from recall_bench.metrics.estimate import Estimate
from recall_bench.metrics.power import ALPHA, POWER, find_fewest_questions

MAX_DRAWS: Final = 1000
"""Simulated losses; the standard error of a share of them is 1.6 %."""

_MIN_DRAWS = 200
_MAX_CELLS = 1 << 20
_SEARCH_STEPS = 10
_FLOAT_TOLERANCE = 1e-6

_Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSums:
    """Sums over the trials of each question that both runs have, or of all of one template."""

    before: Floats
    """The sum of the baseline's marks."""
    change: Floats
    """The sum of the differences of run and baseline."""
    asks: Floats

    def add_margin(self, margin: float) -> Floats:
        """The change of each question plus the tolerated loss of its trials."""
        return np.asarray(self.change + margin * self.asks)

    def append_lost(self, margin: float) -> Floats:
        """The same with one more question that lost everything.

        A loss that takes few questions whole may have missed all of these. Without that question,
        such data would count as a proof.
        """
        return np.append(self.add_margin(margin), (margin - FULL_SCORE) * self.asks.mean())

    @property
    def is_unchanged(self) -> bool:
        """Whether no question differs, so that the variance is unknown."""
        return not self.change.any()


class LossPower(NamedTuple):
    """The power to detect a loss: fields of `GateLoss`."""

    power: float
    even_power: float
    noticed: float | None


class ProofPower(NamedTuple):
    """The power to prove that a run lost nothing: fields of `GateLoss`."""

    power: float
    provable: float | None


class _SimulatedRuns:
    """The data with random signs, one row a draw, in which losses are planted."""

    def __init__(self, questions: QuestionSums) -> None:
        self._before, self._asks = (
            sums.astype(np.float32) for sums in (questions.before, questions.asks)
        )
        count = len(self._asks)
        shape = (min(MAX_DRAWS, max(_MIN_DRAWS, _MAX_CELLS // count)), count)
        chance = np.random.default_rng(SEED)
        signs = 2 * chance.integers(0, 2, size=shape, dtype=np.int8) - 1
        # Corrects the bias of an estimated standard deviation: of this many normal deviates, its
        # inverse is right on average.
        widened = 1 + 0.75 / max(1, count - 1)
        self._luck = signs * (widened * questions.change).astype(np.float32)
        self._lots = chance.random(shape, dtype=np.float32)
        self.most = float(self._before.sum() / self._asks.sum())
        """A total loss."""

    def drop_questions(self, lost: float, margin: float) -> Floats:
        """Each question plus the margin, where randomly chosen questions lose everything."""
        share = min(1.0, lost / self.most) if self.most > 0 else 0.0
        sums = np.where(self._lots < share, -self._before, self._luck)
        return np.asarray(sums + np.float32(margin) * self._asks)

    def subtract_evenly(self, lost: float, margin: float) -> Floats:
        """Each question plus the margin, where every trial loses the same."""
        return np.asarray(self._luck + np.float32(margin - lost) * self._asks)

    def append_lost(self, margin: float) -> Floats:
        """Each question plus the margin, with one more question that lost everything."""
        one = np.full((len(self._luck), 1), (margin - FULL_SCORE) * self._asks.mean(), np.float32)
        return np.concatenate([self.subtract_evenly(0.0, margin), one], axis=1)


def simulate_loss_power(
    questions: QuestionSums, *, margin: float, notice: float, looks: int = 1
) -> LossPower:
    """The power to show that a true loss of `notice` exceeds the margin, with `looks` tests."""
    runs, alpha = _SimulatedRuns(questions), ALPHA / looks

    def compute_power(lost: float) -> float:
        return float(_is_detectable(-runs.drop_questions(lost, margin), alpha).mean())

    return LossPower(
        power=compute_power(notice),
        even_power=float(_is_detectable(-runs.subtract_evenly(notice, margin), alpha).mean()),
        noticed=_find_smallest(compute_power, margin, runs.most),
    )


def simulate_proof_power(questions: QuestionSums, *, margin: float) -> ProofPower:
    """The power to show that a run that lost nothing kept the margin."""
    runs = _SimulatedRuns(questions)

    def compute_power(tolerated: float) -> float:
        return float(_is_detectable(runs.append_lost(tolerated), ALPHA).mean())

    return ProofPower(compute_power(margin), _find_smallest(compute_power, 0.0, FULL_SCORE))


def _is_detectable(rows: Floats, alpha: float) -> _Booleans:
    """Whether the sign-flip test would be significant, row by row.

    By the normal approximation with a continuity correction, without which a few questions of equal
    size would be called significant too often.
    """
    from scipy.special import ndtri

    sizes = np.abs(rows)
    sizes[sizes <= _FLOAT_TOLERANCE * sizes.max(initial=0.0)] = np.inf
    spread = np.sqrt(np.einsum("rq,rq->r", rows, rows))
    is_large = rows.sum(axis=1) - sizes.min(axis=1) >= float(ndtri(1 - alpha / 2)) * spread
    return np.asarray(is_large & (np.isfinite(sizes).sum(axis=1) >= find_fewest_questions(alpha)))


def _find_smallest(power: Callable[[float], float], low: float, high: float) -> float | None:
    """Where the power reaches 80 %; None if it does not."""
    if high <= low or power(high) < POWER:
        return None
    for _ in range(_SEARCH_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


ONE_SIDED_ALPHA: Final = ALPHA / 2
"""How often a run that lost exactly the margin is said to have lost more: one tail of 95 %."""


class GateLoss(ComputedRecord, frozen=True, kw_only=True):
    """The loss of a run against its baseline, tested against a margin; in points of 100."""

    margin: float
    difference: Estimate
    """Run less baseline. `missing` counts trials with a mark in only one of the two."""
    more_p: float
    """One-sided p-value of a loss of more than the margin."""
    more_adjusted: float | None = None
    """The same by Holm's method, if this is one of several."""
    less_p: float | None = None
    """One-sided p-value of a loss of less than the margin, with one more question that lost
    everything; None unless a proof is wanted."""
    power: float | None
    """The power to detect the loss to be noticed, if it takes whole questions; for a proof, the
    power to prove that nothing was lost. None if no question differs."""
    even_power: float | None = None
    """The power if every question loses the same."""
    noticed: float | None = None
    """The smallest loss of whole questions detected with a power of 80 %; None if even a total loss
    is not, or if that is unknown."""
    provable: float | None = None
    """The smallest margin that is proved with a power of 80 % if nothing was lost."""

    @property
    def is_significant(self) -> bool:
        """Whether the loss is significantly larger than the margin."""
        p_value = self.more_p if self.more_adjusted is None else self.more_adjusted
        return p_value <= ONE_SIDED_ALPHA

    @property
    def is_ruled_out(self) -> bool:
        """Whether a loss of more than the margin is ruled out."""
        return self.less_p is not None and self.less_p <= ONE_SIDED_ALPHA


def measure_loss(
    baseline: TrialMarks,
    run: TrialMarks,
    *,
    margin: float,
    notice: float | None = None,
    looks: int = 1,
    is_to_be_ruled_out: bool = False,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
) -> GateLoss | None:
    """The loss of the run on the trials that both have; None if there are none.

    Marks are from 0 to 100, and more is better. Power is computed for a loss of `notice`, if given.
    `looks` is the number of losses tested together, which lowers the power of each.
    """
    trials = sorted(baseline.keys() & run.keys(), key=str)
    if not trials:
        return None
    names = [trial.item for trial in trials], [trial.scenario for trial in trials]
    marks = [(baseline[trial], run[trial] - baseline[trial], 1.0) for trial in trials]
    columns = np.asarray(marks, np.float64)
    sums = group_trials(*names, templates).sum_columns(columns, ResampledUnit.TEMPLATES)
    questions = QuestionSums(before=sums[:, 0], change=sums[:, 1], asks=sums[:, 2])
    gate_loss = GateLoss(
        margin=margin,
        difference=estimate_difference(
            baseline,
            run,
            trials,
            limits=(0.0, FULL_SCORE),
            templates=templates,
            missing=len(baseline.keys() ^ run.keys()),
            resamples=resamples,
        ),
        more_p=_compute_one_sided_p(-questions.add_margin(margin)),
        power=None,
    )
    if is_to_be_ruled_out:
        gate_loss = gate_loss.replace(less_p=_compute_one_sided_p(questions.append_lost(margin)))
    if notice is None or questions.is_unchanged:
        return gate_loss
    if is_to_be_ruled_out:
        return gate_loss.replace(**simulate_proof_power(questions, margin=margin)._asdict())
    power = simulate_loss_power(questions, margin=margin, notice=notice, looks=looks)
    return gate_loss.replace(**power._asdict())


def measure_losses(
    baseline: TrialMarks,
    run: TrialMarks,
    category: Callable[[Trial], str],
    *,
    margin: float,
    notice: float,
    templates: TemplateNames | None = None,
    resamples: int = RESAMPLES,
) -> dict[str, GateLoss]:
    """The loss in each category that has a pair, adjusted for several tests."""
    ours, theirs = split_marks(baseline, category), split_marks(run, category)
    both = [name for name in ours if ours[name].keys() & theirs.get(name, {}).keys()]
    measures = {
        name: measure_loss(
            ours[name],
            theirs[name],
            margin=margin,
            notice=notice,
            looks=len(both),
            templates=templates,
            resamples=resamples,
        )
        for name in both
    }
    losses = {name: loss for name, loss in measures.items() if loss is not None}
    adjusted = adjust_p_values({name: loss.more_p for name, loss in losses.items()})
    return {name: loss.replace(more_adjusted=adjusted[name]) for name, loss in losses.items()}


def _compute_one_sided_p(sums: Floats) -> float:
    """The one-sided p-value of a large total: half of the two-sided one, by symmetry."""
    half = compute_sign_flip_p(sums, seed=SEED) / 2
    return half if float(sums.sum()) > 0 else 1 - half
